"""Test that schedules are complete, ordered as their kind requires, and equal on all machines."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import record_datasets
from corruptset_streams import Schedule, ScheduleError, read_schedule, schedule, schedules

from corruptset.canonical import canonical
from corruptset.errors import BuildError, SourceError
from corruptset.scores.published import FIFTEEN

GOLDEN = {
    "continual": "sha256:129089321173bc8ab3997c7e03d5bb6754ae8521a58eb2ff31a581353b45048b",
    "gradual": "sha256:3b3903e423363b2776e9d1da82ff152a473e1d194065d187e75675656f0279cf",
    "mixed": "sha256:e698c10cc3107444c6abc1667291132e7e74d7a29a0282cd6d0a5cac2a13016c",
    "correlated": "sha256:5cbc99c34950c98ce3034e6f76420be8ca329325332c131b1275cacfa542538e",
    "random-orders": "sha256:84753aad3da613739c34bb48ef16782cdaa3ba7807385511281d144af80caf84",
}
AT_FIVE = [f"{name}/5" for name in FIFTEEN]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    return record_datasets.write_records(folder, "imagenet-c-all", 40, version="1.0.0")  # a schedule names its data set


def visited_sets(schedule: Schedule) -> list[str]:
    """Return the set of each shift."""
    return [schedule.head["sets"][shift["set"]] for shift in schedule.shifts]


def test_each_shift_has_every_sample_once_and_digests_are_stable(data: Path, tmp_path: Path) -> None:
    results = {}
    for kind in GOLDEN:
        result = schedule(data, kind, seed=3, out=tmp_path / kind)
        results[kind] = read_schedule(tmp_path / kind).digest
        assert result.head["samples"] == [f"image-{i:05d}" for i in range(40)]
        for shift in result.shifts:
            expected = range(15) if kind == "mixed" else [shift["set"]]
            sets = shift["set"] if kind == "mixed" else expected * 40
            pairs = Counter(zip(sets, shift["samples"], strict=True))
            assert pairs == Counter((s, i) for s in expected for i in range(40))
    assert results == GOLDEN


def test_each_kind_has_its_order(data: Path) -> None:
    assert visited_sets(schedule(data)) == visited_sets(schedule(data, "correlated")) == AT_FIVE
    assert visited_sets(schedule(data, severity=2)) == [f"{name}/2" for name in FIFTEEN]
    assert visited_sets(schedule(data, "gradual")) == [
        f"{name}/{s}" for name in FIFTEEN for s in (1, 2, 3, 4, 5, 4, 3, 2, 1)
    ]
    orders = schedule(data, "random-orders")
    passes = [visited_sets(orders)[15 * n : 15 * n + 15] for n in range(10)]
    assert all(sorted(visit) == sorted(AT_FIVE) for visit in passes)
    assert len({tuple(visit) for visit in passes}) == 10
    assert [shift["order"] for shift in orders.shifts] == [n for n in range(10) for _ in range(15)]
    assert len(schedule(data, "random-orders", orders=3).shifts) == 45
    chosen = schedule(data, sets=["snow/*", "fog/1", "clean"])
    assert visited_sets(chosen) == ["clean", *(f"snow/{s}" for s in range(1, 6)), "fog/1"]
    assert visited_sets(schedule(data, sets=["spatter/*"], severity=3)) == ["spatter/3"]


def test_resets_are_marked(data: Path) -> None:
    expected = {"gradual": range(0, 135, 9), "mixed": [0]}
    for kind in GOLDEN:
        for reset in ("never", "shift"):
            shifts = schedule(data, kind, reset=reset, orders=3 if kind == "random-orders" else None).shifts
            expected_values = range(0, len(shifts), 15) if kind == "random-orders" else [0]
            if reset == "shift":
                expected_values = expected.get(kind, range(len(shifts)))
            assert [n for n, shift in enumerate(shifts) if shift["reset"]] == [*expected_values], (kind, reset)


def test_samples_are_selected_and_shuffled_at_each_visit(data: Path, tmp_path: Path) -> None:
    for kind in ("continual", "gradual", "random-orders"):
        orders = [tuple(shift["samples"]) for shift in schedule(data, kind).shifts]
        assert len({*orders, tuple(range(40))}) == len(orders) + 1
    assert all(shift["samples"] == [*range(40)] for shift in schedule(data, shuffle=False).shifts)
    firsts = Counter(schedule(data, sets=["fog/5"], seed=seed).shifts[0]["samples"][0] for seed in range(120))
    assert max(firsts.values()) < 13  # 3 are expected
    assert schedule(data, samples=4).head["samples"] == [f"image-000{i}0" for i in range(4)]
    assert len(schedule(data, per_class=2).head["samples"]) == 14
    (tmp_path / "ids.txt").write_text("image-00039\nimage-00002\n")
    result = schedule(data, ids=tmp_path / "ids.txt")
    assert (result.head["samples"], result.head["length"]) == (["image-00002", "image-00039"], 30)
    with pytest.raises(SourceError, match="image-77"):
        schedule(data, ids=["image-77"])


@pytest.mark.parametrize(("delta", "slots"), [(0.1, 10), (0.5, 4), (20.0, 10)])
def test_slots_follow_dirichlet_distribution(delta: float, slots: int) -> None:
    """Compare the largest slot and the number of used slots over 400 classes with a simple implementation."""
    count, classes = 30, 400
    labels = np.repeat(np.arange(classes), count)
    expected = slot_counts(labels.tolist(), delta, slots)
    rng = np.random.default_rng(5)
    slow = np.array([rng.multinomial(count, rng.dirichlet([delta] * slots)) for _ in range(20 * classes)])
    assert expected.sum() == count * classes
    for statistic in (lambda n: n.max(1), lambda n: (n > 0).sum(1), lambda n: n[:, 0], lambda n: (n**2).sum(1)):
        a, b = statistic(expected).astype(float), statistic(slow).astype(float)
        assert abs(a.mean() - b.mean()) < 4 * b.std() / np.sqrt(classes)
        assert 0.8 < (a.std() + 0.05) / (b.std() + 0.05) < 1.25


def slot_counts(labels: list[int], delta: float, slots: int) -> Any:
    """Return the (classes, slots) numbers of samples. A slot ends where a new permutation of classes begins."""
    events: list[tuple[int, int]] = []
    original = schedules._shuffled

    def spied(key: Any, name: str, items: Any) -> Any:
        if name.startswith("classes "):
            events.append((int(name.split()[2]), len(items)))
        return original(key, name, items)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedules, "_shuffled", spied)
        order = schedules._in_runs(np.uint64(1), labels, list(range(len(labels))), 0, delta, slots)
    counts = np.zeros((max(labels) + 1, slots), int)
    rest = [labels[place] for place in order]
    for slot, classes in events:
        for _ in range(classes):
            length = next((n for n, label in enumerate(rest) if label != rest[0]), len(rest))
            counts[rest[0], slot] = length
            del rest[:length]
    assert not rest
    return counts


def test_labels_come_in_runs(data: Path, tmp_path: Path) -> None:
    labels = np.arange(40) % 7

    def changes(schedule: Schedule) -> float:
        runs = [labels[shift["samples"]].tolist() for shift in schedule.shifts]
        return float(np.mean([sum(a != b for a, b in pairwise(run)) for run in runs]))

    none, few, some, many = (changes(schedule(data, "correlated", delta=d, seed=2)) for d in (0, 0.01, 0.1, 10))
    assert 6 == none <= few < some < many
    assert some < 0.5 * changes(schedule(data, "continual", seed=2))
    usual = {"reset": "never", "shuffle": True, "delta": 0.1, "slots": 7}
    assert schedule(data, "correlated").head["parameters"] == usual
    thousand = record_datasets.write_records(tmp_path, count=20, classes=1000)
    assert schedule(thousand, "correlated", sets=["fog/5"]).head["parameters"]["delta"] == 0.01


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "continuous"}, "--kind continuous does not exist. Choose one of continual, gradual"),
    ({"reset": "often"}, "--reset often does not exist. Choose never or shift"),
    ({"severity": 6}, "no set of a single corruption at severity 6"),
    ({"delta": 0.1}, "--delta can only be used with --kind correlated"),
    ({"kind": "correlated", "delta": float("nan")}, "--delta is nan. Use a number from 0"),
    ({"kind": "gradual", "severity": 3}, "--severity cannot be used with --kind gradual"),
    ({"sets": ["fgo/*"]}, r"'fgo/\*' matches no set. Did you mean 'fog/\*'"),
    ({"kind": "gradual", "sets": ["fog/[1-3]", "snow/*"]}, "has no set fog/4"),
    ({"sets": ["clean"], "severity": 5}, "no set of a single corruption at severity 5"),
]


def test_schedule_rejects_invalid_arguments(data: Path, tmp_path: Path) -> None:
    for options, sentence in MISTAKES:
        with pytest.raises(ScheduleError, match=sentence):
            schedule(data, out=tmp_path / "s", **options)
        assert not (tmp_path / "s").exists()
    schedule(data, out=tmp_path / "s.jsonl")
    with pytest.raises(BuildError, match="--force"):
        schedule(data, out=tmp_path / "s.jsonl", seed=1)
    result = schedule(data, out=tmp_path / "s.jsonl", seed=1, force=True)
    assert result.digest == read_schedule(tmp_path / "s.jsonl").digest


def test_command_writes_and_describes_schedule(run: Any, tmp_path: Path) -> None:
    data = record_datasets.write_records(tmp_path / "data", count=12)
    result = run("schedule", "data")
    first = "schedule.jsonl: continual, 180 images in 15 shifts of 15 sets, 1 resets"
    assert result.out.splitlines() == [first, f"Digest: {schedule(data).digest}"]
    command_line = (
        "--kind correlated --delta 0.5 --slots 3 --reset shift --seed 4 --samples 6 --sets fog/*,snow/1 --no-shuffle"
    )
    schedule_record = run("schedule", "data", *command_line.split(), "--out", "b.jsonl", "--json").json
    options = {"delta": 0.5, "slots": 3, "reset": "shift", "seed": 4, "samples": 6, "shuffle": False}
    same = schedule(data, "correlated", sets=["fog/*", "snow/1"], **options)  # type: ignore[arg-type]
    assert (
        schedule_record["digest"],
        schedule_record["length"],
        schedule_record["resets"],
        schedule_record["samples"],
    ) == (same.digest, 36, 6, 6)
    command_line = "--kind random-orders --orders 2 --severity 1 --per-class 1 --out c --json"
    schedule_record = run("schedule", "data", *command_line.split()).json
    assert schedule_record["digest"] == schedule(data, "random-orders", orders=2, severity=1, per_class=1).digest
    for arguments, sentence in (
        (["--delta", "1", "--out", "d"], "--delta can only be used with --kind correlated"),
        (["--out", "b.jsonl"], "--force"),
        (["--ids", "none.txt", "--out", "d"], "none.txt"),
    ):
        result = run("schedule", "data", *arguments)
        assert (result.code, result.out) == (2, "")
        assert sentence in result.err


SHIFTS = [
    {"order": 0, "reset": True, "set": 1, "samples": [2, 0, 1]},
    {"order": 1, "reset": False, "set": [0, 1], "samples": [0, 0]},
]
HEAD = {
    "schedule_version": 1,
    "kind": "mixed",
    "seed": 7,
    "parameters": {"reset": "never"},
    "data_set": {"name": "some-c", "version": "1.0.0", "digest": record_datasets.SHA256},
    "length": 5,
    "sets": ["fog/5", "snow/5"],
    "samples": ["a", "b", "ü"],
    "digest": "sha256:89b5edc182942613ae4a4e8fb9644996c53e8225e05d2e750dfb20fcb7df43a6",
}


def test_file_round_trips_and_damaged_file_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"".join(canonical(line) + b"\n" for line in (HEAD, *SHIFTS))
    path = tmp_path / "continual.jsonl"
    path.write_bytes(content)
    assert read_schedule(path) == Schedule(HEAD, SHIFTS)
    # the README's own lines check the digest
    page = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")
    lines = next(block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "hashlib" in block)
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    path.write_bytes(content.replace(b"[2,0,1]", b"[2,1,0]"))
    with pytest.raises(AssertionError):
        exec(lines, {})
    for damaged in (
        content.replace(b"[2,0,1]", b"[2,1,0]"),
        content[:-20],
        content.replace(b"true", b"false"),
        b"",
        b"[]\n",
        b"\xff\n",
    ):
        path.write_bytes(damaged)
        with pytest.raises(ScheduleError, match="cannot be read or is damaged"):
            read_schedule(path)
