"""Threads that live for a call."""

import threading
import time

import pytest

from steadyset._base.workers import AtOnce, workers


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_thing_is_done_when_the_call_returns(threads):
    done = []
    with workers(threads) as over:
        for start in (0, 100):
            over(done.append, range(start, start + 100))
            assert sorted(done) == list(range(start + 100))
        over(done.append, [])


def test_one_thread_is_the_callers_own():
    seen = []
    with workers(1) as over:
        over(lambda _: seen.append(threading.current_thread()), [0])
    assert seen == [threading.current_thread()]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_generator_is_run_to_its_end(threads):
    done = []

    def steps(thing):
        for step in range(3):
            done.append((thing, step))
            yield

    with workers(threads) as over:
        over(steps, range(50))
    assert sorted(done) == [(thing, step) for thing in range(50) for step in range(3)]


def test_a_generator_is_left_between_two_steps_when_another_fails():
    begun = []

    def steps(thing):
        for step in range(1000):
            begun.append(step)
            if thing == 1 and step == 3:
                raise ValueError("no")
            time.sleep(0.01)
            yield

    with pytest.raises(ValueError, match="no"), workers(2) as over:
        over(steps, range(2))
    assert len(begun) < 100


@pytest.mark.parametrize("threads", [1, 2])
def test_what_was_raised_is_raised_and_the_rest_is_not_begun(threads):
    begun = []

    def work(thing):
        begun.append(thing)
        if thing == 3:
            raise ValueError("no")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="no"), workers(threads) as over:
        over(work, range(1000))
    assert len(begun) < 100
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("steadyset")]


def test_at_once_is_in_the_callers_thread():
    pool = AtOnce()
    assert pool.submit(threading.current_thread).result() is threading.current_thread()
    assert pool.submit(dict, [("a", 1)], b=2).result() == {"a": 1, "b": 2}
    failed = pool.submit(int, "no")
    with pytest.raises(ValueError, match="no"):
        failed.result()
    pool.shutdown(wait=True)
