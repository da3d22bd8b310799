"""`compare`: compare several models in tables and plots like those in the papers that define the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import first_few
from ..manifests.disk.atomic import make_folder, write_atomic
from ..manifests.manifest_file import result_path
from ..manifests.records.markdown import markdown_text
from .comparison.entries import PRINTED, Entry, gather, reference_point
from .comparison.figures import write_plots
from .comparison.paper_tables import tables
from .comparison.statistics import Difference, differences
from .records import Scores
from .tables import Table

PAGE, TABLES, PLOTS = "comparison.md", "tables", "plots"


@dataclass(frozen=True)
class Comparison:
    """A comparison of several models."""

    models: tuple[str, ...]
    """The names of the models in tables and plots, in the given order."""
    scores: tuple[Scores, ...]
    """The scores of each model."""
    tables: tuple[Table, ...]
    differences: tuple[Difference, ...]
    """The differences between every two models in every score that both have."""
    notes: tuple[str, ...]
    """Notes on the comparison and on the scores of each model."""
    files: tuple[Path, ...] = field(default=())
    """The written files."""

    def __repr__(self) -> str:
        made = (
            f"{len(self.tables)} tables, {len(self.differences)} differences, {len(self.notes)} notes, "
            f"{len(self.files)} files"
        )
        return f"<Comparison of {first_few(self.models)}: {made}>"

    def _repr_html_(self) -> str:
        return self.tables[0]._repr_html_()

    def table(self, name: str) -> Table:
        """Return the table with the given name, or raise KeyError."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(
            f"there is no table {name!r}; the available tables are {', '.join(table.name for table in self.tables)}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values. Cells are fractions, and a missing score is None."""
        parts = {table.name: asdict(table) for table in self.tables}
        tables = {name: {key: part[key] for key in ("title", "columns", "rows")} for name, part in parts.items()}
        return {
            "models": list(self.models),
            "digests": [scores.digest for scores in self.scores],
            "tables": tables,
            "differences": [asdict(difference) for difference in self.differences],
            "notes": list(self.notes),
            "files": [str(file) for file in self.files],
        }


def compare(
    scores: Sequence[str | Path | Scores],
    out: str | Path | None = None,
    *,
    any_data: bool = False,
    plots: bool = True,
    reference: str | Sequence[str] | tuple[float, float] | None = None,
) -> Comparison:
    """Compare models in tables, differences with confidence intervals, and plots.

    Parameters
    ----------
    scores : sequence of path or Scores
        Scores files, folders with a scores file, or results of `corruptset.score`, one per model. Two-factor scores
        from the table of a paper are given as a CSV file. It has the columns model, cv, mean and clean, with values in
        percent, and one row per model.
    out : path, optional
        A folder for ``comparison.md``, ``tables/<name>.csv``, ``.md`` and ``.tex``, and ``plots/<name>.svg``.
    any_data : bool
        Accept scores of different datasets. Each model is then named together with its dataset, and differences have
        no confidence intervals.
    plots : bool
        Whether to draw plots.
    reference : str, sequence of str or (float, float), optional
        The reference point that divides the plot of accuracy against its variation into quadrants. It is given as the
        names of models, whose mean is the point, or as a CV and a mean accuracy in percent. By default it is the mean
        of all models. Dai & Berleant 2021 use (2.94, 88.31), the mean of three models that were trained on clean
        images.

    Returns
    -------
    Comparison

    Raises
    ------
    ScoreError
        If a file is not a scores file, if a model occurs twice, if the scores are from different datasets, or if
        `reference` names an unknown model. The message lists all problems.
    """
    entries = gather(scores, any_data=any_data)
    point = reference_point(entries, reference)
    found, unpaired = differences(entries)
    made = tables(entries, point, found)
    notes, files = [*unpaired, *_notes(entries)], list[Path]()
    if reference is not None and point is None:
        notes.insert(0, "The reference point is not used, because no model has two-factor scores.")
    if out is not None:
        folder = result_path(out)
        drawn = write_plots(entries, point, make_folder(folder, PLOTS)) if plots else []
        texts = {PAGE: _page(entries, made, notes, drawn)}
        for table in made:
            texts[f"{TABLES}/{table.name}.csv"] = table.csv()
            texts[f"{TABLES}/{table.name}.md"] = table.markdown()
            texts[f"{TABLES}/{table.name}.tex"] = table.latex()
        make_folder(folder, TABLES)
        for name, text in texts.items():
            write_atomic(folder / name, text.encode())
        files = [*(folder / name for name in texts), *drawn]
    labels, compared = tuple(e.label for e in entries), tuple(e.scores for e in entries)
    return Comparison(labels, compared, tuple(made), tuple(found), tuple(notes), tuple(files))


def _notes(entries: Sequence[Entry]) -> list[str]:
    """Return the notes on all scores. A note that applies only to some models begins with their names."""
    of_note: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry.scores.notes:
            of_note.setdefault(note, []).append(entry.label)
    return [note if len(labels) == len(entries) else f"{', '.join(labels)}: {note}" for note, labels in of_note.items()]


def _page(entries: Sequence[Entry], made: Sequence[Table], notes: Sequence[str], plots: Sequence[Path]) -> str:
    """Return all tables and plots as a page in Markdown."""
    own = [e.scores for e in entries if e.scores.digest != PRINTED]
    blocks = ["# " + ", ".join(markdown_text(e.label) for e in entries)]
    blocks += dict.fromkeys(f"Dataset: {markdown_text(s.name)}, {s.samples:,} samples, `{s.digest}`" for s in own)
    if notes:
        blocks.append("\n".join(f"* {markdown_text(note)}" for note in notes))
    blocks += [f"## {markdown_text(table.title)}\n\n{table.markdown().rstrip()}" for table in made]
    blocks += [f"![{file.stem.replace('_', ' ')}]({PLOTS}/{file.name})" for file in plots]
    return "\n\n".join(blocks) + "\n"
