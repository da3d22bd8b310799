"""Measure how often an audit is right on sets from the published generators, unchanged and deliberately changed.

    pip install --no-deps imagecorruptions-imaug
    python -m benchmarks.audit_bench --generators CLONES --cache FOLDER [--cases cifar,mnist,imagenet,imagecorruptions]

`published_generators` describes what the folder CLONES must contain. Generated images are kept in FOLDER, because glass
blur alone takes minutes. Each choice of --images needs its own FOLDER. The benchmark prints every set with a wrong
verdict, and the confusion table in docs/audit.md.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corruptset.audits.archives import BENCHMARKS, PublishedBenchmark
from corruptset.audits.clean_images import CleanImages
from corruptset.audits.found_set import FoundSet
from corruptset.audits.hypotheses import Hypothesis, hypothesis_of
from corruptset.audits.preparations import candidates
from corruptset.audits.set_audit import SetAuditor
from corruptset.audits.set_images import read_images
from corruptset.audits.storage import ARRAY, PUBLISHED, Resized, StoredAs, apply_storage
from corruptset.generate.pixels.encoding import JpegEncoding
from corruptset.generate.sources.source import Sample, Source
from corruptset.manifests.records.models import ClassRecord

from . import audit_copies
from . import published_generators as generators
from .audit_sources import BENCH, PARTS, clean, digits, photographs

Images = NDArray[np.uint8]
SIGNATURE_SEED = 20_261_128


@dataclass(frozen=True)
class Case:
    """A set for which the right result of an audit is known."""

    change: str
    """A description of the change, such as "JPEG quality 75"."""
    corruption: str
    severity: int | None
    images: Images
    stored: StoredAs
    verdicts: tuple[str, ...]
    """The verdicts that are right."""
    codes: tuple[str, ...] = ()
    """The codes of the findings that the audit must report. It must not report any other codes."""


def _quality(quality: int, subsampling: str = "4:2:0") -> JpegEncoding:
    return JpegEncoding.model_validate({"quality": quality, "subsampling": subsampling})


@dataclass(frozen=True)
class Family:
    """The sets made by one published generator."""

    name: str
    benchmark: PublishedBenchmark
    sources: tuple[Images, ...]
    images: Callable[[str, int], Images]
    corruptions: tuple[str, ...]
    stored: StoredAs = ARRAY
    photographs: str = BENCH
    """The clean images: a key of `audit_sources.PARTS`."""

    @functools.cached_property
    def auditor(self) -> SetAuditor:
        """The auditor for all sets of the family. It computes the statistics of each hypothesis only once."""
        classes = tuple(ClassRecord(index=i, name=str(i), folder=str(i)) for i in range(5))
        samples = tuple(Sample(i, f"bench_{i}", i % 5) for i in range(len(self.sources)))
        source = Source("bench", samples, classes, lambda sample: self.sources[sample.index].copy())
        sizes = [image.shape[:2] for image in self.sources]
        side = self.benchmark.side
        listed = candidates(sizes, side, side)  # type: ignore[arg-type]
        pool = list(range(len(self.sources)))
        return SetAuditor(
            CleanImages(source), pool, self.benchmark, listed, self.benchmark.calibration, None, loader=False
        )

    @property
    def clean(self) -> Images:
        """The clean images from which the generator started."""
        main, channels = self.auditor.preparations[0], self.images(self.corruptions[0], _severities(self)[0]).shape[3]
        return self.auditor.cleaned(main, channels)

    def kept(self, images: Images) -> Images:
        """Return images after the encoding and decoding that the published benchmark applies."""
        return apply_storage(images, () if self.stored.step is None else (self.stored.step,))


def same(name: str, *, drawn: bool) -> tuple[str, ...]:
    """Return the right verdicts for a set whose contents match its name.

    `drawn` is True if the set has random draws.
    """
    return ("same_pixels", "same_parameters") if name in ("motion_blur", "shear", "rotate", "translate") else (
        ("same_parameters",) if drawn else ("same_pixels",)
    )  # fmt: skip


def _severities(family: Family) -> tuple[int, ...]:
    return family.benchmark.severities or (0,)


def cases(family: Family) -> Iterator[Case]:
    """Yield the sets of a family, unchanged and with each of several changes."""
    severities = _severities(family)
    others = {name: family.corruptions[(i + 7) % len(family.corruptions)] for i, name in enumerate(family.corruptions)}
    for name in family.corruptions:
        for severity in severities:
            images = family.images(name, severity)
            expected = hypothesis_of(name, severity or None, family.benchmark.calibration)
            assert expected is not None
            right = same(name, drawn=not expected.deterministic)
            number = severity or None
            yield Case("unchanged", name, number, family.kept(images), family.stored, right)
            if severity:
                other = 6 - severity if severity != 3 else 4
                exchanged = family.kept(family.images(name, other))
                # At 32 pixels, severities 3 and 4 of motion blur give equal pixels, because only the ends of the
                # kernels differ.
                equal = name == "motion_blur" and family.name == "cifar" and {severity, other} == {3, 4}
                verdicts = right if equal else ("other_severity",)
                yield Case("another severity", name, number, exchanged, family.stored, verdicts)
            foreign = family.kept(family.images(others[name], severity))
            if name != "identity":
                verdict = "clean" if others[name] == "identity" else "other_corruption"
                yield Case("another corruption", name, number, foreign, family.stored, (verdict,))
                yield Case("clean", name, number, family.kept(family.clean), family.stored, ("clean",))
            rolled = family.kept(np.roll(images, 3, axis=0))
            yield Case("names exchanged", name, number, rolled, family.stored, ("other_order",))
            if images.shape[3] == 3 and severity:
                swapped = family.kept(np.ascontiguousarray(images[..., ::-1]))
                yield Case(
                    "red and blue exchanged", name, number, swapped, family.stored, right, ("other_preprocessing",)
                )
            if family.stored == PUBLISHED:
                yield from _encoded(family, name, severity, images, right)
            elif images.shape[3] == 3 and severity in (1, 4):
                lossy = apply_storage(images, (_quality(90),))
                stored = StoredAs("jpeg", 90, "4:2:0")
                yield Case("JPEG instead of raw pixels", name, number, lossy, stored, right, ("reencoded",))
    yield from _from_other_images(family)


def _encoded(family: Family, name: str, severity: int, images: Images, right: tuple[str, ...]) -> Iterator[Case]:
    published = family.kept(images)
    if severity in (1, 4):
        yield Case("PNG, never JPEG", name, severity, images, StoredAs("png"), right, ("not_encoded",))
        lower = apply_storage(published, (_quality(75),))
        yield Case("JPEG quality 75", name, severity, lower, StoredAs("jpeg", 75, "4:2:0"), right, ("reencoded",))
    if severity in (2, 5):
        higher = apply_storage(images, (_quality(95),))
        yield Case("JPEG quality 95", name, severity, higher, StoredAs("jpeg", 95, "4:2:0"), right, ("reencoded",))
        full = apply_storage(images, (_quality(85, "4:4:4"),))
        yield Case("JPEG 4:4:4", name, severity, full, StoredAs("jpeg", 85, "4:4:4"), right, ("reencoded",))
    if severity == 3:
        resized = apply_storage(published, (Resized(256, 224),))
        yield Case("resized twice", name, severity, resized, ARRAY, right, ("resized",))
        yield Case("PNG of the JPEG", name, severity, published, StoredAs("png"), right, ("reencoded",))


def _from_other_images(family: Family) -> Iterator[Case]:
    """Yield sets of other photographs, sets of squashed photographs, and sets with another calibration's parameters.

    These sets are made by corruptset, because the published generators are too slow.
    """
    side, ids = family.benchmark.side, [f"other_{i}" for i in range(len(family.sources))]
    if family.benchmark.name == "mnist-c":
        return
    for name in family.corruptions:
        for severity in (2, 4):
            here = hypothesis_of(name, severity, family.benchmark.calibration)
            assert here is not None
            images = here.images(clean(side, family.photographs, others=True), ids, seed=SIGNATURE_SEED)
            yield Case("other photographs", name, severity, family.kept(images), family.stored, ("other_images",))
            if side == 224:
                squashed = np.stack([family.auditor.preparations[1].clean(image) for image in family.sources])
                right = same(name, drawn=not here.deterministic)
                images = family.kept(here.images(squashed, ids, seed=SIGNATURE_SEED))
                yield Case("squashed", name, severity, images, family.stored, right, ("other_preprocessing",))
            elsewhere = hypothesis_of(name, severity, "imagenet" if side == 32 else "cifar")
            assert elsewhere is not None
            if elsewhere.stage.parameters != here.stage.parameters:
                images = family.kept(elsewhere.images(family.clean, ids, seed=SIGNATURE_SEED))
                verdicts = ("other_calibration", "other_severity")
                if elsewhere.stage.parameters in [
                    h.stage.parameters
                    for s in range(1, 6)
                    if (h := hypothesis_of(name, s, family.benchmark.calibration)) is not None
                ]:
                    verdicts = ("other_severity", "other_calibration")
                yield Case("another calibration", name, severity, images, family.stored, verdicts)


def families(folder: Path, cache: Path, images: str) -> dict[str, Callable[[], Family]]:
    """Return a mapping from names to functions that return families of sets.

    `folder` contains the clones of the generators. Images are made when they are first needed, and kept in `cache`.
    `images` is a key of `audit_sources.PARTS`.
    """

    def kept(tag: str, made: Callable[[], object], sources: Callable[[], Images]) -> Callable[[str, int], Images]:
        functions = functools.cache(made)

        def images(name: str, severity: int) -> Images:
            path = cache / tag / f"{name}-{severity}.npy"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                np.random.seed(severity * 1000 + len(name))  # noqa: NPY002 - the generators draw from this stream
                function = functions()[name]  # type: ignore[index]
                np.save(path, np.stack([function(i, severity) if severity else function(i) for i in sources()]))
            array = np.load(path)
            return array[..., None] if array.ndim == 3 else array

        return images

    nineteen = tuple(generators.NINETEEN)
    small, large, grey = (functools.partial(*each, images) for each in ((clean, 32), (clean, 224), (digits,)))
    mnist = kept("mnist-28", lambda: generators.mnist_c(folder), grey)
    return {
        "cifar": lambda: Family(
            "cifar", BENCHMARKS["cifar10-c"], tuple(small()),
            kept("hendrycks-32", lambda: generators.hendrycks(folder, "cifar"), small), nineteen, photographs=images,
        ),
        "mnist": lambda: Family(
            "mnist", BENCHMARKS["mnist-c"], tuple(i[..., None] for i in grey()), mnist,
            tuple(generators.MNIST_SIXTEEN), photographs=images,
        ),
        "imagenet": lambda: Family(
            "imagenet", BENCHMARKS["imagenet-c"], photographs(images),
            kept("hendrycks-224", lambda: generators.hendrycks(folder, "imagenet"), large), nineteen, PUBLISHED,
            photographs=images,
        ),
        "imagecorruptions": lambda: Family(
            "imagecorruptions", BENCHMARKS["imagenet-c"], photographs(images),
            kept("imagecorruptions-224", generators.imagecorruptions, large), nineteen, PUBLISHED,
            photographs=images,
        ),
    }  # fmt: skip


def measured(family: Family, chosen: Callable[[Case], bool]) -> list[tuple[Case, str, tuple[str, ...], bool]]:
    """Audit the chosen cases, and return each case with its verdict, its finding codes, and whether both are right."""
    out = []
    for case in filter(chosen, cases(family)):
        images = case.images
        found = FoundSet(
            id=f"{case.corruption}/{case.severity}" if case.severity else case.corruption,
            corruption=case.corruption if case.corruption != "identity" else "clean",
            severity=case.severity,
            keys=[f"bench_{i}" for i in range(len(images))],
            named=True,
            read=lambda i, images=images: images[i],  # type: ignore[misc]
            header=lambda i, case=case: case.stored,  # type: ignore[misc]
            label=lambda i: i % 5,
        )
        started = time.perf_counter()
        result = family.auditor.audit(read_images(found, [(i, i) for i in range(len(images))])).result
        codes = tuple(finding.code for finding in result.findings)
        verdicts = case.verdicts
        if family.name == "imagecorruptions" and case.corruption == "elastic_transform" and "same" in verdicts[0]:
            verdicts = ("other_calibration",)  # imagecorruptions defines it differently
        right = result.verdict in verdicts and set(codes) == set(case.codes)
        out.append((case, result.verdict, codes, right))
        if not right:
            contents = [c.words for c in (result.found, *result.candidates) if c is not None]
            spent = time.perf_counter() - started
            print(
                f"{family.name} {found.id} [{case.change}]: {result.verdict} {contents[:3]} {codes}, "
                f"expected {verdicts} {case.codes} ({spent:.1f} s)",
                flush=True,
            )
    return out


def copied(family: Family) -> list[tuple[Case, str, tuple[str, ...], bool]]:
    """Audit copies of a family on disk, and return results like those of `measured`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if family.name == "cifar":
            rows = audit_copies.array_copies(folder, family.corruptions, family.images, family.clean)
        elif family.name == "mnist":
            digits = np.stack(family.sources)
            rows = audit_copies.digit_copies(folder, family.corruptions, lambda n: family.images(n, 0), digits)
        else:
            rows = audit_copies.tree_copy(folder, family.corruptions, family.images, family.sources)
        out = []
        for set_id, expected, result in rows:
            name, _, severity = set_id.partition("/")
            codes = tuple(finding.code for finding in result.findings)
            case = Case(
                expected.change, name, int(severity or 0) or None, np.empty((0, 1, 1, 1), np.uint8), family.stored,
                expected.verdicts, expected.codes,
            )  # fmt: skip
            right = result.verdict in expected.verdicts and set(codes) == set(expected.codes)
            out.append((case, result.verdict, codes, right))
            if not right:
                contents = [c.words for c in (result.found, *result.candidates) if c is not None]
                print(
                    f"{family.name} {set_id} [{expected.change}]: {result.verdict} {contents[:3]} {codes}, "
                    f"expected {expected.verdicts} {expected.codes}",
                    flush=True,
                )
    return out


