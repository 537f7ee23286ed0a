"""`steadyset bags`: the rows, ids and learner seed of every bag, for programs of any kind on any machines."""

from typing import Annotated, Literal

import typer

from steadyset.cli import _options
from steadyset.cli._answers import echo_json
from steadyset.cli._errors import sentences

EXAMPLES = """
Examples:

  steadyset bags train.csv --target species --n-bags 500 --output bags
      500 bags of half of the rows, in bags/bags.parquet

  steadyset bags train.csv --target species --first 400 --n-bags 100 --format npz --output bags-400
      only bags 400 to 499, as NumPy arrays
"""


@_options.grouped
def bags(
    data: _options.Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="The folder, new or empty.")],
    target: Annotated[str, typer.Option(metavar="NAME", help="The column of the labels.")] = "y",
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", "--id", metavar="NAME", help="A column of distinct names of the rows; no feature."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out.")] = None,
    n_bags: Annotated[int, typer.Option("--n-bags", metavar="N", help="Number of bags.")] = 500,
    first: Annotated[int, typer.Option(metavar="N", help="The number of the first bag.")] = 0,
    bag_size: Annotated[
        str, typer.Option(metavar="ROWS|SHARE", help="Rows per bag, or their share (with a point: 0.5).")
    ] = "0.5",
    bootstrap: Annotated[bool, typer.Option("--bootstrap", help="Draw rows with replacement.")] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the bags and their learners.")] = 0,
    form: Annotated[str, typer.Option("--format", metavar="parquet|npz", help="How bags are written.")] = "parquet",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace bags that are there.")] = False,
    *,
    options: _options.TableOptions,
) -> None:
    """Write which rows each bag holds, for learners that are trained elsewhere.

    A program of yours trains a learner on the rows of a bag and writes what it predicts; `steadyset collect` checks
    these parts and puts them together.
    """
    with sentences("bags"):
        from steadyset._base import validation
        from steadyset.bags import draw_bags
        from steadyset.cli import _session, fit
        from steadyset.tables import read_table, write_bags

        validation.choice(form, "format", ("parquet", "npz"))
        size = _options.number(bag_size, f"bag_size must be a number of rows or a share such as 0.5; got {bag_size!r}.")
        table = read_table(data, options.format(*(options.missing or ())), text=[id_column] if id_column else [])
        with _session.told_once(options.quiet):
            rows = fit.rows_to_draw(table, target, id_column, drop, options.quiet)
        resampling: Literal["bootstrap", "subbagging"] = "bootstrap" if bootstrap else "subbagging"
        drawn = draw_bags(table.num_rows, n_bags, size, resampling, seed, rows.ids, first=first)
        path = write_bags(drawn, rows.classes, output, form, overwrite=overwrite)
        if options.as_json:
            facts = {"first": first, "n_bags": n_bags, "bag_size": drawn.bag_size, "n_rows": drawn.n_samples}
            echo_json({"output": str(path), **facts, "seed": seed, "classes": rows.classes.tolist()})
        else:
            of_each = f"{drawn.bag_size:,} of {drawn.n_samples:,} rows"
            typer.echo(f"{path}: bags {first} to {first + n_bags - 1}, {of_each} each, {len(rows.classes)} labels.")
