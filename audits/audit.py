"""The audit of a corrupted dataset: what its sets contain, compared with what their names promise."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from ..corruptions.weather.textures import load_textures
from ..errors import ImageError, ParameterError, suggest
from ..generate.pixels.preprocessing import parse_preprocessing
from ..generate.sources.source import Source, named_source, open_source
from ..plain_arguments import plain_arguments
from ..manifests.records.report import Progress
from ..progress import progress_function, shows_progress
from .archives import BENCHMARKS, Benchmark, archives, benchmark_of, md5_of
from .clean_images import CleanImages
from .found_set import FoundData, FoundSet, array_header, loaded_pixels
from .hypotheses import hypothesis_of
from .inventory import classes_finding, duplicates, identical_arrays, missing_sets, repeated_labels, unknown_set
from .layouts import range_keys, read_data
from .likeness import descriptors, likeness
from .messages import count_finding, storage_findings
from .names import parsed_id
from .preparations import INTERPOLATIONS, UNCHANGED, Preparation, candidates
from .records import Audit, Finding, SetAudit
from .set_audit import Audited, SetAuditor
from .set_images import SetImages, choose, order_of, read_images
from .storage import ARRAY, likely_steps

LEAST_SAMPLES = 2
"""The smallest number of images per set that an audit compares."""
_CLEAREST = ("brightness", "contrast", "jpeg_compression", "pixelate", "saturate", "defocus_blur", "gaussian_blur")
"""Corruptions without random draws that keep coarse details, in the order in which they show the preparation."""


@plain_arguments
@shows_progress("audit")
def audit(
    data: Any,
    source: str | Source | None = None,
    *,
    labels: Path | str | None = None,
    benchmark: str | None = None,
    sets: Sequence[str] | None = None,
    samples: int = 20,
    frost_textures: Path | str | None = None,
    out: Path | str | None = None,
    progress: Progress | bool | None = None,
) -> Audit:
    """Say what a corrupted dataset contains, compared with what its names promise.

    Parameters
    ----------
    data : path, or mapping of str to sequence of (image, label)
        The folder of a corrupted dataset, one of its archives or arrays, or what a loader returns for each set. The
        keys of a mapping are set ids such as ``"fog/3"``. Its images are arrays, tensors or PIL images that are not
        normalised. Docs/audit.md lists the layouts.
    source : str or Source, optional
        The clean images, such as ``"imagenet:/data"`` (docs/sources.md). Without it, only checksums, names, numbers of
        images, encodings and labels are checked, and whether the sets show the same images.
    labels : path or str, optional
        The labels of the source, where it needs some.
    benchmark : str, optional
        The published benchmark, such as ``"imagenet-c"``. By default it follows from names and the size of images.
    sets : sequence of str, optional
        Globs over the ids of the sets to audit.
    samples : int
        The number of images per set that are compared.
    frost_textures : path, optional
        The folder of the photographs that frost was made with. With them, frost is compared pixel by pixel.
    out : path, optional
        An HTML file that receives the report.
    progress : callable or bool, optional
        Called with the step, the number of audited sets and the total. By default a bar is shown in a terminal and in a
        notebook; False shows none.

    Returns
    -------
    Audit

    Raises
    ------
    SourceError
        No dataset is recognised in `data`, or the source cannot be read.
    ParameterError
        An argument is invalid.

    Examples
    --------
    >>> import corruptset
    >>> result = corruptset.audit("ImageNet-C", "imagenet:/data")  # doctest: +SKIP
    >>> result.sets["fog/3"].verdict  # doctest: +SKIP
    'same_parameters'
    """
    if samples < LEAST_SAMPLES:
        raise ParameterError(f"samples is {samples}; expected at least {LEAST_SAMPLES}.")
    if benchmark is not None and benchmark not in BENCHMARKS:
        raise ParameterError(
            f"There is no published benchmark {benchmark!r}.{suggest(benchmark, BENCHMARKS)} Known: "
            f"{', '.join(BENCHMARKS)}."
        )
    loader = isinstance(data, Mapping)
    if not loader:
        path = Path(data).expanduser()
        if path.is_file() and path.suffix != ".npy":
            return _archive(path)
    found = loaded(data) if loader else read_data(path)
    chosen = [s for s in found.sets if sets is None or any(fnmatchcase(s.id, pattern) for pattern in sets)]
    if not chosen:
        raise ParameterError(f"No set is called {', '.join(map(repr, sets or ['']))}. {_known_sets(found)}")
    found = replace(found, sets=chosen)
    published = BENCHMARKS[benchmark] if benchmark is not None else _guessed(found)
    textures = None if frost_textures is None else load_textures(frost_textures)
    given = named_source(source) if source is not None else None
    opened = open_source(given, labels=labels) if isinstance(given, str) else given
    tell = progress_function(progress)
    if opened is None:
        audited = _without_source(found, published, samples, loader=loader)
    else:
        audited = _Comparison(found, published, opened, samples, textures, loader=loader).run(tell)
    result = _finished(found, published, audited, given, complete=sets is None and not loader)
    if out is not None:
        from .page import write_page

        write_page(Path(out), result, {id: one.pictures for id, one in audited.items()})
    return result


def _archive(path: Path) -> Audit:
    """Return what an archive is, by its checksum."""
    digest, size = md5_of(path), path.stat().st_size
    for known in archives():
        if known.md5 == digest:
            return Audit(known.benchmark, f"{known.name} ({known.source})")
    same_size = [known for known in archives() if known.bytes == size]
    hint = f" It has the size of {same_size[0].name}, so it is damaged." if same_size else ""
    text = (
        f"The checksum (MD5 {digest}) is not that of a published archive that corruptset knows.{hint} Unpack the "
        "archive, and audit the folder."
    )
    return Audit(None, None, findings=(Finding("known_defect", text),) if same_size else (Finding("unknown_set", text),))


def loaded(data: Mapping[str, Any]) -> FoundData:
    """Return the sets that a loader returns, given as a mapping of set ids to sequences of (image, label)."""
    sets = []
    for set_id, items in data.items():
        if not hasattr(items, "__len__") or not hasattr(items, "__getitem__"):
            raise ParameterError(
                f"The set {set_id!r} is of type {type(items).__name__}; expected a sequence of (image, label), such as "
                "a list or a PyTorch dataset."
            )
        corruption, severity = parsed_id(str(set_id))
        sets.append(
            FoundSet(
                id=str(set_id),
                corruption=corruption,
                severity=severity,
                keys=range_keys(len(items)),
                named=False,
                read=lambda i, items=items, set_id=set_id: loaded_pixels(  # type: ignore[misc]
                    _pair(items, i, set_id)[0], f"Image {i} of {set_id!r}"
                ),
                header=array_header,
                label=lambda i, items=items, set_id=set_id: _plain(_pair(items, i, set_id)[1]),  # type: ignore[misc]
                labels_cheap=False,
            )
        )
    return FoundData(sets, "loader")


def _pair(items: Any, index: int, set_id: str) -> tuple[Any, Any]:
    item = items[index]
    if not isinstance(item, tuple | list) or len(item) < 2:
        raise ParameterError(f"Item {index} of {set_id!r} is of type {type(item).__name__}; expected (image, label).")
    return item[0], item[1]


def _plain(label: Any) -> str | int | None:
    if label is None or isinstance(label, str):
        return label
    return int(np.asarray(label).reshape(-1)[0])


def _known_sets(found: FoundData) -> str:
    return f"The data has {', '.join(s.id for s in found.sets[:8])}{', ...' * (len(found.sets) > 8)}."


def _guessed(found: FoundData) -> Benchmark | None:
    """Return the benchmark of which the data looks like a copy."""
    if found.name is not None:
        return BENCHMARKS[found.name]
    names = {s.corruption for s in found.sets if s.corruption is not None} - {"clean"}
    for one in found.sets:
        try:
            shape = one.read(0).shape
        except (ImageError, IndexError):
            continue
        classes = len(found.classes)
        if not classes and one.labels_cheap and not one.named:
            classes = max((int(label) for i in range(one.count) if (label := one.label(i)) is not None), default=0) + 1
        return benchmark_of(names, (shape[0], shape[1], shape[2]), classes)
    return None


class _Comparison:
    """The comparison of data with a source."""

    def __init__(
        self,
        found: FoundData,
        published: Benchmark | None,
        source: Source,
        samples: int,
        textures: Any,
        *,
        loader: bool,
    ) -> None:
        self.found, self.published, self.source, self.samples = found, published, source, samples
        self.textures, self.loader = textures, loader
        self.clean = CleanImages(source)

    def run(self, tell: Any) -> dict[str, Audited]:
        """Return the results of all sets."""
        sets, out = self.found.sets, dict[str, Audited]()
        identical = identical_arrays(self.found, self.published)
        preferred = self._preferred()
        auditor = self._auditor(preferred)
        tell("sets", 0, len(sets))
        for number, one in enumerate(sets, 1):
            if one.id in identical:
                out[one.id] = Audited(
                    SetAudit(one.id, "identical", self._content(one), images=one.count, encoding=ARRAY.words)
                )
            elif auditor is None or not preferred:
                text = "No image of the source has the name of an image of this set."
                result = SetAudit(one.id, "not_checked", images=one.count)
                out[one.id] = Audited(replace(result, findings=(Finding("extra_images", text),)))
            elif self._holds_all_severities(one):
                out[one.id] = self._all_severities(one, auditor, preferred)
            else:
                out[one.id] = self._one(one, auditor, preferred)
            tell("sets", number, len(sets))
        return out

    def _content(self, one: FoundSet) -> Any:
        from .set_audit import content_of

        calibration = "imagenet" if self.published is None else self.published.calibration
        hypothesis = None if one.corruption is None else hypothesis_of(one.corruption, one.severity, calibration)
        return None if hypothesis is None else content_of(hypothesis)

    def _one(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> Audited:
        read = self._read(one, auditor, preferred)
        audited = auditor.audit(read)
        expected = len(self.source.samples)
        counted = count_finding(one.count, expected, "the source")
        extra = [*auditor.strangers(one), *([counted] if counted else []), *unknown_set(one)]
        extra += classes_finding(one, self.published)
        result = replace(audited.result, findings=(*audited.result.findings, *extra))
        return replace(audited, result=result, digest=_digest(read))

    def _read(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> SetImages:
        chosen = choose(one, self.clean, preferred, self.samples)
        chosen = [(index, place) for index, place in chosen if self.clean.raw(place) is not None]
        auditor.add([place for _, place in chosen])
        return read_images(one, chosen)

    def _holds_all_severities(self, one: FoundSet) -> bool:
        five = self.published is not None and bool(self.published.severities)
        return five and not one.named and one.count == 5 * len(self.source.samples)

    def _all_severities(self, one: FoundSet, auditor: SetAuditor, preferred: Sequence[int]) -> Audited:
        """Return the result for a set that can hold five severities one after the other."""
        size, parts = one.count // 5, list[Audited]()
        for severity in range(1, 6):
            first = (severity - 1) * size
            part = replace(
                one,
                severity=severity,
                keys=range_keys(size),
                read=lambda i, first=first: one.read(first + i),  # type: ignore[misc]
                header=lambda i, first=first: one.header(first + i),  # type: ignore[misc]
                label=lambda i, first=first: one.label(first + i),  # type: ignore[misc]
            )
            parts.append(self._one(part, auditor, preferred))
        contents = tuple(part.result.found for part in parts if part.result.found is not None)
        if all(part.result.verdict in ("same_pixels", "same_parameters", "inconclusive") for part in parts):
            text = (
                f"The set has {one.count:,} images, five times as many as the source: all five severities, one after "
                "the other. A score on it is a mean over the severities. Give each severity a set of its own."
            )
            finding = Finding("extra_images", text)
            result = replace(
                parts[0].result, verdict="other_severity", found=None, candidates=contents, images=one.count
            )
            return Audited(replace(result, findings=(finding,)), parts[0].digest)
        return replace(parts[0], result=replace(parts[0].result, images=one.count))

    def _preferred(self) -> list[int]:
        """Return the places of the source images on which all sets are compared."""
        largest = max(self.found.sets, key=lambda s: s.count)
        small = [s for s in self.found.sets if s.count < largest.count]
        shared: set[int] | None = None
        for one in [largest, *small][:20]:
            places = {p for i in range(one.count) if (p := self.clean.partner(one, i)) is not None}
            if places and (shared is None or shared & places):
                shared = places if shared is None else shared & places
        ordered = sorted(shared or ())
        picks = [ordered[i] for i in np.unique(np.linspace(0, len(ordered) - 1, self.samples).astype(int))]
        return [place for place in picks if self.clean.raw(place) is not None] if ordered else []

    def _auditor(self, preferred: Sequence[int]) -> SetAuditor | None:
        probes = self._probes(preferred)
        if not probes:
            return None
        calibration = self._calibration(probes[0])
        preparations = self._preparations(probes)
        if not preparations:
            return None
        return SetAuditor(
            self.clean,
            preferred,
            self.published,
            preparations,
            calibration,
            self.textures,
            loader=self.loader,
        )

    def _calibration(self, probe: SetImages) -> str:
        return "imagenet" if self.published is None else self.published.calibration

    def _probes(self, preferred: Sequence[int]) -> list[SetImages]:
        """Return a few images of sets that show best how the clean images were prepared."""

        def rank(one: FoundSet) -> tuple[int, int]:
            known = _CLEAREST.index(one.corruption) if one.corruption in _CLEAREST else len(_CLEAREST)
            return known, one.severity or 0

        probes = []
        for one in sorted(self.found.sets, key=rank)[:8]:
            chosen = choose(one, self.clean, preferred[:6], 6)
            read = read_images(one, [pair for pair in chosen if self.clean.raw(pair[1]) is not None])
            if read.images is not None:
                probes.append(read)
        return probes

    def _preparations(self, probes: Sequence[SetImages]) -> list[Preparation]:
        """Return the preparation that fits all data best, followed by the others."""
        assert probes[0].images is not None
        height, width = probes[0].images.shape[1:3]
        if self.found.preprocessing is not None:
            return [Preparation("prepared as the manifest says", (parse_preprocessing(self.found.preprocessing),))]
        places = sorted({place for probe in probes for place in probe.places})
        raw = {place: image for place in places if (image := self.clean.raw(place)) is not None}
        sizes = [image.shape[:2] for image in raw.values()]
        listed = candidates([(int(h), int(w)) for h, w in sizes], height, width)
        if len(listed) < 2:
            return listed or [UNCHANGED]
        described = {
            preparation: dict(zip(raw, descriptors([preparation.clean(raw[p]) for p in raw]), strict=True))
            for preparation in listed
        }

        def fit(preparation: Preparation) -> float:
            values = []
            for probe in probes:
                own = np.stack([described[preparation][place] for place in probe.places])
                values.append(float(np.median(np.diagonal(likeness(probe.described, own)))))
            return float(np.median(values))

        fits = {preparation: fit(preparation) for preparation in listed}
        best = max(listed, key=lambda preparation: fits[preparation])
        # The published preparation is given up only for one that fits clearly better.
        best = listed[0] if fits[best] < fits[listed[0]] + 0.02 else best
        refined = self._interpolated(best, probes)
        return [refined, *(p for p in listed if p is not best)]

    def _interpolated(self, preparation: Preparation, probes: Sequence[SetImages]) -> Preparation:
        """Return a preparation with the interpolation under which a set without draws has its expected pixels."""
        from .searches import agreement
        from .storage import after

        if preparation is UNCHANGED:
            return preparation
        calibration = self._calibration(probes[0])
        for interpolation in INTERPOLATIONS:
            tried = preparation if interpolation == "bilinear" else preparation.with_interpolation(interpolation)
            for probe in probes[:4]:
                one = probe.found
                expected = None if one.corruption is None else hypothesis_of(one.corruption, one.severity, calibration)
                if expected is None or not expected.deterministic or probe.images is None:
                    continue
                clean = self.clean.clean(probe.places, tried, probe.images.shape[3])
                published = ARRAY if self.published is None else self.published.stored
                made = expected.images(clean, [""] * len(clean))
                side = min(probe.images.shape[1:3])
                steps = likely_steps(probe.encoding or ARRAY, published, side)
                if any(agreement(probe.images, clean, after(made, s), s) is not None for s in steps):
                    return tried
        return preparation


def _digest(read: SetImages) -> str:
    if read.images is None or len(read.images) < 2:
        return ""
    hashed = hashlib.blake2b(read.images.tobytes(), digest_size=16)
    hashed.update(repr((read.images.shape, read.places)).encode())
    return hashed.hexdigest()


def _without_source(
    found: FoundData, published: Benchmark | None, samples: int, *, loader: bool
) -> dict[str, Audited]:
    """Return what can be said of sets without clean images."""
    identical, out = identical_arrays(found, published), dict[str, Audited]()
    reference: SetImages | None = None
    ordered = sorted(found.sets, key=lambda s: _CLEAREST.index(s.corruption) if s.corruption in _CLEAREST else 99)
    for one in ordered:
        picks = np.unique(np.linspace(0, max(one.count - 1, 0), samples).astype(int)).tolist() if one.count else []
        if reference is not None and one.named:
            places = {key: i for i, key in enumerate(one.keys)}
            wanted = [reference.found.keys[i] for i in reference.indices]
            picks = [places[key] for key in wanted if key in places] or picks
        read = read_images(one, [(i, i) for i in picks])
        stored = read.encoding or ARRAY
        verdict = "identical" if one.id in identical else "not_checked"
        findings = [*unknown_set(one), *classes_finding(one, published)]
        if read.unreadable:
            from .messages import unreadable_finding

            findings.append(unreadable_finding(read.unreadable))
        if published is not None:
            findings += storage_findings(stored, published, None, loader=loader)
            counted = count_finding(one.count, published.images, published.title)
            findings += [counted] if counted else []
        if reference is not None and read.images is not None and verdict == "not_checked":
            keys = [reference.found.keys[i] for i in reference.indices]
            both = [(n, keys.index(one.keys[i])) for n, i in enumerate(read.indices) if one.keys[i] in keys]
            if len(both) >= 5:
                theirs = reference.described[[m for _, m in both]]
                order = order_of(read.described[[n for n, _ in both]], theirs)
                if order.right < 0.25 * len(both):
                    verdict = "other_order" if len(order.wrong) > 0.3 * len(both) else "other_images"
        elif reference is None and read.images is not None:
            reference = read
        out[one.id] = Audited(
            SetAudit(
                one.id,
                verdict,  # type: ignore[arg-type]
                images=one.count,
                checked=0,
                encoding=stored.words,
                findings=tuple(findings),
            ),
            _digest(read),
        )
    return {one.id: out[one.id] for one in found.sets}


def _finished(
    found: FoundData,
    published: Benchmark | None,
    audited: Mapping[str, Audited],
    source: Any,
    *,
    complete: bool,
) -> Audit:
    """Return the audit with the findings that concern several sets."""
    same, labels = duplicates({id: one.digest for id, one in audited.items()}), repeated_labels(found.sets)
    sets = {}
    for id, one in audited.items():
        extra = [table[id] for table in (same, labels) if id in table]
        sets[id] = replace(one.result, findings=(*one.result.findings, *extra))
    findings = [Finding(code, text) for code, text in found.remarks]  # type: ignore[arg-type]
    findings += missing_sets(found, published) if complete else []
    name = source if isinstance(source, str | None) else source.scheme
    return Audit(None if published is None else published.name, None, sets, tuple(findings), name)

