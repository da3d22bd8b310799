"""Define the commands `pairs-sheet` and `pairs-score` for small studies with human participants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from corruptset.cli.options import OUTPUT, AsJson, FinishedBuild, Seed, Sets, numbers, split_list
from corruptset.cli.output import progress_of, put, put_json, put_notes
from corruptset.cli.records import put_table
from corruptset.quantities import size

if TYPE_CHECKING:
    from corruptset.manifests.reader import Dataset

    from .study_records import PeopleScores, Rate

BETWEEN = "95 % interval"
Column = tuple[str, list[str]]
"""The heading and the cells of a table column."""


def pairs_sheet(
    directory: FinishedBuild,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="The page to write (.html). The key is written next to it.",
        ),
    ] = Path("pairs.html"),
    n: Annotated[
        int,
        typer.Option(
            "--n", metavar="N", min=1, help="Number of images that each participant sees (pairs, or source images)."
        ),
    ] = 40,
    seed: Seed = 0,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="PREDICTIONS",
            help="For regions: predictions of a model. Only pairs with exactly one region that the model classifies "
            "correctly are shown. Without predictions, pairs are drawn from all regions.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            metavar="SCORES",
            help="For gradual degradations: a model's scores file, to report its accuracy next to that of the "
            "participants.",
        ),
    ] = None,
    sets: Sets = None,
    change: Annotated[
        Literal["both", "shift", "shrink"],
        typer.Option(help="For regions: how the second region of a pair differs from the first."),
    ] = "both",
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP",
            callback=split_list,
            help="For regions: use only these groups of sizes, such as p40 or s16.",
        ),
    ] = None,
    levels: Annotated[
        Sequence[int] | None,
        typer.Option(
            metavar="LIST",
            parser=numbers,
            help="For gradual degradations: show only these levels, such as '0,5,10' or '0-10'. Level 0 is the clean "
            "image.",
        ),
    ] = None,
    correct: Annotated[
        Literal["top1", "top5"],
        typer.Option(help="Count a prediction as correct if the true class has rank 1, or is in the top 5."),
    ] = "top1",
    categories: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File (.toml) that groups classes into categories, which are the possible answers. fragile-imagenet "
            "is included in corruptset. By default, the classes are the answers, if there are at most ten.",
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instructions for participants: a title, paragraphs, a line ---, and the closing text.",
        ),
    ] = None,
    enlargement: Annotated[
        int | None,
        typer.Option(
            "--enlarge",
            metavar="N",
            min=1,
            help="Show each pixel as N by N pixels. By default, images are enlarged to fit into 256 pixels.",
        ),
    ] = None,
    smooth: Annotated[
        bool,
        typer.Option("--smooth", help="Let the browser smooth enlarged images instead of showing square pixels."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that asks participants what they see, and a key with the right answers.

    The page shows either pairs of image regions that differ by a small shift or shrink, or images at increasing levels
    of a gradual degradation. It is a single file that works without a network. Each participant belongs to group A or
    B, sees one member of every pair, and saves a file of answers. Run pairs-score with the key to score these files.
    """
    with progress_of("pairs-sheet") as progress:
        from corruptset.manifests.reader import Dataset

        from .sheet import pairs_sheet as run

        data = Dataset(directory)
        sheet = run(
            data,
            out=out,
            n=n,
            seed=seed,
            predictions=predictions,
            scores=scores,
            sets=sets,
            change=change,
            sizes=sizes,
            levels=levels,
            top5=correct == "top5",
            categories=answer_categories(data, categories),
            text=text,
            enlargement=enlargement,
            smooth=smooth,
            progress=progress,
        )
    key, page = sheet.key, sheet.page
    if as_json:
        shown = key.model_dump(include={"study", "kind", "model", "categories"})
        files = {"page": str(page), "key": str(sheet.key_file), "bytes": sheet.bytes}
        return put_json({"ok": True, **files, "n": n, **shown})
    pairs = "pairs" if key.model is None else f"pairs with one region that {key.model} classifies correctly"
    put(f"{n} {'images, each at one level' if key.kind == 'levels' else pairs}, {len(key.categories)} possible answers")
    put(f"Study:     {key.study}")
    put(f"Page:      {page} ({size(sheet.bytes)}). Send {page.name}#A to group A and {page.name}#B to group B.")
    put(f"Key:       {sheet.key_file}. Keep it private, because it contains the right answers.")


def answer_categories(data: Dataset, given: str | None) -> Mapping[str, str] | None:
    """Return a mapping from each class to its category, or None.

    The categories come from the file `given`. Without a file, they are the categories by which the images of the
    dataset were selected, if these are included in corruptset.
    """
    from corruptset.generate.sources.super_categories import SHIPPED, read_super_categories

    selected = data.manifest.selection.get("per_super_category")
    known = map(read_super_categories, SHIPPED if given is None else [given])
    return next((one.category_of for one in known if given is not None or one.record == selected), None)


