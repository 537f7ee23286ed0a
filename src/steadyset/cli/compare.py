"""`steadyset compare`: two versions of a model at the rows of a table."""

from typing import Annotated, Any

import numpy as np
import typer

from steadyset.cli import _options
from steadyset.cli._answers import echo_json, guarantee_json
from steadyset.cli._errors import note, sentences

EXAMPLES = """
Examples:

  steadyset compare old.skops new.skops points.csv
      how many sets stayed, changed or turned disjoint, and what was promised

  steadyset compare old.skops new.skops points.csv --page compared.html
      with a page that lists the points whose sets changed, and opens without a network

  steadyset compare old.skops new.skops points.csv --figure compared.png --json
      with a picture; for machines
"""

_MOST_NAMED = 20


@_options.grouped
def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A model file of `steadyset fit`.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The model file of a later fit or refit.")],
    data: _options.Data,
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw it there: .png, .svg or .pdf (extra plot).")
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write an HTML page there, with every set that changed (extra report)."),
    ] = None,
    *,
    options: _options.ModelOptions,
) -> None:
    """Set two versions of a model side by side: sets that stayed, changed or turned disjoint, and what was promised.

    The promise is that of the theorem for as many added or dropped rows.
    """
    with sentences("compare"):
        import steadyset as ss
        from steadyset._base import whole_files
        from steadyset.cli import _session

        for name, path in {"figure": figure, "page": page}.items():
            if path is not None:
                whole_files.check_output(path, data, old, new, name=name)
        before = _session.open_both(old, data, options)
        later = _session.open_both(new, data, options)
        for path, read in {old: before, new: later}.items():
            if not hasattr(read.model.classifier, "bags_"):
                raise ValueError(
                    f"compare is for models of bags that were drawn; got {path!r}, which has all there are."
                )
        with _session.told_once(options.quiet):
            found = ss.compare(before.model.classifier, later.model.classifier, before.X)
        if figure is not None:
            _draw(found, figure)
        if page is not None:
            from steadyset.reporting import comparison_page

            html = comparison_page(found)
            with whole_files.replacing(page) as temporary:
                temporary.write_text(html, encoding="utf-8", newline="\n")
        if options.as_json:
            echo_json(_as_json(found))
            return
        typer.echo(found.summary())
        rows = np.flatnonzero(found.disjoint) + 1
        if len(rows) and not options.quiet:
            more = f" and {len(rows) - _MOST_NAMED:,} more" if len(rows) > _MOST_NAMED else ""
            named = ", ".join(f"{row:,}" for row in rows[:_MOST_NAMED])
            note(f"rows of the table whose sets turned disjoint, counted from 1: {named}{more}")


def _draw(found: Any, path: str) -> None:
    import steadyset as ss
    from steadyset._base import whole_files
    from steadyset._base.optional import require

    require("matplotlib", "plot").use("Agg")
    picture: Any = ss.plot.comparison(found).figure
    with whole_files.replacing(path) as temporary:
        picture.savefig(temporary, dpi=150)


def _as_json(found: Any) -> dict[str, Any]:
    promise = found.promise
    return {
        "n_points": found.n_points,
        "n_stayed": int(found.stayed.sum()),
        "n_changed": int(found.changed.sum()),
        "n_disjoint": int(found.disjoint.sum()),
        "disjoint_rows": (np.flatnonzero(found.disjoint) + 1).tolist(),
        "unit": found.unit,
        "n_added": found.n_added,
        "n_dropped": found.n_dropped,
        "promise": promise if isinstance(promise, str) else guarantee_json(promise),
    }
