"""Failures as one sentence on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def sentences(command: str) -> Iterator[None]:
    """Turn what a user can get wrong into a sentence and exit code 2, and Ctrl-C into exit code 130."""
    try:
        yield
    except (ValueError, TypeError, ImportError, OSError) as error:
        typer.echo(f"steadyset {command}: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo(f"steadyset {command}: interrupted", err=True)
        raise typer.Exit(130) from None
