"""Find problems that need no source: missing and duplicate sets, wrong classes and labels, and known defects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..errors import first_few
from .archives import PublishedBenchmark, md5_of, published_arrays
from .found_set import FoundData, FoundSet
from .records import Finding


def missing_sets(data: FoundData, benchmark: PublishedBenchmark | None) -> list[Finding]:
    """Return findings that name the sets of the benchmark that are missing from the data."""
    if benchmark is None:
        return []
    present = {(found.corruption, found.severity) for found in data.sets}
    names = {name for name, _ in present}
    corruptions = [c for c in benchmark.corruptions if (c if c != "identity" else "clean") not in names]
    out = []
    if corruptions and len(corruptions) < len(benchmark.corruptions):
        text = (
            f"{len(corruptions)} of the {len(benchmark.corruptions)} corruptions of {benchmark.title} are missing: "
            f"{first_few(corruptions, 20)}. A mean over the others is not comparable with published means."
        )
        out.append(Finding("missing_sets", text))
    partial = {
        name: absent
        for name in sorted(str(n) for n in names if n is not None and n != "clean")
        if (absent := [s for s in benchmark.severities if (name, s) not in present])
        and len(absent) < len(benchmark.severities)
    }
    if partial:
        listed = "; ".join(f"{name} lacks severity {', '.join(map(str, absent))}" for name, absent in partial.items())
        text = f"{listed}. A mean over the other severities is not comparable with published means."
        out.append(Finding("missing_sets", text))
    return out


def unknown_set(found: FoundSet) -> list[Finding]:
    """Return a finding if the name of a set is not the name of a corruption."""
    if found.corruption is not None or found.own is not None:
        return []
    text = f"No corruption is called {found.id!r}. The set was compared with all known corruptions."
    return [Finding("unknown_set", text)]


def duplicates(digests: Mapping[str, str]) -> dict[str, Finding]:
    """Return a finding for every set whose compared images have the same digest as the images of another set."""
    by_digest = defaultdict[str, list[str]](list)
    for set_id, digest in digests.items():
        if digest:
            by_digest[digest].append(set_id)
    out = {}
    for group in by_digest.values():
        for set_id in group if len(group) > 1 else ():
            others = [other for other in group if other != set_id]
            text = (
                f"The compared images have the same pixels as those of {first_few(others, 4)}. At most one of these "
                "sets matches its name, unless the names mean the same."
            )
            out[set_id] = Finding("duplicate_set", text)
    return out


def classes_finding(found: FoundSet, benchmark: PublishedBenchmark | None) -> list[Finding]:
    """Return a finding if a set has the class folders of an archive with a known defect."""
    if benchmark is None or not found.named or not found.labels_cheap:
        return []
    classes = {label for i in range(found.count) if isinstance(label := found.label(i), str)}
    if benchmark.name == "tiny-imagenet-c" and found.corruption == "frost" and len(classes) > 200:
        text = (
            f"frost has {len(classes):,} class folders, and Tiny-ImageNet-C has 200 classes. This is the known defect "
            "of the Tiny-ImageNet-C archive in Zenodo record 2536630: with class folders as labels, every label of "
            "frost is wrong, and so is every mean that includes it. Use Zenodo record 8206060."
        )
        return [Finding("known_defect", text)]
    return []


def repeated_labels(sets: Sequence[FoundSet]) -> dict[str, Finding]:
    """Return a finding for each severity in an array whose labels differ from the labels of the first severity."""
    out, first = dict[str, Finding](), dict[str, list[object]]()
    for found in sets:
        if found.named or not found.labels_cheap or found.file is None or found.severity is None:
            continue
        labels: list[object] = [found.label(i) for i in range(found.count)]
        base = first.setdefault(str(found.file), labels)
        if labels != base and len(labels) == len(base):
            wrong = sum(a != b for a, b in zip(labels, base, strict=True))
            text = (
                f"In {wrong:,} of {len(base):,} rows, the label of this severity in labels.npy differs from that of "
                "the first severity. The published file repeats the labels of the test set five times. Download "
                "labels.npy again."
            )
            out[found.id] = Finding("other_labels", text)
    return out


def identical_arrays(sets: Sequence[FoundSet], benchmark: PublishedBenchmark | None) -> set[str]:
    """Return the ids of the sets that are stored in arrays with the published checksum."""
    if benchmark is None:
        return set()
    published, known = published_arrays(benchmark.name), dict[str, bool]()
    out = set()
    for found in sets:
        if found.file is None or published.get(found.corruption or "") is None:
            continue
        name = str(found.file)
        if name not in known:
            known[name] = md5_of(found.file) == published[str(found.corruption)]
        if known[name]:
            out.add(found.id)
    return out
