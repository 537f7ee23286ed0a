"""`steadyset collect`: what was trained elsewhere, checked and put together."""

from typing import Annotated

import typer

from steadyset.cli import _options
from steadyset.cli._answers import echo_json
from steadyset.cli._errors import sentences

EXAMPLES = """
Examples:

  steadyset collect parts --bags bags --output predictions
      all parts in a folder, of the bags that steadyset bags wrote to bags

  steadyset collect a.npz b.csv --bags bags-0 --bags bags-400 --output predictions
      two files; bags that were written in two steps
"""


@_options.grouped
def collect(
    parts: Annotated[list[str], typer.Argument(metavar="PART...", help="Files of predictions, or folders of them.")],
    bags: Annotated[list[str], typer.Option(metavar="FOLDER", help="A folder of `steadyset bags`; may be repeated.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="The folder, new or empty.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace predictions that are there.")] = False,
    as_json: _options.Json = False,
) -> None:
    """Check what was predicted for each bag, and put it together for `audit`, `certify` and `report`.

    A part is a .npz file with the arrays bag, digest and proba (bags, points, labels), or a table with a row per bag
    and point: bag, digest, point and a column per label. The digest of a bag is copied from the file of the bags.
    Where sha256sum wrote a file beside a part, the part is compared with it.
    """
    with sentences("collect"):
        from steadyset.tables import collect

        found = collect(bags, parts)
        found.save(output, overwrite=overwrite)
        if as_json:
            sizes = {"n_bags": found.n_bags, "n_points": found.n_points, "classes": found.classes.tolist()}
            echo_json({"output": output, **sizes})
        else:
            sizes_in_words = f"{found.n_bags:,} bags at {found.n_points:,} points, {found.n_classes} labels"
            typer.echo(f"{output}: {sizes_in_words}, every bag once.")
