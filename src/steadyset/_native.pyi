from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

def isa_levels() -> list[str]: ...
def isa() -> str: ...
def use_isa(name: str) -> None: ...
def select(
    scores: NDArray[Any],
    kind: int,
    rule: int,
    a: float,
    b: float,
    k: int,
    sum_slack: float,
    out: NDArray[Any],
    threads: int,
) -> tuple[int, int] | None: ...
def select_conformal(
    scores: NDArray[Any],
    kind: int,
    rule: int,
    thresholds: NDArray[Any],
    sum_slack: float,
    out: NDArray[Any],
    threads: int,
) -> tuple[int, int] | None: ...
def entry_epsilons(
    scores: NDArray[Any], kind: int, k: int, out: NDArray[Any], threads: int
) -> tuple[int, int] | None: ...
def hash_bags(
    keys: NDArray[Any],
    ids: NDArray[Any] | None,
    n: int,
    m: int,
    bits: NDArray[Any],
    next: NDArray[Any],
    threads: int,
) -> None: ...
def hash_rows(
    keys: NDArray[Any], ids: NDArray[Any], m: int, rows: NDArray[Any], next: NDArray[Any], threads: int
) -> None: ...
def bootstrap_bags(keys: NDArray[Any], n: int, m: int, draws: NDArray[Any], threads: int) -> None: ...
def sum_bags(values: NDArray[Any], take: NDArray[Any] | None, block: int, out: NDArray[Any], threads: int) -> None: ...
def digest_rows(
    cells: NDArray[Any], kinds: NDArray[Any] | None, ends: NDArray[Any], digests: NDArray[Any], threads: int
) -> None: ...
def fingerprint_rows(
    rows: NDArray[Any], codes: NDArray[Any], key: NDArray[Any], out: NDArray[Any], threads: int
) -> None: ...
def known_places(known: NDArray[Any], wanted: NDArray[Any], places: NDArray[Any]) -> None: ...
def match_words(before: NDArray[Any], now: NDArray[Any], places: NDArray[Any], is_new: NDArray[Any]) -> None: ...
def move_rows(held: NDArray[Any], places: NDArray[Any], moved: NDArray[Any], changed: NDArray[Any]) -> None: ...
def entered_bags(
    keys: NDArray[Any],
    ids: NDArray[Any],
    held: NDArray[Any],
    fresh: NDArray[Any],
    entered: NDArray[Any],
    threads: int,
) -> None: ...
def audit_points(
    values: NDArray[Any],
    patterns: NDArray[Any],
    counts: NDArray[Any],
    mean: NDArray[Any],
    set: NDArray[Any],
    rules: list[tuple[int, float, float, int, NDArray[Any] | None]],
    sum_slack: float,
    entries: NDArray[Any] | None,
    shift: NDArray[Any],
    error: NDArray[Any],
    conflict: NDArray[Any],
    last: NDArray[Any] | None,
    jaccard: NDArray[Any],
    threads: int,
) -> None: ...
def count_below(
    values: NDArray[Any],
    patterns: NDArray[Any],
    counts: NDArray[Any],
    bounds: NDArray[Any],
    least: NDArray[Any],
    most: NDArray[Any],
    threads: int,
) -> None: ...
def leave_out_means(
    values: NDArray[Any],
    patterns: NDArray[Any],
    counts: NDArray[Any],
    start: int,
    stop: int,
    out: NDArray[Any],
    threads: int,
) -> None: ...
def near_points(
    starts: NDArray[Any],
    mean: NDArray[Any],
    set: NDArray[Any],
    models: NDArray[Any],
    sets: NDArray[Any],
    n_common: int,
    shift: NDArray[Any],
    conflict: NDArray[Any],
    apart: NDArray[Any],
    jaccard: NDArray[Any],
    threads: int,
) -> None: ...
def near_shifts(
    rows: NDArray[Any],
    unit_of: NDArray[Any],
    number: NDArray[Any],
    shift: NDArray[Any],
    first: int,
    score: NDArray[Any],
    leader: NDArray[Any],
    levels: NDArray[Any],
    quantiles: NDArray[Any],
    threads: int,
) -> None: ...
def survey_points(
    values: NDArray[Any],
    mean: NDArray[Any],
    least: int,
    bound: float,
    spread: NDArray[Any],
    settled: NDArray[Any],
    threads: int,
) -> None: ...
def clear_points(
    values: NDArray[Any],
    patterns: NDArray[Any],
    ones: NDArray[Any],
    most: NDArray[Any],
    times: NDArray[Any],
    set: NDArray[Any],
    radius: NDArray[Any] | None,
    rule: int,
    epsilon: float,
    uncleared: NDArray[Any],
    threads: int,
) -> None: ...
def hostile_bags(
    values: NDArray[Any],
    set: NDArray[Any],
    rule: int,
    epsilon: float,
    vote: float,
    slack: float,
    least: int,
    bags: NDArray[Any],
    threads: int,
) -> None: ...
def peak_flops() -> float: ...

class LanesWatch:
    def stop(self) -> None: ...
    @property
    def epochs(self) -> int: ...

