"""Two versions of every saved form, and runs that kill -9 their writers, with a reader beside, or let writes fail.

As a program it reads lines of JSON, [what, form, folder, number, seed], and prints what it saw and an exit code.
"""

import contextlib
import dataclasses
import json
import os
import random
import resource
import select
import signal
import sys
import time
from pathlib import Path

import numpy as np

import steadyset as ss


class Form:
    """A saved form: `save(version)`, `read()`, `load()`, which gives the version or fails, and its own files.

    `use(read)` calls what follows the values that were read.
    """

    def __init__(self, target):
        self.target = target
        self.versions = [self.make(version) for version in range(2)]

    def load(self):
        return self.which(self.read())

    def which(self, loaded):
        """Return the version that was read, whole."""
        same = [version for version, made in enumerate(self.versions) if self.same(made, loaded)]
        assert len(same) == 1, "neither the old nor the new version"
        return same[0]


class Predictions(Form):
    def make(self, version):
        rng = np.random.default_rng(version)
        bags = ss.draw_bags(60, 40 + version, 0.5, seed=version, sample_ids=range(60))
        return ss.BagPredictions(rng.dirichlet(np.ones(3), (len(bags), 1500)), bags, "abc")

    def save(self, version):
        self.versions[version].save(self.target, overwrite=True)

    def read(self):
        return ss.BagPredictions.load(self.target, mmap=True)

    def use(self, loaded):
        loaded.mean()
        some = loaded.at_points(range(min(5, loaded.n_points)))
        ss.audit_bags(some, ss.InflatedArgmax(0.05))
        ss.certify(some, ss.InflatedArgmax(0.05))

    def same(self, made, loaded):
        return made == loaded

    def left(self):
        kept = {"steadyset.json", *(path.name for path in self.target.glob("*.npy"))}
        tokens = {name.rpartition("-")[2] for name in kept if name.endswith(".npy")}
        return [name for name in os.listdir(self.target) if name not in kept] + sorted(tokens)[1:] + others(self.target)


class SomeBags(Predictions):
    def make(self, version):
        return ss.draw_bags(400, 200 + version, 0.5, seed=version, sample_ids=range(400), first=3)

    def read(self):
        return ss.Bags.load(self.target)

    def use(self, loaded):
        sum(len(rows) for rows in loaded)
        repr(loaded)


class Audits(Predictions):
    def make(self, version):
        return ss.audit_bags(Predictions.make(self, version).at_points(range(300)), ss.InflatedArgmax(0.02))

    def read(self):
        return ss.StabilityAudit.load(self.target)

    def use(self, loaded):
        loaded.summary()
        repr(loaded)

    def same(self, made, loaded):
        names = [field.name for field in dataclasses.fields(made)]
        pairs = [(np.asarray(getattr(made, name)), np.asarray(getattr(loaded, name))) for name in names]
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


class Trees(Predictions):
    def make(self, version):
        from steadyset.trees import TreeClassifier

        rng = np.random.default_rng(version)
        X, y = rng.normal(size=(400, 6)), np.arange(400) % 3
        bags = [rng.choice(400, 300, replace=False) for _ in range(6)]
        (group,) = TreeClassifier().fit_bags(X, y, bags, list(range(version, version + 6)))
        return group

    def read(self):
        from steadyset.trees import TreeGroup

        return TreeGroup.load(self.target)

    def use(self, loaded):
        points = np.random.default_rng(0).normal(size=(50, 6))
        loaded.predict_proba(points)
        loaded.apply(points)
        loaded.members()[-1].predict(points)
        loaded.members()[-1].to_sklearn().predict(points)

    def same(self, made, loaded):
        points = np.random.default_rng(0).normal(size=(50, 6))
        same = (made.numbers, made.seeds) == (loaded.numbers, loaded.seeds)
        same = same and np.array_equal(made.classes_, loaded.classes_)
        same = same and made.members()[0].get_params() == loaded.members()[0].get_params()
        arrays = made._forest.arrays(), loaded._forest.arrays()
        same = same and all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
        return same and np.array_equal(made.predict_proba(points), loaded.predict_proba(points))


