"""Bad input gets one sentence that names the argument, what is allowed and what came; nothing crashes the process."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import steadyset as ss

GOOD = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
NAN_ROW = np.array([[0.5, 0.5], [0.2, np.nan], [np.inf, 0.0]])

UTILITY = 'utility must be "u65", "u80" or a pair (alpha, beta) of finite numbers with alpha > beta and alpha > 0; got '
KINDS = "proba must hold float64, float32, float16, bfloat16, integer or bool numbers; got an array of dtype "
OFF_SIMPLEX = "proba must hold probabilities that sum to 1 within {} over the last axis; got a sum of {}."

BAD = {
    "nan": (
        lambda: ss.inflated_argmax(NAN_ROW, 0.1),
        "proba must hold finite numbers only; got nan in row 1 of proba.",
    ),
    "inf": (lambda: ss.argmax_set([0.5, np.inf]), "proba must hold finite numbers only; got inf in proba."),
    "nan, block": (
        lambda: ss.fixed_margin(np.where(np.arange(400).reshape(40, 10) == 333, np.nan, 0.1), 0.1),
        "proba must hold finite numbers only; got nan in row 33 of proba.",
    ),
    "nan, leading axes": (
        lambda: ss.entry_epsilons(np.where(np.arange(24).reshape(2, 3, 4) == 17, np.nan, 0.1)),
        "proba must hold finite numbers only; got nan in row (1, 1) of proba.",
    ),
    "nan, float16": (
        lambda: ss.inflated_argmax(NAN_ROW.astype(np.float16), 0.1),
        "proba must hold finite numbers only; got nan in row 1 of proba.",
    ),
    "no labels": (
        lambda: ss.argmax_set(np.empty((3, 0))),
        "proba must have at least one label on its last axis; got shape (3, 0).",
    ),
    "0-d": (lambda: ss.argmax_set(0.5), "proba must have at least one axis, the labels; got the single value 0.5."),
    "strings": (
        lambda: ss.argmax_set(["a", "b"]),
        KINDS + "<U1.",
    ),
    "objects": (
        lambda: ss.argmax_set([None, 1.0]),
        KINDS + "object.",
    ),
    "complex": (
        lambda: ss.inflated_argmax(np.ones(2, complex), 0.1),
        KINDS + "complex128.",
    ),
    "ragged": (
        lambda: ss.argmax_set([[0.1, 0.9], [1.0]]),
        "proba must be a rectangular array of numbers; got [[0.1, 0.9], [1.0]].",
    ),
    "masked": (
        lambda: ss.argmax_set(np.ma.masked_less(GOOD, 0.2)),
        "proba must be a plain array; got a masked array, whose masked entries have no score.",
    ),
    "negative epsilon": (
        lambda: ss.inflated_argmax(GOOD, -0.1),
        "epsilon must be a number that is at least 0; got -0.1.",
    ),
    "nan epsilon": (lambda: ss.fixed_margin(GOOD, np.nan), "epsilon must be a number that is at least 0; got nan."),
    "text epsilon": (lambda: ss.InflatedArgmax("0.1"), "epsilon must be a number that is at least 0; got '0.1'."),
    "None epsilon": (lambda: ss.inflated_argmax(GOOD, None), "epsilon must be a number that is at least 0; got None."),
    "bool epsilon": (lambda: ss.FixedMargin(True), "epsilon must be a number that is at least 0; got True."),
    "array epsilon": (
        lambda: ss.inflated_argmax(GOOD, np.array([0.1, 0.2])),
        "epsilon must be a number that is at least 0; got array([0.1, 0.2]).",
    ),
    "k of 0": (lambda: ss.top_k(GOOD, 0), "k must be a whole number from 1 to 3, the number of labels; got 0."),
    "k too large": (lambda: ss.top_k(GOOD, 4), "k must be a whole number from 1 to 3, the number of labels; got 4."),
    "k no int": (lambda: ss.TopK(2.0), "k must be a whole number that is at least 1; got 2.0."),
    "tau of 0": (lambda: ss.mass_threshold(GOOD, 0.0), "tau must be a number above 0 and at most 1; got 0.0."),
    "tau above 1": (lambda: ss.MassThreshold(1.01), "tau must be a number above 0 and at most 1; got 1.01."),
    "negative beta": (lambda: ss.ndc(GOOD, -1), "beta must be a finite number that is at least 0; got -1."),
    "unknown utility": (
        lambda: ss.svbop(GOOD, "u99"),
        UTILITY + "'u99'.",
    ),
    "alpha below beta": (
        lambda: ss.SVBOP((1.0, 1.0)),
        UTILITY + "(1.0, 1.0).",
    ),
    "utility of three": (
        lambda: ss.svbop(GOOD, (1, 2, 3)),
        UTILITY + "(1, 2, 3).",
    ),
    "negative probability": (
        lambda: ss.ndc([[0.5, 0.5], [1.2, -0.2]]),
        "proba must hold probabilities, none negative; got -0.2 in row 1 of proba.",
    ),
    "off the simplex": (
        lambda: ss.mass_threshold([[0.5, 0.5], [0.5, 0.6]], 0.8),
        OFF_SIMPLEX.format("1e-06", "1.1 in row 1 of proba"),
    ),
    "off the simplex, float32": (
        lambda: ss.svbop(np.array([0.5, 0.499], np.float32)),
        OFF_SIMPLEX.format("0.0001", "0.9990000128746033 in proba"),
    ),
    "no rule": (
        lambda: ss.stability_radius(GOOD, "argmax"),
        "rule must be one of steadyset's rule objects; got 'argmax'.",
    ),
    "radius without theorem": (
        lambda: ss.stability_radius(GOOD, ss.SVBOP((1.0, 0.0))),
        "rule must be one that a theorem makes compatible for 3 labels; got SVBOP(utility=(1.0, 0.0)).",
    ),
    "mask of ints": (
        lambda: ss.to_labels([[0, 1]], ["a", "b"]),
        "mask must be a bool array whose last axis is the labels; got dtype int64 and shape (1, 2).",
    ),
    "too few classes": (
        lambda: ss.to_labels([[True, False]], ["a"]),
        "classes must name each of the mask's 2 columns; got 1 labels.",
    ),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == sentence


def test_foreign_arrays_get_the_same_sentences():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="got nan in row 1 of proba"):
        ss.inflated_argmax(torch.tensor(NAN_ROW), 0.1)
    with pytest.raises(ValueError, match=r"none negative; got -0\.2"):
        ss.ndc(torch.tensor([[0.5, 0.5], [1.2, -0.2]]))
    with pytest.raises(ValueError, match="sum to 1 within 1e-06"):
        ss.svbop(torch.tensor([[0.5, 0.6]], dtype=torch.float64))
    with pytest.raises(ValueError, match="at least one axis"):
        ss.argmax_set(torch.tensor(0.5))
    with pytest.raises(ValueError, match="at least one label"):
        ss.argmax_set(torch.empty(3, 0))
    with pytest.raises(TypeError, match="integer or bool numbers; got an array of dtype"):
        ss.argmax_set(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(ValueError, match="from 1 to 2"):
        ss.top_k(torch.tensor([0.1, 0.9]), 3)


def test_an_array_that_changes_during_the_call_does_no_harm():
    """Another thread writes NaN, infinities and new maxima while the kernels read: wrong sets at worst, no crash."""
    program = """