def confusion(results: list[tuple[Case, str, tuple[str, ...], bool]]) -> str:
    """Return the confusion table as Markdown, with changes in rows and verdicts in columns."""
    verdicts = sorted({verdict for _, verdict, _, _ in results})
    lines = ["| change | sets | right | " + " | ".join(verdicts) + " |", "|---" * (3 + len(verdicts)) + "|"]
    for change in dict.fromkeys(case.change for case, *_ in results):
        rows = [row for row in results if row[0].change == change]
        counts = Counter(verdict for _, verdict, _, _ in rows)
        right = sum(row[3] for row in rows)
        lines.append(
            f"| {change} | {len(rows)} | {right} | " + " | ".join(str(counts[v] or "") for v in verdicts) + " |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generators", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--cache", type=Path, required=True, help="where the images of the generators are kept")
    parser.add_argument("--images", choices=list(PARTS), default=BENCH, help="the clean images")
    parser.add_argument("--cases", default="cifar,mnist,imagenet,imagecorruptions")
    parser.add_argument("--changes", default="", help="only these changes, separated by commas")
    parser.add_argument("--corruptions", default="", help="only these corruptions, separated by commas")
    parser.add_argument("--every", type=int, default=1, help="only every n-th set, after the unchanged ones")
    parser.add_argument("--copies", action="store_true", help="also audit copies on disk (labels, rows, files)")
    parser.add_argument("--only-copies", action="store_true", help="audit copies on disk only")
    given = parser.parse_args()
    known, results = families(given.generators, given.cache, given.images), []
    for name in given.cases.split(","):
        family, started, seen = known[name](), time.perf_counter(), Counter[str]()

        def chosen(case: Case, seen: Counter[str] = seen) -> bool:
            seen[case.change] += 1
            wanted = not given.changes or case.change in given.changes.split(",")
            wanted = wanted and (not given.corruptions or case.corruption in given.corruptions.split(","))
            return wanted and (case.change == "unchanged" or seen[case.change] % given.every == 0)

        rows = [] if given.only_copies else measured(family, chosen)
        rows += copied(family) if given.copies or given.only_copies else []
        results += rows
        right = sum(row[3] for row in rows)
        print(f"{name}: {right} of {len(rows)} right, {time.perf_counter() - started:.0f} s", flush=True)
    print(confusion(results))
    right, total = sum(row[3] for row in results), len(results)
    drawn = [row for row in results if not _deterministic(row[0])]
    unsure = sum(row[1] == "inconclusive" for row in drawn)
    print(f"{right} of {total} right ({right / total:.2%}); inconclusive: {unsure} of {len(drawn)} sets with draws")


def _deterministic(case: Case) -> bool:
    for calibration in ("imagenet", "mnist"):
        found: Hypothesis | None = hypothesis_of(case.corruption, case.severity, calibration)
        if found is not None:
            return found.deterministic
    return False


if __name__ == "__main__":
    main()
