import pytest

from helpers.zygote import PROGRAMS, Zygote


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Run a program or a command in a process of its own, in this folder, with warnings as errors."""
    zygote = Zygote(tmp_path_factory.mktemp("zygote"), PROGRAMS, options=("-W", "error"), env={"MPLBACKEND": "Agg"})

    def run(*arguments, cwd, program=None):
        _, wait = zygote.start(*arguments, cwd=cwd, program=program)
        return wait()

    yield run
    zygote.close()
