"""`compare`: models side by side, as the papers' tables and plots."""

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
    """Models side by side."""

    models: tuple[str, ...]
    """What they are called in tables and plots, in the order given."""
    scores: tuple[Scores, ...]
    """Theirs."""
    tables: tuple[Table, ...]
    differences: tuple[Difference, ...]
    """Of every two models in every score that both have."""
    notes: tuple[str, ...]
    """What to know of the comparison, and of each model's scores."""
    files: tuple[Path, ...] = field(default=())
    """What was written."""

    def __repr__(self) -> str:
        made = (
            f"{len(self.tables)} tables, {len(self.differences)} differences, {len(self.notes)} notes, "
            f"{len(self.files)} files"
        )
        return f"<Comparison of {first_few(self.models)}: {made}>"

    def _repr_html_(self) -> str:
        return self.tables[0]._repr_html_()

    def table(self, name: str) -> Table:
        """Return a table by name, or raise KeyError."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"there is no table {name!r}; there are {', '.join(table.name for table in self.tables)}")

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values: cells are fractions, a missing score is None."""
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
    """Put models side by side: tables, differences with intervals, and plots.

    Parameters
    ----------
    scores : sequence of path or Scores
        Scores files (or the folders that hold one), or what `corruptset.score` returned; one model each. Or a paper's
        table of two-factor scores: a CSV with the columns model, cv, mean and clean, in per cent, a line a model.
    out : path, optional
        A folder that gets ``comparison.md``, ``tables/<name>.csv``, ``.md`` and ``.tex``, and ``plots/<name>.svg``.
    any_data : bool
        Take scores of different data sets too: models are named with their data set, and their differences have no
        intervals.
    plots : bool
        Whether plots are drawn.
    reference : str, sequence of str or (float, float), optional
        The point that splits the plot of mean accuracy against its variation in four: models, whose mean it is, or a CV
        and a mean accuracy in per cent (Dai & Berleant 2021 have 2.94 and 88.31, of the three models that were trained
        on clean images). By default the mean of all models.

    Returns
    -------
    Comparison

    Raises
    ------
    ScoreError
        Lists every file that is no scores file, models that are there twice, and scores of other data sets; or no model
        is called as `reference` says.
    """
    entries = gather(scores, any_data=any_data)
    point = reference_point(entries, reference)
    found, unpaired = differences(entries)
    made = tables(entries, point, found)
    notes, files = [*unpaired, *_notes(entries)], list[Path]()
    if reference is not None and point is None:
        notes.insert(0, "The reference point is not used: no model has two-factor scores.")
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
    """Return the notes of all scores, with whose they are where not all have them."""
    of_note: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry.scores.notes:
            of_note.setdefault(note, []).append(entry.label)
    return [note if len(labels) == len(entries) else f"{', '.join(labels)}: {note}" for note, labels in of_note.items()]


def _page(entries: Sequence[Entry], made: Sequence[Table], notes: Sequence[str], plots: Sequence[Path]) -> str:
    """Return all tables and plots as one page in Markdown."""
    own = [e.scores for e in entries if e.scores.digest != PRINTED]
    blocks = ["# " + ", ".join(markdown_text(e.label) for e in entries)]
    blocks += dict.fromkeys(f"Data set: {markdown_text(s.name)}, {s.samples:,} samples, `{s.digest}`" for s in own)
    if notes:
        blocks.append("\n".join(f"* {markdown_text(note)}" for note in notes))
    blocks += [f"## {markdown_text(table.title)}\n\n{table.markdown().rstrip()}" for table in made]
    blocks += [f"![{file.stem.replace('_', ' ')}]({PLOTS}/{file.name})" for file in plots]
    return "\n\n".join(blocks) + "\n"
