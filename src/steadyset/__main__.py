"""The `steadyset` command, also as `python -m steadyset`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C is answered also while it is still being imported."""
    try:
        from steadyset.cli import app

        app()
    except KeyboardInterrupt:  # before or after a command's own work
        print("steadyset: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