class Neighbors(Predictions):
    def make(self, version):
        rng = np.random.default_rng(version)
        X, y = rng.normal(size=(300, 8)), np.array(list("abc"))[np.arange(300) % 3]
        return ss.StableNeighborsClassifier(3 + version, max_samples=0.3).fit(X, y)

    def read(self):
        return ss.StableNeighborsClassifier.load(self.target)

    def use(self, loaded):
        points = np.random.default_rng(0).normal(size=(20, 8))
        loaded.predict_set(points)
        loaded.audit(points[:3])
        loaded.certify(points[:3])
        loaded.guarantee()

    def same(self, made, loaded):
        points = np.random.default_rng(0).normal(size=(20, 8))
        names = ("rows_", "words_", "codes_", "classes_", "center_")
        same = all(np.array_equal(getattr(made, name), getattr(loaded, name)) for name in names)
        same = same and (made.scale_, made.bag_size_, made.rule_) == (loaded.scale_, loaded.bag_size_, loaded.rule_)
        return same and np.array_equal(made.predict_proba(points), loaded.predict_proba(points))


class Lanes(Form):
    def make(self, version):
        from steadyset.lanes import Linear, NetClassifier, ReLU

        rng = np.random.default_rng(version)
        X, y = rng.normal(size=(40, 30)).astype(np.float32), np.arange(40) % 3
        net = NetClassifier([Linear(300), ReLU(), Linear()], epochs=1)
        (group,) = net.fit_bags(X, y, [np.arange(40)] * 8, list(range(version, version + 8)))
        return group

    def save(self, version):
        self.versions[version].save(self.target)

    def read(self):
        from steadyset.lanes import LaneGroup

        return LaneGroup.load(self.target)

    def use(self, loaded):
        points = np.random.default_rng(0).normal(size=(20, 30)).astype(np.float32)
        loaded.predict_proba(points)
        loaded.members()[-1].predict(points)

    def same(self, made, loaded):
        points = np.random.default_rng(0).normal(size=(20, 30)).astype(np.float32)
        same = (made.numbers, made.seeds) == (loaded.numbers, loaded.seeds)
        same = same and np.array_equal(made.classes_, loaded.classes_) and made._about() == loaded._about()
        return same and np.array_equal(made.predict_proba(points), loaded.predict_proba(points))

    def left(self):
        return [name for name in os.listdir(self.target) if name != "group.safetensors"] + others(self.target)


class Models(Form):
    def __init__(self, target):
        target.mkdir()
        super().__init__(target / "model.skops")

    def make(self, version):
        from sklearn.datasets import load_iris

        from steadyset.tables import Column, TableModel, Target

        X, y = load_iris(return_X_y=True)
        fitted = ss.StableClassifier(n_estimators=3 + version, random_state=version).fit(X, y)
        columns = tuple(Column(f"x{j}", "number", ()) for j in range(4))
        return TableModel(fitted, columns, Target("y", "number"))

    def save(self, version):
        from steadyset.tables import save_model

        save_model(self.versions[version], str(self.target))

    def read(self):
        from steadyset.tables import load_model

        return load_model(str(self.target))

    def same(self, made, loaded):
        one, two = made.classifier, loaded.classifier
        same = one.bags_ == two.bags_ and np.array_equal(one.classes_, two.classes_)
        same = same and (made.columns, made.target) == (loaded.columns, loaded.target)
        points = np.random.default_rng(0).uniform(0, 8, (200, 4))
        return same and np.array_equal(one.bag_predictions(points).proba, two.bag_predictions(points).proba)

    def left(self):
        return [name for name in os.listdir(self.target.parent) if name != self.target.name]


class LostBagError(Exception):
    """A bag is not there."""


class Checkpoints(Form):
    """Four bags, written over and over; the fit's next call opens the folder."""

    def make(self, version):
        return [np.random.default_rng([version, bag]).normal(size=20_000) for bag in range(4)]

    def save(self, version):
        from steadyset.ensemble import _checkpoint
        from steadyset.ensemble._members import Member

        for bag, values in enumerate(self.versions[version]):
            _checkpoint.write(self.folder(), (bag,), Member(values, np.arange(2), 2, (bag,)))

    def folder(self):
        from steadyset.ensemble import _checkpoint

        return _checkpoint.open_folder(self.target, "fit")

    def load(self):
        from steadyset.ensemble import _checkpoint

        found = dict(_checkpoint.finished(self.folder(), range(4), shape=None))
        for (bag,), member in found.items():  # a checkpoint is whole bag by bag
            assert any(np.array_equal(member.estimator, made[bag]) for made in self.versions)
        if len(found) < 4:
            raise LostBagError
        return int(np.array_equal(found[0,].estimator, self.versions[1][0]))

    def left(self):
        names = [f"bags-{bag:07}-{bag:07}.joblib" for bag in range(4)]
        return [name for name in os.listdir(self.target / "fit") if name not in names] + others(self.target)