def pairs_score(
    key: Annotated[
        Path,
        typer.Argument(
            metavar="KEY", help="The key that pairs-sheet wrote next to its page, or the folder that contains it."
        ),
    ],
    answers: Annotated[
        list[Path],
        typer.Argument(
            metavar="ANSWERS...", help="Files of answers that participants saved, or folders of such files."
        ),
    ],
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Include the answers of participants who stopped early.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Score the answers that participants gave on a page of pairs-sheet.

    For pairs, the scores contain the gap in accuracy between the two members. For gradual degradations, they contain
    the accuracy at each level. Confidence intervals come from a bootstrap over participants and images. Excluded files
    are listed with the reason.
    """
    with progress_of("pairs-score"):
        from .people_score import pairs_score as run

        scored = run(key, answers, unfinished=unfinished, seed=seed)
    if as_json:
        return put_json(scored.as_json())
    put_people_scores(scored)


def put_people_scores(scored: PeopleScores) -> None:
    """Print the scores of a study as tables."""
    count, model = sum(scored.people.values()), str(scored.model)
    groups = ", ".join(f"{members} in group {group}" for group, members in scored.people.items())
    put(
        f"{count} participant{'' if count == 1 else 's'} ({groups}), {scored.answers} answers, chance level "
        f"{scored.chance:.0%}\n"
    )
    if scored.members:
        names = [name if scored.model is None else f"{model} {name}" for name in scored.members]
        _put_columns(("member", names), *_rates(scored.members.values()))
    if scored.gap is not None:
        gaps = {"participants, all pairs": scored.gap} | (scored.gaps if len(scored.gaps) > 1 else {})
        if scored.confidence_gap is not None:
            gaps[f"{model}, probability of the true class"] = scored.confidence_gap
        intervals = [_text("{:+.1%} to {:+.1%}", *gap.interval or [None], absent="") for gap in gaps.values()]
        _put_columns(
            ("gap", [*gaps]),
            ("pairs", [str(gap.pairs) for gap in gaps.values()]),
            ("points", [_text("{:+.1%}", gap.difference).strip("%") for gap in gaps.values()]),
            (BETWEEN, [text.replace("%", "") for text in intervals]),
        )
    if (profile := scored.mean_profile) is not None:
        # With a single degradation, the mean profile is the profile of this degradation, so its name is printed.
        name = next(iter(scored.profiles)) if len(scored.profiles) == 1 else f"{len(scored.profiles)} degradations"
        columns = [(f"{name}: level", [str(level) for level in profile.levels]), *_rates(profile.rates)]
        below = profile.first_below
        firsts = [
            ("first below", [f"{float(threshold):.0%}" for threshold in below]),
            ("participants", [_level(first.level) for first in below.values()]),
            (BETWEEN, [" to ".join(map(_level, first.interval)) for first in below.values()]),
        ]
        if profile.model_accuracy is not None and profile.model_first_below is not None:
            columns.append((model, [_text("{:.1%}", share) for share in profile.model_accuracy]))
            firsts.append((model, [_level(profile.model_first_below[threshold]) for threshold in below]))
        _put_columns(*columns)
        put_table([name for name, _ in firsts], zip(*(cells for _, cells in firsts), strict=True))
    if scored.refused:
        put_table(["excluded file", "reason"], ([refusal.file, refusal.reason] for refusal in scored.refused))
    put_notes(scored.notes)
    put(f"Intervals: bootstrap of {scored.clusters}")
    put(f"Study:     {scored.study}")


def _put_columns(*columns: Column) -> None:
    """Print a table that is given as columns. Numbers are aligned to the right."""
    names, cells = zip(*columns, strict=True)
    put_table(names, zip(*cells, strict=True), right=set(names) - {"member", "gap", BETWEEN})


def _rates(rates: Collection[Rate]) -> list[Column]:
    return [
        ("answers", [str(rate.answers) for rate in rates]),
        ("accuracy", [_text("{:.1%}", rate.accuracy) for rate in rates]),
        (BETWEEN, [_text("{:.1%} to {:.1%}", *rate.interval or [None], absent="") for rate in rates]),
        ("cannot tell", [_text("{:.1%}", rate.cannot_tell) for rate in rates]),
        ("median time", [_text("{:.1f} s", rate.median_ms and rate.median_ms / 1000) for rate in rates]),
    ]


def _level(level: int | None) -> str:
    return _text("level {}", level, absent="never")


def _text(form: str, *values: float | None, absent: str = "-") -> str:
    return absent if None in values else form.format(*values)
