"""Write the verdicts of an audit as a table. Rows are corruptions, and columns are severities."""

from __future__ import annotations

from .archives import BENCHMARKS
from .messages import verdict_words
from .names import parsed_id
from .records import GOOD, Audit, Content, SetAudit


def verdict_table(result: Audit) -> list[list[str]]:
    """Return the table of verdicts as rows of cells. The first row contains the column titles."""
    names, columns = dict[str, dict[str, str]](), dict[str, None]()
    for set_id, audited in result.sets.items():
        _, severity = parsed_id(set_id)
        name = set_id if severity is None else set_id.rstrip("0123456789").rstrip("/-_ ")
        column = "verdict" if severity is None else str(severity)
        names.setdefault(name, {})[column] = cell(audited)
        columns[column] = None
    titles = sorted(columns)
    return [["set", *titles], *([name, *(cells.get(t, "") for t in titles)] for name, cells in names.items())]


def cell(audited: SetAudit) -> str:
    """Return the verdict on a set. A star marks findings, as in ``same_pixels*``."""
    return audited.verdict + "*" * bool(audited.findings)


def sentence(set_id: str, audited: SetAudit) -> str:
    """Return how the contents of a set differ from its name, and what to do about it."""
    if audited.verdict == "other_order":
        found = "" if audited.found is None else f" The images are {_content(audited.found)}."
        return (
            f"{set_id} has the images of the source in a different order, or with exchanged names.{found} Sort the "
            "images as the source does, or copy the set again."
        )
    if audited.verdict == "other_images":
        return (
            f"{set_id} was not made from the images with the same names in this source. Pass the source that it was "
            "made from, or copy the set again."
        )
    if audited.verdict == "clean":
        return f"{set_id} is not corrupted. Copy the set again."
    if audited.verdict == "inconclusive":
        candidates = ", or ".join(_content(c) for c in audited.candidates)
        contents = f"It may contain {candidates}." if candidates else "It matches no corruption that corruptset knows."
        return f"The contents of {set_id} cannot be determined with certainty. {contents} {_advice(audited)}"
    if audited.found is not None:
        return f"{set_id} contains {_content(audited.found)}. Rename the set, or copy it again."
    if audited.candidates:
        contents = ", ".join(_content(c) for c in audited.candidates)
        return f"{set_id} contains {contents}. Rename the set, or copy it again."
    return f"{set_id} was not compared. Check its findings."


def _advice(audited: SetAudit) -> str:
    """Return what to do about a set whose contents are not known with certainty."""
    if audited.checked < audited.images:
        return "Compare more images with --samples (in Python, samples=N)."
    return "All its images were compared, so get a copy whose origin you know."


def _content(content: Content) -> str:
    if content.calibration == "imagecorruptions":
        return (
            f"{content.corruption} at severity {content.severity} as the package imagecorruptions defines it, which is "
            "not ImageNet-C's definition"
        )
    return content.words


def meanings(result: Audit) -> list[str]:
    """Return a line for each verdict in a table, and a sentence for each set that does not match its name."""
    encodings = [audited.encoding for audited in result.sets.values() if audited.verdict == "same_pixels"]
    compressed = any(encoding.startswith("JPEG") for encoding in encodings)
    words = verdict_words(BENCHMARKS.get(result.benchmark or ""), compressed=compressed)
    present = dict.fromkeys(audited.verdict for audited in result.sets.values())
    lines = [f"{verdict}: {words[verdict]}" for verdict in words if verdict in present]
    if any(audited.findings for audited in result.sets.values()):
        lines.append("*: with findings, see below")
    wrong = {id: one for id, one in result.sets.items() if one.verdict not in (*GOOD, "not_checked")}
    return lines + [""] * bool(wrong) + [sentence(set_id, audited) for set_id, audited in wrong.items()]
