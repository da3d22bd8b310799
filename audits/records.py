"""Records of the result of an audit: a verdict and findings for each set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal[
    "identical",
    "same_pixels",
    "same_parameters",
    "other_severity",
    "other_calibration",
    "other_corruption",
    "clean",
    "other_images",
    "other_order",
    "inconclusive",
    "not_checked",
]
GOOD: tuple[Verdict, ...] = ("identical", "same_pixels", "same_parameters")
"""The verdicts on sets that contain what their names state."""
FindingCode = Literal[
    "reencoded",
    "not_encoded",
    "resized",
    "other_preprocessing",
    "missing_images",
    "extra_images",
    "other_labels",
    "missing_sets",
    "unknown_set",
    "known_defect",
    "duplicate_set",
    "unreadable_images",
]


@dataclass(frozen=True)
class Finding:
    """A problem or remark that the user should know about, in plain sentences.

    Attributes
    ----------
    code : str
        A fixed word that programs can check for, such as ``reencoded``.
    text : str
        Sentences that state what was found, how it affects scores, and what to do.
    """

    code: FindingCode
    text: str

    def as_json(self) -> dict[str, str]:
        """Return the finding as JSON values."""
        return {"code": self.code, "text": self.text}


@dataclass(frozen=True)
class Content:
    """The actual content of a set.

    Attributes
    ----------
    corruption : str
    severity : int or None
    calibration : str or None
        The name of a calibration in corruptset, or ``imagecorruptions`` for a definition that only the package of
        this name uses.
    """

    corruption: str
    severity: int | None
    calibration: str | None

    @property
    def words(self) -> str:
        """A description of the content, such as "fog at severity 3 (calibration imagenet)"."""
        if self.severity is None:
            return "clean images" if self.corruption == "clean" else self.corruption
        return f"{self.corruption} at severity {self.severity} (calibration {self.calibration})"

    def as_json(self) -> dict[str, Any]:
        """Return the content as JSON values."""
        return {"corruption": self.corruption, "severity": self.severity, "calibration": self.calibration}


@dataclass(frozen=True)
class SetAudit:
    """The result for one set: one corruption at one severity.

    Attributes
    ----------
    id : str
        The name of the set in the data.
    verdict : str
        The verdict in one word. docs/audit.md explains the verdicts.
    found : Content or None
        The actual content of the set, if it is known.
    candidates : tuple of Content
        The possible contents, if the statistics cannot distinguish them.
    images : int
        The number of images in the set.
    checked : int
        The number of images that were compared with the source.
    encoding : str
        The storage format of the images, according to the headers of the compared files.
    findings : tuple of Finding
    """

    id: str
    verdict: Verdict
    found: Content | None = None
    candidates: tuple[Content, ...] = ()
    images: int = 0
    checked: int = 0
    encoding: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the set contains what its name states, and there are no findings."""
        return self.verdict in GOOD and not self.findings

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "verdict": self.verdict,
            "found": None if self.found is None else self.found.as_json(),
            "candidates": [candidate.as_json() for candidate in self.candidates],
            "images": self.images,
            "checked": self.checked,
            "encoding": self.encoding,
            "findings": [finding.as_json() for finding in self.findings],
        }


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes
    ----------
    benchmark : str or None
        The benchmark that the data was compared with, such as ``imagenet-c``.
    archive : str or None
        The published archive that has the checksum of the file, if the data is an archive.
    sets : mapping of str to SetAudit
    findings : tuple of Finding
        Findings that concern the data as a whole.
    source : str or None
        The source that the data was compared with.
    """

    benchmark: str | None
    archive: str | None = None
    sets: Mapping[str, SetAudit] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    source: str | None = None

    @property
    def good(self) -> bool:
        """Whether every set contains what its name states, and there are no findings."""
        checked = bool(self.sets) or self.archive is not None
        return checked and not self.findings and all(audited.good for audited in self.sets.values())

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "benchmark": self.benchmark,
            "archive": self.archive,
            "sets": {id: audited.as_json() for id, audited in self.sets.items()},
            "findings": [finding.as_json() for finding in self.findings],
            "source": self.source,
        }
