"""The commands of a small study with people: its page, and what their answers come to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from corruptset.cli.options import (
    AsJson,
    FinishedBuild,
    Seed,
    Sets,
    argument,
    declared,
    numbers,
    option,
    split_globs,
    with_options,
)
from corruptset.cli.output import progress_of, put, put_json, put_notes
from corruptset.cli.records import put_table
from corruptset.quantities import size

if TYPE_CHECKING:
    from corruptset.manifests.reader import DataSet

    from .study_records import PeopleScores, Rate

BETWEEN = "95 % interval"
Column = tuple[str, list[str]]
"""Its name, and its cells."""


class _Sheet:
    """The options of `pairs_sheet`."""

    out: Path = option("--out -o FILE", "The page (.html); its key goes beside it.", "pairs.html")
    n: int = option("--n N", "Pictures that each person sees: pairs, or source images.", 40, min=1)
    seed: Seed = 0
    predictions: Path | None = option(
        "--predictions PREDICTIONS",
        "Of regions: what a model made of them; pairs are those of which it has one right. Without it they are "
        "drawn from all.",
        None,
    )
    scores: Path | None = option(
        "--scores SCORES",
        "Of gradual degradations: a model's scores file, whose profile then stands beside people's.",
        None,
    )
    sets: Sets = None
    change: Literal["both", "shift", "shrink"] = option(
        "--change", "Of regions: which partners a region may have.", "both"
    )
    sizes: list[str] | None = option(
        "--sizes GROUP", "Of regions: only these groups, such as p40 or s16.", None, callback=split_globs
    )
    levels: str | None = option(
        "--levels LIST", "Of gradual degradations: only these, '0,5,10' or '0-10'; 0 is clean.", None, callback=numbers
    )
    correct: Literal["top1", "top5"] = option("--correct", "When a model has an image right.", "top1")
    categories: str | None = option(
        "--categories FILE",
        "The answers: which classes go into which category (.toml); fragile-imagenet comes with corruptset. "
        "By default the classes, where there are at most ten.",
        None,
    )
    text: Path | None = option(
        "--text FILE", "What people read: title, paragraphs, and after a line --- the end.", None
    )
    enlargement: int | None = option(
        "--enlarge N", "Show each pixel as N by N; by default as many as fit into 256.", None, min=1
    )
    smooth: bool = option("--smooth", "Let the browser smooth enlarged pictures, in place of square pixels.", False)


@with_options(declared(_Sheet))
def pairs_sheet(directory: FinishedBuild, as_json: AsJson = False, **given: Any) -> None:
    """Write a page that asks people what they see, and the key with the right answers.

    It shows fragile pairs of regions, or gradual degradations, a level per image. The page is one file that works
    without a network. Each person belongs to group A or B, sees one of every pair, and saves a file of answers, which
    pairs-score reads with the key.
    """
    with progress_of("pairs-sheet") as progress:
        from corruptset.manifests.reader import open as open_data_set

        from .sheet import pairs_sheet as run

        data = open_data_set(directory)
        given["top5"] = given.pop("correct") == "top5"
        given["categories"] = answer_categories(data, given["categories"])
        sheet = run(data, **given, progress=progress)
    key, page, n = sheet.key, sheet.page, given["n"]
    if as_json:
        shown = key.model_dump(include={"study", "kind", "model", "categories"})
        files = {"page": str(page), "key": str(sheet.key_file), "bytes": sheet.bytes}
        return put_json({"ok": True, **files, "n": n, **shown})
    what = "pairs" if key.model is None else f"pairs of which {key.model} has one right"
    put(f"{n} {'images, each at one level' if key.kind == 'levels' else what}; {len(key.categories)} answers")
    put(f"Study:     {key.study}")
    put(f"Page:      {page} ({size(sheet.bytes)}), for people of group A {page.name}#A, of group B {page.name}#B")
    put(f"Key:       {sheet.key_file} (keep it to yourself: it has the right answers)")


def answer_categories(data: DataSet, given: str | None) -> Mapping[str, str] | None:
    """Return class -> category as a file says, or that which the data set's images were selected by, if it comes with
    corruptset.
    """
    from corruptset.generate.sources.super_categories import SHIPPED, read_super_categories

    selected = data.manifest.selection.get("per_super_category")
    known = map(read_super_categories, SHIPPED if given is None else [given])
    return next((one.category_of for one in known if given is not None or one.record == selected), None)


def pairs_score(
    key: Annotated[
        Path, argument("KEY", "The key that pairs-sheet wrote beside its page, or the folder that it lies in.")
    ],
    answers: Annotated[
        list[Path], argument("ANSWERS...", "The files that people's browsers saved, or folders of them.")
    ],
    unfinished: Annotated[bool, option("--unfinished", "Let the answers of people who stopped count too.")] = False,
    seed: Annotated[int, option("--seed N", "Of the resamples that intervals come from.", min=0)] = 0,
    as_json: AsJson = False,
) -> None:
    """Score the answers of people: the gap between the two members of pairs, or accuracy against level.

    Intervals are over resamples of both people and images. Files that do not count are listed, with the reason.
    """
    with progress_of("pairs-score"):
        from .people_score import pairs_score as run

        scored = run(key, answers, unfinished=unfinished, seed=seed)
    if as_json:
        return put_json(scored.as_json())
    put_people_scores(scored)


def put_people_scores(scored: PeopleScores) -> None:
    """Print what people's answers come to."""
    people, model = sum(scored.people.values()), str(scored.model)
    groups = ", ".join(f"{count} of group {group}" for group, count in scored.people.items())
    put(
        f"{people} {'person' if people == 1 else 'people'} ({groups}), {scored.answers} answers; chance is "
        f"{scored.chance:.0%}\n"
    )
    if scored.members:
        names = [name if scored.model is None else f"{model} {name}" for name in scored.members]
        _put_columns(("member", names), *_rates(scored.members.values()))
    if scored.gap is not None:
        gaps = {"people, all pairs": scored.gap} | (scored.gaps if len(scored.gaps) > 1 else {})
        if scored.confidence_gap is not None:
            gaps[f"{model}, its probability of the true class"] = scored.confidence_gap
        intervals = [_text("{:+.1%} to {:+.1%}", *gap.interval or [None], absent="") for gap in gaps.values()]
        _put_columns(
            ("gap", [*gaps]),
            ("pairs", [str(gap.pairs) for gap in gaps.values()]),
            ("points", [_text("{:+.1%}", gap.difference).strip("%") for gap in gaps.values()]),
            (BETWEEN, [text.replace("%", "") for text in intervals]),
        )
    if (profile := scored.mean_profile) is not None:
        # of one degradation its own is the mean
        name = next(iter(scored.profiles)) if len(scored.profiles) == 1 else f"{len(scored.profiles)} degradations"
        columns = [(f"{name}: level", [str(level) for level in profile.levels]), *_rates(profile.rates)]
        below = profile.first_below
        firsts = [
            ("first below", [f"{float(threshold):.0%}" for threshold in below]),
            ("people", [_level(found.level) for found in below.values()]),
            (BETWEEN, [" to ".join(map(_level, found.interval)) for found in below.values()]),
        ]
        if profile.model_accuracy is not None and profile.model_first_below is not None:
            columns.append((model, [_text("{:.1%}", share) for share in profile.model_accuracy]))
            firsts.append((model, [_level(profile.model_first_below[threshold]) for threshold in below]))
        _put_columns(*columns)
        put_table([name for name, _ in firsts], zip(*(cells for _, cells in firsts), strict=True))
    if scored.refused:
        put_table(["does not count", ""], ([one.file, one.reason] for one in scored.refused))
    put_notes(scored.notes)
    put(f"Intervals: resamples of {scored.clusters}")
    put(f"Study:     {scored.study}")


def _put_columns(*columns: Column) -> None:
    """Print columns, those of numbers aligned to the right."""
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
