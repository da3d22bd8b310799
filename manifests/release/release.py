"""Read and check the records of a release without images, so that its images can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...digests import digits
from ...errors import VerificationError, format_list
from ..checksums import SUMS_CAP, hash_problem
from ..disk.jsonl import read_jsonl
from ..disk.listing import plain_file, read_small
from ..paths import MANIFEST, SAMPLES, SHA256SUMS, set_path
from ..reader import Dataset
from ..records.digests import set_digest, sha256_file
from ..records.models import ImageRecord
from ..records.report import Problem
from ..verify.rules import manifest_problems, sample_problems, sums_problems


@dataclass(frozen=True)
class Release:
    """The checked records of a release.

    Attributes
    ----------
    data : Dataset
        The manifest and the samples. Images are not required.
    pixels : dict
        Set id -> (N, 32) ndarray of uint8 with the pixel digests of the set's images, in the order of the samples. Only
        requested sets that have records are included. For other sets, there is only the digest of the set in the
        manifest.
    """

    data: Dataset
    pixels: dict[str, NDArray[np.uint8]]


def has_rows(data: Dataset, set_id: str) -> bool:
    """Return whether a set has records. Records may be missing only if the set is absent according to PARTIAL.json."""
    return set_id not in data.absent or plain_file(data.path, set_path(set_id))


def read_release(data: Dataset, sets: Sequence[str]) -> Release:
    """Return the checked records of a release, with the digests of the images of some sets.

    Raises
    ------
    VerificationError
        Records are missing, contradict each other, or differ from the manifest. The message lists all problems.
    """
    problems = list(manifest_problems(data.manifest))
    sums = read_small(data.path, SHA256SUMS, SUMS_CAP)
    if isinstance(sums, bytes):  # the file is optional
        problems += sums_problems(data.manifest, sha256_file(data.path / MANIFEST), sums)
    wanted = {s.id: s for s in data.manifest.sets if s.id in sets and has_rows(data, s.id)}
    listed_files = {SAMPLES, *map(set_path, wanted)}
    found = (hash_problem(data.path, f) for f in data.manifest.files if f.path in listed_files)
    _refuse(data, [*problems, *(problem for problem in found if problem is not None)])
    problems = list(sample_problems(data.manifest, data.samples))
    pixels: dict[str, NDArray[np.uint8]] = {}
    for set_id, record in wanted.items():
        digests = [row.pixels for row in read_jsonl(data.path / set_path(set_id), ImageRecord)]
        if (digest := set_digest(digests)) != record.pixel_digest:
            detail = f"pixel_digest in the manifest is {record.pixel_digest}, but the rows have {digest}"
            problems.append(Problem(set_path(set_id), "digest", detail))
        pixels[set_id] = np.frombuffer(bytes.fromhex("".join(map(digits, digests))), np.uint8).reshape(-1, 32)
    if not data.samples:
        problems.append(Problem(SAMPLES, "records", "there are no samples"))
    _refuse(data, problems)
    return Release(data, pixels)


def _refuse(data: Dataset, problems: Iterable[Problem]) -> None:
    if lines := [str(p) for p in problems]:
        raise VerificationError(
            f"{data.name} is damaged, so no images can be computed from it:\n{format_list(lines)}\nNothing was "
            "written. Fetch the release again."
        )
