"""`corruptset pairs-sheet` and `corruptset pairs-score`: a page for a small study with people, and what their answers come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from corruptset.cli.options import AsJson, FinishedBuild, Seed, Sets, argument, numbers, option, split_globs
from corruptset.cli.output import progress_of, put, put_json, put_notes, put_table
from corruptset.quantities import size

if TYPE_CHECKING:
    from corruptset.manifests.reader import DataSet

    from .study_records import Gap, PeopleProfile, PeopleScores, Rate


def pairs_sheet(
    directory: FinishedBuild,
    out: Annotated[Path, option("--out -o FILE", "The page (.html); its key goes beside it.")] = Path("pairs.html"),
    n: Annotated[int, option("--n N", "Pictures that each person sees: pairs, or source images.", min=1)] = 40,
    seed: Seed = 0,
    predictions: Annotated[
        Path | None,
        option(
            "--predictions PREDICTIONS",
            "Of regions: what a model made of them; pairs are those of which it has one right. Without it they are drawn from all.",
        ),
    ] = None,
    scores: Annotated[
        Path | None, option("--scores SCORES", "Of gradual degradations: a model's scores file, whose profile then stands beside people's.")
    ] = None,
    sets: Sets = None,
    change: Annotated[Literal["both", "shift", "shrink"], option("--change", "Of regions: which partners a region may have.")] = "both",
    sizes: Annotated[list[str] | None, option("--sizes GROUP", "Of regions: only these groups, such as p40 or s16.")] = None,
    levels: Annotated[str | None, option("--levels LIST", "Of gradual degradations: only these, '0,5,10' or '0-10'; 0 is clean.")] = None,
    correct: Annotated[Literal["top1", "top5"], option("--correct", "When a model has an image right.")] = "top1",
    categories: Annotated[
        str | None,
        option(
            "--categories FILE",
            "The answers: which classes go into which category (.toml); fragile-imagenet comes with corruptset. "
            "By default the classes, where there are at most ten.",
        ),
    ] = None,
    text: Annotated[Path | None, option("--text FILE", "What people read: title, paragraphs, and after a line --- the end.")] = None,
    enlarge: Annotated[int | None, option("--enlarge N", "Show each pixel as N by N; by default as many as fit into 256.", min=1)] = None,
    smooth: Annotated[bool, option("--smooth", "Let the browser smooth enlarged pictures, in place of square pixels.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that asks people what they see: fragile pairs of regions, or gradual degradations, a level per image.

    The page is one file that works without a network. Each person belongs to group A or B, sees one of every pair, and saves a file of
    answers, which pairs-score reads with the key.
    """
    with progress_of("pairs-sheet") as progress:
        from corruptset.manifests.reader import open as open_data_set

        from .sheet import pairs_sheet as run

        data = open_data_set(directory)
        sheet = run(
            data,
            out,
            n=n,
            seed=seed,
            predictions=predictions,
            scores=scores,
            sets=split_globs(sets),
            change=change,
            sizes=split_globs(sizes),
            levels=numbers(levels, "--levels"),
            top5=correct == "top5",
            categories=answer_categories(data, categories),
            text=text,
            enlargement=enlarge,
            smooth=smooth,
            progress=progress,
        )
    if as_json:
        key = sheet.key
        shown = {"n": n, "study": key.study, "kind": key.kind, "model": key.model, "categories": key.categories}
        return put_json({"ok": True, "page": str(sheet.page), "key": str(sheet.key_file), "bytes": sheet.bytes, **shown})
    what = "pairs" if sheet.key.kind == "pairs" else "images, each at one level"
    of_model = f" of which {sheet.key.model} has one right" if sheet.key.model and sheet.key.kind == "pairs" else ""
    put(f"{n} {what}{of_model}; {len(sheet.key.categories)} answers")
    put(f"Study:     {sheet.key.study}")
    put(f"Page:      {sheet.page} ({size(sheet.bytes)}), for people of group A {sheet.page.name}#A, of group B {sheet.page.name}#B")
    put(f"Key:       {sheet.key_file} (keep it to yourself: it has the right answers)")


