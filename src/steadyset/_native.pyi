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
    tie_slack: float,
    out: NDArray[Any],
    threads: int,
) -> tuple[int, int] | None: ...
def entry_epsilons(scores: NDArray[Any], kind: int, out: NDArray[Any], threads: int) -> tuple[int, int] | None: ...
def hash_bags(
    keys: NDArray[Any],
    ids: NDArray[Any] | None,
    n: int,
    m: int,
    bits: NDArray[Any],
    next: NDArray[Any],
    threads: int,
) -> None: ...
def bootstrap_bags(keys: NDArray[Any], n: int, m: int, draws: NDArray[Any], threads: int) -> None: ...
def sum_bags(values: NDArray[Any], take: NDArray[Any] | None, block: int, out: NDArray[Any], threads: int) -> None: ...
def audit_points(
    values: NDArray[Any],
    patterns: NDArray[Any],
    counts: NDArray[Any],
    mean: NDArray[Any],
    set: NDArray[Any],
    rule: int,
    a: float,
    b: float,
    k: int,
    sum_slack: float,
    tie_slack: float,
    entries: NDArray[Any] | None,
    shift: NDArray[Any],
    error: NDArray[Any],
    conflict: NDArray[Any],
    last: NDArray[Any] | None,
    jaccard: NDArray[Any],
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
def survey_points(
    values: NDArray[Any],
    mean: NDArray[Any],
    least: int,
    bound: float,
    spread: NDArray[Any],
    settled: NDArray[Any],
    threads: int,
) -> None: ...
def peak_flops(rounds: int) -> float: ...

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
