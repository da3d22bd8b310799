"""`corruptset pairs-sheet DIR`: a page for a small study with people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ..quantities import size
from .options import AsJson, FinishedBuild, Seed, Sets, numbers, option, split_globs
from .output import progress_of, put, put_json

if TYPE_CHECKING:
    from ..manifests.reader import DataSet


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
        from ..manifests.reader import open as open_data_set
        from ..scores.pairs.sheet import pairs_sheet as run

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
    from ..generate.sources.super_categories import SHIPPED, read_super_categories

    if given is not None:
        return read_super_categories(given).category_of
    selected = data.manifest.selection.get("per_super_category")
    recorded = selected.get("sha256") if isinstance(selected, dict) else None
    shipped = [read_super_categories(name) for name in SHIPPED] if recorded is not None else []
    return next((one.category_of for one in shipped if one.record["sha256"] == recorded), None)