def answer_categories(data: DataSet, given: str | None) -> Mapping[str, str] | None:
    """Return class -> category as a file says, or that which the data set's images were selected by, if it comes with corruptset."""
    from corruptset.generate.sources.super_categories import SHIPPED, read_super_categories

    if given is not None:
        return read_super_categories(given).category_of
    selected = data.manifest.selection.get("per_super_category")
    recorded = selected.get("sha256") if isinstance(selected, dict) else None
    shipped = [read_super_categories(name) for name in SHIPPED] if recorded is not None else []
    return next((one.category_of for one in shipped if one.record["sha256"] == recorded), None)


def pairs_score(
    key: Annotated[Path, argument("KEY", "The key that pairs-sheet wrote beside its page, or the folder that it lies in.")],
    answers: Annotated[list[Path], argument("ANSWERS...", "The files that people's browsers saved, or folders of them.")],
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
    people = sum(scored.people.values())
    groups = ", ".join(f"{count} of group {group}" for group, count in scored.people.items())
    put(f"{people} {'person' if people == 1 else 'people'} ({groups}), {scored.answers} answers; chance is {scored.chance:.0%}\n")
    if scored.members:
        of_model = scored.model is not None
        names = {"right": f"{scored.model} right", "wrong": f"{scored.model} wrong"} if of_model else {}
        columns = ["member", "answers", "accuracy", "95 % interval", "cannot tell", "median time"]
        rows = ([names.get(name, name), *_cells(rate)] for name, rate in scored.members.items())
        put_table(columns, rows, right=["answers", "accuracy", "cannot tell", "median time"])
    if scored.gap is not None:
        gaps = {"people, all pairs": scored.gap, **(scored.gaps if len(scored.gaps) > 1 else {})}
        if scored.confidence_gap is not None:
            gaps[f"{scored.model}, its probability of the true class"] = scored.confidence_gap
        put_table(
            ["gap", "pairs", "points", "95 % interval"], ([name, *_gap_cells(gap)] for name, gap in gaps.items()), right=["pairs", "points"]
        )
    for name, profile in _profiles(scored).items():
        _put_profile(name, profile, scored)
    if scored.refused:
        put_table(["does not count", ""], ([one.file, one.reason] for one in scored.refused))
    put_notes(scored.notes)
    put(f"Intervals: resamples of {scored.clusters}")
    put(f"Study:     {scored.study}")


def _profiles(scored: PeopleScores) -> dict[str, PeopleProfile]:
    """Return what there is to print: of one degradation its own profile, of several their mean."""
    if scored.mean_profile is None:
        return {}
    return scored.profiles if len(scored.profiles) == 1 else {f"{len(scored.profiles)} degradations": scored.mean_profile}


def _put_profile(name: str, profile: PeopleProfile, scored: PeopleScores) -> None:
    columns = [f"{name}: level", "answers", "accuracy", "95 % interval", "cannot tell", "median time"]
    model = profile.model_accuracy
    rows = [[str(level), *_cells(rate)] for level, rate in zip(profile.levels, profile.rates, strict=True)]
    if model is not None:
        columns.append(str(scored.model))
        rows = [[*row, "-" if share is None else f"{share:.1%}"] for row, share in zip(rows, model, strict=True)]
    put_table(columns, rows, right=[c for c in columns if c != "95 % interval"])
    columns = ["first below", "people", "95 % interval"] + ([str(scored.model)] if profile.model_first_below is not None else [])
    below = []
    for threshold, found in profile.first_below.items():
        row = [f"{float(threshold):.0%}", _level(found.level), f"{_level(found.interval[0])} to {_level(found.interval[1])}"]
        below.append(row + ([_level(profile.model_first_below[threshold])] if profile.model_first_below is not None else []))
    put_table(columns, below)


def _level(level: int | None) -> str:
    return "never" if level is None else f"level {level}"


def _cells(rate: Rate) -> list[str]:
    if rate.accuracy is None or rate.cannot_tell is None or rate.median_ms is None:
        return [str(rate.answers), "-", "", "-", "-"]
    between = "" if rate.interval is None else f"{rate.interval[0]:.1%} to {rate.interval[1]:.1%}"
    return [str(rate.answers), f"{rate.accuracy:.1%}", between, f"{rate.cannot_tell:.1%}", f"{rate.median_ms / 1000:.1f} s"]


def _gap_cells(gap: Gap) -> list[str]:
    if gap.difference is None:
        return [str(gap.pairs), "-", ""]
    between = "" if gap.interval is None else f"{100 * gap.interval[0]:+.1f} to {100 * gap.interval[1]:+.1f}"
    return [str(gap.pairs), f"{100 * gap.difference:+.1f}", between]
