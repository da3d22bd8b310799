"""Write the texts of findings. They state what was found, how it affects scores, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import first_few
from .archives import BAR, PublishedBenchmark
from .found_set import FoundSet
from .records import Finding


def preprocessing_finding(found: str, published: str) -> Finding:
    """Return a finding that the clean images were prepared differently from the published ones."""
    text = (
        f"The source images were {found}, but the published images were {published}. Objects have a different size or "
        "shape, so scores differ from published ones. Prepare the images as published."
    )
    return Finding("other_preprocessing", text)


BGR = Finding(
    "other_preprocessing",
    "Red and blue are exchanged, so scores on these images are too low. OpenCV reads images as BGR. Convert them to "
    "RGB before you store or classify them.",
)
GREY = Finding(
    "other_preprocessing",
    "The images are grey, but the source is in colour. Scores on these images differ from published ones.",
)


def size_finding(size: tuple[int, int], expected: tuple[int, int]) -> Finding:
    """Return a finding that the images of a set do not have the expected size."""
    text = (
        f"The images have {size[1]}x{size[0]} pixels, but {expected[1]}x{expected[0]} are expected, so they were not "
        "compared. They were resized, or they belong to a different benchmark. Copy the set again from its origin."
    )
    return Finding("resized", text)


def count_finding(count: int, expected: int, what: str) -> Finding | None:
    """Return a finding about an unexpected number of images in a set, or None if the number is as expected."""
    if count == expected:
        return None
    if count < expected:
        text = (
            f"The set has {count:,} images, but {what} has {expected:,}. A score on it covers only some of the images. "
            "Compare it only with scores on the same images."
        )
        return Finding("missing_images", text)
    times = count / expected
    severities = " Perhaps all five severities are in one set." if times == 5 else ""
    text = (
        f"The set has {count:,} images, but {what} has {expected:,}.{severities} Find out which images are surplus "
        "before you use a score on this set."
    )
    return Finding("extra_images", text)


def strangers_finding(names: Sequence[str], count: int) -> Finding:
    """Return a finding that some images have no image of the same name in the source."""
    text = (
        f"{count:,} images have no source image with the same name: {first_few(names, 3)}. They were not compared. If "
        "the source is complete, they do not belong to the set."
    )
    return Finding("extra_images", text)


def unreadable_finding(reasons: Sequence[str], found: FoundSet) -> Finding:
    """Return a finding that some images of a set cannot be read."""
    advice = "Copy the set again from its origin." if found.recorded is None else found.recorded.repair
    text = f"{len(reasons)} of the inspected images cannot be read: {reasons[0]}. {advice}"
    return Finding("unreadable_images", text)


def not_computable_finding(corruption: str) -> Finding:
    """Return a finding that a set cannot be compared, because audits cannot compute its corruption."""
    text = f"An audit cannot compute {corruption}, so the pixels of this set were not compared with expected ones."
    text += " The add-on package corruptset-cbar computes it. Install it and audit again." if corruption in BAR else ""
    return Finding("unknown_set", text)


def labels_finding(wrong: int, checked: int, classes: int, shift: int | None) -> Finding:
    """Return a finding that labels differ from the labels of the source."""
    share = wrong / checked
    moved = "" if shift is None else f" All of them are shifted by {shift:+d}."
    text = (
        f"The labels of {classes} class{'es' * (classes != 1)} differ from those of the source.{moved} Top-1 accuracy "
        f"is wrong for {share:.0%} of the images. Take the labels from the source."
    )
    return Finding("other_labels", text)


def verdict_words(benchmark: PublishedBenchmark | None, *, compressed: bool = False) -> dict[str, str]:
    """Return the meaning of each verdict, for the notes below a table.

    `compressed` is True if the table has a set of JPEG files with the verdict ``same_pixels``.
    """
    name = "the benchmark" if benchmark is None else benchmark.title
    return {
        "identical": "the file has its published checksum",
        "same_pixels": "the images are identical to those that this corruption makes from the source"
        + ", apart from JPEG compression" * compressed,
        "same_parameters": "the images have their own random draws, with the parameters that the name promises",
        "other_severity": "another severity of this corruption",
        "other_calibration": f"the right corruption and severity, but not with the parameters of {name}",
        "other_corruption": "another corruption",
        "clean": "not corrupted",
        "other_images": "not made from the images of this source",
        "other_order": "the right images in a different order, or with exchanged names",
        "inconclusive": "the statistics do not show which corruption it is; the candidates are listed",
        "not_checked": "there is nothing to compare with",
    }
