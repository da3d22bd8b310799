"""The command `corruptset audit`: report what a folder of corrupted images contains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..quantities import plural
from . import completion
from .options import MACHINE, OUTPUT, SELECTION, SETS, SOURCE, AsJson, Labels, Plugins, Sets
from .output import progress_of, put, put_json
from .records import put_facts, put_rows

if TYPE_CHECKING:
    from ..audits.records import Audit, SetAudit

MOST_NAMED = 6
"""The maximum number of sets that are named before a finding."""


def audit(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A folder with a corrupted dataset, a single .npy array of such a dataset, or a published archive.",
            show_default=False,
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            rich_help_panel=SOURCE,
            autocompletion=completion.sources,
            help="The clean images, such as imagenet:PATH, cifar10:PATH or folder:PATH. Without them, only names, "
            "counts, checksums, encodings and labels are checked.",
        ),
    ] = None,
    labels: Labels = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SETS,
            help="The published benchmark: imagenet-c, imagenet-c-299, tiny-imagenet-c, cifar10-c, cifar100-c, mnist-c "
            "or imagenet-c-bar. By default, it is inferred from the names and the image size.",
        ),
    ] = None,
    sets: Sets = None,
    samples: Annotated[
        int,
        typer.Option(
            metavar="N", min=2, rich_help_panel=SELECTION, help="The number of images per set that are compared."
        ),
    ] = 20,
    frost_textures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=SETS,
            help="The folder with the photographs that the frost sets were made with. If it is given, the pixels of "
            "these sets are compared too.",
        ),
    ] = None,
    plugins: Plugins = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", rich_help_panel=OUTPUT, help="Also write the report as HTML."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, rich_help_panel=MACHINE, help="The number of worker processes."
        ),
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Report what a folder of corrupted images contains, and whether it matches the file names.

    Every set (one corruption at one severity) gets a one-word verdict. Findings explain the effect of each problem on
    scores. The exit code is 0 if every set matches its name and there are no findings, and 1 otherwise.
    """
    with progress_of("audit") as progress:
        from ..audits.audit import audit as run

        result = run(
            path,
            source,
            labels=labels,
            benchmark=benchmark,
            sets=sets,
            samples=samples,
            frost_textures=frost_textures,
            plugins=plugins,
            out=out,
            jobs=jobs,
            progress=progress,
        )
    if as_json:
        put_json({"ok": result.good, **result.as_json()})
    else:
        _put_audit(result, out)
    if not result.good:
        raise typer.Exit(1)


def _put_audit(result: Audit, out: Path | None) -> None:
    """Print the verdicts as a table, followed by the meaning of each verdict and the findings."""
    from ..audits.table import meanings, verdict_table

    put_facts(
        {
            "Benchmark": result.benchmark or "not recognised",
            "Archive": result.archive,
            "Source": result.source or ("none: nothing was compared pixel by pixel" if result.sets else None),
            "Sets": len(result.sets) or None,
            "Report": None if out is None else str(out),
        }
    )
    if result.sets:
        put()
        table = verdict_table(result)
        put_rows(table[0], table[1:])
        put()
        for line in meanings(result):
            put(line)
    for sets, text in _merge_findings(result.sets).items():
        more = f" and {plural(len(sets) - MOST_NAMED, 'more set')}" if len(sets) > MOST_NAMED else ""
        put(f"\n{', '.join(sets[:MOST_NAMED])}{more}:")
        put(f"  {text}")
    for finding in result.findings:
        put(f"\n{finding.text}")


def _merge_findings(sets: Mapping[str, SetAudit]) -> dict[tuple[str, ...], str]:
    """Return a mapping from groups of sets to the findings that they share. Each finding occurs once."""
    by_text = defaultdict[str, list[str]](list)
    for set_id, audited in sets.items():
        for finding in audited.findings:
            by_text[finding.text].append(set_id)
    merged = defaultdict[tuple[str, ...], list[str]](list)
    for text, ids in by_text.items():
        merged[tuple(ids)].append(text)
    return {ids: "\n  ".join(texts) for ids, texts in merged.items()}
