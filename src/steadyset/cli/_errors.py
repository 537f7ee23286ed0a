"""Failures as one sentence on stderr and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

#: What a shell expects of a process that Ctrl-C ended.
INTERRUPTED = 130


@contextmanager
def sentences(command: str) -> Iterator[None]:
    """Turn what a user can get wrong into a sentence and exit code 2, and Ctrl-C into exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        complain(command, "interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has read enough, as `head` does
        sys.stderr.close()
        raise typer.Exit(0) from None
    except MemoryError as error:
        complain(command, f"not enough memory: {error}" if str(error) else "not enough memory for this much data.")
        raise typer.Exit(2) from None
    except (ValueError, TypeError, ImportError, OSError, RuntimeError, ArithmeticError) as error:
        complain(command, str(error) or type(error).__name__)
        raise typer.Exit(2) from None


def complain(command: str, words: str) -> None:
    """Print a sentence of a command on stderr, in one line."""
    typer.echo(f"steadyset {command}: " + " ".join(words.split()), err=True)


def note(words: str) -> None:
    """Print what is worth knowing on stderr; stdout is for results."""
    typer.echo(f"note: {words}", err=True)
