import os

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "steadyset", deadline=None, max_examples=200, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("steadyset")


@pytest.fixture(scope="session")
def full_trials() -> bool:
    """Whether the long trials run at full size (`make trials`)."""
    return os.environ.get("STEADYSET_TRIALS") == "full"


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def isa(request):
    """Run the test once on every instruction-set level of this CPU."""
    from steadyset import _native

    if request.param not in _native.isa_levels():
        pytest.skip(f"this CPU has no {request.param}")
    before = _native.isa()
    _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)