import threading, numpy as np, steadyset as ss
w = np.random.default_rng(0).dirichlet(np.ones(3000), 200).astype(np.float32)
stop = threading.Event()
def scribble():
    rng = np.random.default_rng(1)
    while not stop.is_set():
        w[:, rng.integers(3000)] = rng.choice([np.nan, np.inf, -np.inf, 1.0, 0.0, 1e-3, 3e38])
writer = threading.Thread(target=scribble); writer.start()
for _ in range(60):
    for call in (lambda: ss.inflated_argmax(w, 0.5), lambda: ss.entry_epsilons(w), lambda: ss.top_k(w, 1500),
                 lambda: ss.ndc(w), lambda: ss.svbop(w)):
        try: call()
        except ValueError: pass
stop.set(); writer.join(); print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done.stderr


def test_forked_children_can_select():
    program = """
import os, numpy as np, steadyset as ss
w = np.random.default_rng(0).random((200_000, 10), dtype=np.float32)
before = ss.inflated_argmax(w, 0.1)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(ss.inflated_argmax(w, 0.1), before) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "0\n", done.stderr


def test_threads_of_the_caller_get_the_same_answer():
    w = np.random.default_rng(2).dirichlet(np.ones(10), 60_000)
    expected, answers = ss.inflated_argmax(w, 0.1), []
    workers = [threading.Thread(target=lambda: answers.append(ss.inflated_argmax(w, 0.1))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(answers) == 4
    assert all(np.array_equal(answer, expected) for answer in answers)
