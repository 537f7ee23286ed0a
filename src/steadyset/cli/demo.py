"""`steadyset demo`: the whole story on handwritten digits."""

from steadyset import _demo


def demo() -> None:
    """Show every selection rule on a bagged classifier of handwritten digits."""
    _demo.run()
