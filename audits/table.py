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
    """Return a sentence that says how the contents of a set differ from its name."""
    if audited.verdict == "other_order":
        found = "" if audited.found is None else f" The images are {_content(audited.found)}."
        return f"{set_id} has the images of the source in a different order, or with exchanged names.{found}"
    if audited.verdict == "other_images":
        return f"{set_id} was not made from the images with the same names in this source."
    if audited.verdict == "clean":
        return f"{set_id} is not corrupted."
    if audited.verdict == "inconclusive":
        candidates = ", or ".join(_content(c) for c in audited.candidates)
        return f"The contents of {set_id} cannot be determined with certainty. " + (
            f"It may contain {candidates}." if candidates else "It matches no corruption that corruptset knows."
        )
    if audited.found is not None:
        return f"{set_id} contains {_content(audited.found)}."
    if audited.candidates:
        return f"{set_id} contains {', '.join(_content(c) for c in audited.candidates)}."
    return f"{set_id} was not compared."


def _content(content: Content) -> str:
    if content.calibration == "imagecorruptions":
        return (
            f"{content.corruption} at severity {content.severity} as the package imagecorruptions defines it, which is "
            "not ImageNet-C's definition"
        )
    return content.words


def meanings(result: Audit) -> list[str]:
    """Return a line for each verdict in a table, and a sentence for each set that does not match its name."""
    words = verdict_words(BENCHMARKS.get(result.benchmark or ""))
    present = dict.fromkeys(audited.verdict for audited in result.sets.values())
    lines = [f"{verdict}: {words[verdict]}" for verdict in words if verdict in present]
    if any(audited.findings for audited in result.sets.values()):
        lines.append("*: with findings, see below")
    wrong = {id: one for id, one in result.sets.items() if one.verdict not in (*GOOD, "not_checked")}
    return lines + [""] * bool(wrong) + [sentence(set_id, audited) for set_id, audited in wrong.items()]
