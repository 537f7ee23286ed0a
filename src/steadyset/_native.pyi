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
