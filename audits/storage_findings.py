"""Report files in a set whose encoding differs from the expected one."""

from __future__ import annotations

from .archives import PublishedBenchmark
from .encodings import Encodings
from .found_set import Recorded
from .records import Finding
from .storage import Resized, Steps, StoredAs, steps_of

LOSSLESS = ("array", "png", "bmp", "tiff", "ppm")
_EFFECT = "A different compression changes the strength of noise and fine detail, so scores differ from"


def storage_findings(
    encodings: Encodings,
    stored: StoredAs,
    benchmark: PublishedBenchmark | None,
    steps: Steps | None,
    *,
    loader: bool,
    recorded: Recorded | None = None,
) -> list[Finding]:
    """Return findings on how a set is stored.

    Parameters
    ----------
    encodings : Encodings
        The encodings of the inspected files of the set.
    stored : StoredAs
        The most frequent encoding of the compared images.
    benchmark : PublishedBenchmark or None
        The benchmark whose published encoding is expected.
    steps : tuple of steps, optional
        The storage steps after the corruption, or None if they are unknown.
    loader : bool
        Whether the images come from the user's loader, which has already decoded them.
    recorded : Recorded, optional
        For a dataset that corruptset built, what its manifest states about the files.
    """
    out, usual = list[Finding](), set(encodings.counts)
    if steps is not None and any(isinstance(step, Resized) for step in steps):
        text = (
            "The stored images were resized and cropped once more. Every image is enlarged by 14 % and smoothed, so "
            "scores differ from published ones. Read the files without resizing them."
        )
        out.append(Finding("resized", text))
    if recorded is not None:
        changed = {e for e in usual if all(_differ(e, expected) for expected in recorded.encodings)}
        if changed:
            text = (
                f"{encodings.words(changed)}, but the manifest states {recorded.encodings[0].words}. {_EFFECT} those "
                f"on the original files. {recorded.repair}"
            )
            out.append(Finding("reencoded", text))
        usual -= changed
    if benchmark is None or (recorded is not None and not recorded.published):
        return out
    different = {e for e in usual if _differ(e, benchmark.stored)}
    lossless = {e for e in different if e.format in LOSSLESS}
    if lossy := different - lossless:
        out.append(_lossy(encodings.words(lossy), benchmark, built=recorded is not None))
    if lossless and benchmark.stored.step is not None:
        out += _lossless(encodings.words(lossless), benchmark, steps if stored in lossless else None, stored, loader)
    return out


def _differ(found: StoredAs, expected: StoredAs) -> bool:
    """Return whether an encoding differs from the expected one. A different finding reports grey images."""
    grey = found.subsampling == "grey" and found.quality == expected.quality
    return found != expected and not grey


def _lossy(words: str, benchmark: PublishedBenchmark, *, built: bool) -> Finding:
    raw = benchmark.stored.step is None
    published = "raw pixels" if raw else benchmark.stored.words
    effect = "Compression changes every image, so scores differ from" if raw else _EFFECT
    advice = f"Use the published {'arrays' if raw else 'files'}."
    if built:
        advice = "Build the dataset with the encoding of the recipe."
    text = f"{words}, but {benchmark.title} was published as {published}. {effect} published ones. {advice}"
    return Finding("reencoded", text)


def _lossless(
    words: str, benchmark: PublishedBenchmark, steps: Steps | None, stored: StoredAs, loader: bool
) -> list[Finding]:
    """Return a finding on lossless files of a benchmark that was published as JPEG, unless a loader decoded them."""
    published = benchmark.stored
    if steps is not None and published.step in steps_of(steps):
        if loader or stored.format == "array":
            return []
        text = f"{words}. They are copies of the decoded {published.words} images, so scores are not affected."
        return [Finding("reencoded", text)]
    if steps is None and loader:
        return []
    sure = "never" if steps is not None else "perhaps never"
    text = (
        f"{words}, but {benchmark.title} was published as {published.words}, and these images were {sure} stored in "
        "that form. JPEG compression smooths noise, so scores on these images differ from published ones, and "
        "scores on noise are mostly lower. Store the images as published before you compare scores."
    )
    return [Finding("not_encoded", text)]


def second_storage_finding(twice: int, compared: int, stored: StoredAs, recorded: Recorded | None) -> Finding:
    """Return a finding that some images were decoded and stored a second time with the same encoding."""
    advice = "Use the published files." if recorded is None else recorded.repair
    share = f"All {compared} compared images" if twice == compared else f"At least {twice} of the {compared} images"
    text = (
        f"{share} were decoded and stored as {stored.words} a second time. This "
        f"changes pixels by about one grey level, so scores can differ slightly. {advice}"
    )
    return Finding("reencoded", text)