class LanesNetwork:
    @staticmethod
    def make(
        channels: int, height: int, width: int, layers: list[tuple[str, int, int, int, int, float]]
    ) -> LanesNetwork: ...
    @property
    def n_parameters(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def row_size(self) -> int: ...
    def initial(self, seed: int) -> NDArray[Any]: ...
    def train(
        self,
        x: NDArray[Any],
        labels: NDArray[Any],
        rows: list[NDArray[Any]],
        seeds: list[int],
        recipe: dict[str, Any],
        watch: LanesWatch,
        start: NDArray[Any] | None = None,
        orders: list[NDArray[Any]] = ...,
        masks: list[NDArray[Any]] = ...,
        weights: NDArray[Any] | None = None,
    ) -> dict[str, Any]: ...
    def predict(
        self,
        x: NDArray[Any],
        parameters: NDArray[Any],
        center: NDArray[Any] | None,
        deviation: NDArray[Any] | None,
        scale: float,
        shift: float,
        out: NDArray[Any],
        first_row: int,
        watch: LanesWatch,
    ) -> None: ...

def tree_keys(values: NDArray[Any], out: NDArray[Any], threads: int) -> int: ...

class TreesStop:
    def stop(self) -> None: ...

class TreesForest:
    @staticmethod
    def make(
        tree_nodes: NDArray[Any],
        feature: NDArray[Any],
        key: NDArray[Any],
        missing_left: NDArray[Any],
        leaf_rows: NDArray[Any],
        leaf_entries: NDArray[Any],
        entry_class: NDArray[Any],
        entry_weight: NDArray[Any],
        importances: NDArray[Any],
        n_features: int,
        n_classes: int,
        wide: bool,
    ) -> TreesForest: ...
    @staticmethod
    def joined(parts: Sequence[TreesForest]) -> TreesForest: ...
    @staticmethod
    def joined_runs(parts: Sequence[tuple[TreesForest, int, int]]) -> TreesForest: ...
    @property
    def is_coded(self) -> bool: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def wide(self) -> bool: ...
    def add_shares(self, keys: NDArray[Any], block: int, sums: NDArray[Any], threads: int) -> None: ...
    def put_shares(self, keys: NDArray[Any], out: NDArray[Any], threads: int) -> None: ...
    def leaves(self, keys: NDArray[Any], out: NDArray[Any], threads: int) -> None: ...

class TreesTable:
    def __init__(self, keys: NDArray[Any], kinds: NDArray[Any], threads: int) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def missing(self) -> list[int]: ...
    def grow(
        self,
        labels: NDArray[Any],
        n_classes: int,
        rows: list[NDArray[Any]],
        weights: list[NDArray[Any]] | None,
        scales: list[int],
        seeds: list[int],
        settings: dict[str, Any],
        stop: TreesStop,
    ) -> TreesForest | None: ...

def neighbor_weights(
    n: int, m: int, k: int, bootstrap: bool, whole: NDArray[Any], pair: NDArray[Any], square: NDArray[Any]
) -> int: ...
def neighbor_votes(
    rows: NDArray[Any],
    codes: NDArray[Any],
    whole: NDArray[Any],
    pair: NDArray[Any],
    square: NDArray[Any],
    proba: NDArray[Any],
    spread: NDArray[Any],
    threads: int,
) -> None: ...
def neighbor_model_counts(
    rows: NDArray[Any], codes: NDArray[Any], depth: int, n_classes: int, counts: NDArray[Any], threads: int
) -> None: ...
def neighbor_models(
    rows: NDArray[Any],
    codes: NDArray[Any],
    whole: NDArray[Any],
    starts: NDArray[Any],
    models: NDArray[Any],
    number: NDArray[Any],
    threads: int,
) -> None: ...
def neighbor_settle(
    rows: NDArray[Any],
    codes: NDArray[Any],
    whole: NDArray[Any],
    proba: NDArray[Any],
    wide: float,
    narrow: float,
    unit_of: NDArray[Any],
    first: int,
    score: NDArray[Any],
    leader: NDArray[Any],
    levels: NDArray[Any],
    quantiles: NDArray[Any],
    settled: NDArray[Any],
    threads: int,
) -> None: ...

class NeighborSearch:
    def __init__(
        self,
        rows: NDArray[Any],
        columns: NDArray[Any] | None,
        ends: NDArray[Any] | None,
        words: NDArray[Any],
        points: NDArray[Any],
        point_columns: NDArray[Any] | None,
        point_ends: NDArray[Any] | None,
        width: int,
        metric: int,
        depth: int,
    ) -> None: ...
    def offer_products(
        self,
        products: NDArray[Any],
        base: NDArray[Any],
        slack: NDArray[Any],
        own: NDArray[Any],
        first_point: int,
        first_row: int,
        threads: int,
    ) -> None: ...
    def offer_distances(self, distances: NDArray[Any], first_point: int, first_row: int, threads: int) -> None: ...
    def measure_all(self, threads: int) -> None: ...
    def finish(self, out: NDArray[Any], threads: int) -> None: ...