class Choices(Checkpoints):
    """What the bags of a search chose."""

    def save(self, version):
        for bag, values in enumerate(self.versions[version]):
            self.finished().write(bag, values)

    def finished(self):
        from steadyset.choices._finished_bags import FinishedBags

        return FinishedBags(self.folder())

    def load(self):
        found = self.finished().read(4)
        for bag, chosen in found.items():
            assert any(np.array_equal(chosen, made[bag]) for made in self.versions)
        if len(found) < 4:
            raise LostBagError
        return int(np.array_equal(found[0], self.versions[1][0]))

    def left(self):
        names = [f"bag-{bag:07}.joblib" for bag in range(4)]
        return [name for name in os.listdir(self.target / "fit") if name not in names] + others(self.target)


FORMS = {
    "predictions": Predictions,
    "bags": SomeBags,
    "audits": Audits,
    "trees": Trees,
    "neighbors": Neighbors,
    "lanes": Lanes,
    "models": Models,
    "checkpoints": Checkpoints,
    "choices": Choices,
}


def others(target):
    return [name for name in os.listdir(target.parent) if name != target.name]


class Reader:
    """A process that reads without pause, but for moments of rest; at its end it says which versions it saw."""

    def __init__(self, form):
        (orders, self._orders), (self._answers, answers) = os.pipe(), os.pipe()
        self._child = forked(self._read_on, form, orders, answers)

    @staticmethod
    def _read_on(form, orders, answers):
        seen = [0, 0]
        while True:
            seen[form.load()] += 1
            if select.select([orders], [], [], 0)[0]:
                if os.read(orders, 1) == b"e":
                    os.write(answers, json.dumps(seen).encode())
                    return
                os.write(answers, b"r")
                os.read(orders, 1)

    def rest(self):
        """Let it finish what it reads, and wait: it cleans up too, and would be caught in the middle of that."""
        os.write(self._orders, b"r")
        assert os.read(self._answers, 1) == b"r"

    def go_on(self):
        os.write(self._orders, b"g")

    def end(self):
        os.write(self._orders, b"e")
        status = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        return status, json.loads(os.read(self._answers, 1000)) if status == 0 else None


def forked(work, *arguments):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(*arguments)
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        os._exit(status)
    return child


def wait_for(something, seconds=20):
    end = time.monotonic() + seconds
    while not something() and time.monotonic() < end:
        time.sleep(0.0002)


def write_on(form, first):
    while True:
        form.save(first)
        first = 1 - first


def kill_writers(form, trials, seed):
    """Kill a writer at a random moment of its overwriting, open what is there, and count.

    Half of the moments are uniform, the others just after something unfinished has come up: some forms take most of
    their time before they write.
    """
    moments = random.Random(seed)
    form.save(0)
    start = time.perf_counter()
    form.save(1)
    length = time.perf_counter() - start
    reader = Reader(form)
    found, interrupted, leftovers = [0, 0], 0, 0
    for trial in range(trials):
        writers = [forked(write_on, form, version) for version in range(trial % 2, 2)]  # every other time two at once
        if trial % 4 < 2:
            time.sleep(moments.uniform(0, 0.02 + 4 * length))
        else:
            wait_for(form.left)
            time.sleep(moments.uniform(0, 0.003))
        for writer in writers:
            os.kill(writer, signal.SIGKILL)
        for writer in writers:
            assert os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) == -signal.SIGKILL
        interrupted += bool(form.left())
        reader.rest()
        found[form.load()] += 1
        leftovers += bool(form.left())
        reader.go_on()
    status, seen = reader.end()
    told = {"found": found, "interrupted": interrupted, "leftovers": leftovers, "reader": status, "seen": seen}
    print(json.dumps(told))


def fail_writes(form, limit):
    """Overwrite under a limit of file sizes, or on a full file system: the old version stays, and nothing else."""
    form.save(0)
    assert form.load() == 0
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    else:
        fill_up(form.target.parents[1] / "filler")
    try:
        form.save(1)
        told = None
    except OSError as error:
        told = str(error)
    print(json.dumps({"told": told, "left": form.left(), "found": form.load()}))


def fill_up(path):
    for size in (1 << 16, 1):
        with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
            while file.write(bytes(size)):
                pass


def serve():
    """Run what each line of the input names, in a child of this process, which has imported everything."""
    for line in sys.stdin:
        what, name, folder, number, more = json.loads(line)

        def work(what=what, form=FORMS[name], folder=Path(folder), number=number, more=more):
            kill_writers(form(folder), number, more) if what == "kill" else fail_writes(form(folder), number)
            sys.stdout.flush()

        status = os.waitstatus_to_exitcode(os.waitpid(forked(work), 0)[1])
        print(json.dumps(status), flush=True)


if __name__ == "__main__":
    serve()
