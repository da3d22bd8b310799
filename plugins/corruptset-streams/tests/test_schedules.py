"""Schedules: complete, in the order that their kind says, the same on every machine; runs of labels as a Dirichlet
draws them.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import unbuilt
from corruptset_streams import Schedule, ScheduleError, read_schedule, schedule, schedules

from corruptset.errors import BuildError, SourceError
from corruptset.scores.published import FIFTEEN

KINDS = ("continual", "gradual", "mixed", "correlated", "random-orders")
GOLDEN = {
    "continual": "sha256:129089321173bc8ab3997c7e03d5bb6754ae8521a58eb2ff31a581353b45048b",
    "gradual": "sha256:3b3903e423363b2776e9d1da82ff152a473e1d194065d187e75675656f0279cf",
    "mixed": "sha256:e698c10cc3107444c6abc1667291132e7e74d7a29a0282cd6d0a5cac2a13016c",
    "correlated": "sha256:5cbc99c34950c98ce3034e6f76420be8ca329325332c131b1275cacfa542538e",
    "random-orders": "sha256:84753aad3da613739c34bb48ef16782cdaa3ba7807385511281d144af80caf84",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # a schedule names its data set
    return unbuilt.write_data_set(tmp_path_factory.mktemp("data"), "imagenet-c-all", 40, version="1.0.0")


def visits(made: Schedule) -> list[str]:
    """Return the set of each shift."""
    return [made.head["sets"][shift["set"]] for shift in made.shifts]


def test_every_shift_has_every_sample_once(data: Path) -> None:
    for kind in KINDS:
        made = schedule(data, kind)  # type: ignore[arg-type]
        for shift in made.shifts:
            wanted = range(15) if kind == "mixed" else [shift["set"]]
            sets = shift["set"] if kind == "mixed" else wanted * 40
            pairs = Counter(zip(sets, shift["samples"], strict=True))
            assert pairs == Counter((s, i) for s in wanted for i in range(40))
        assert made.head["samples"] == [f"image-{i:05d}" for i in range(40)]


def test_the_orders_are_those_of_the_kinds(data: Path) -> None:
    at_five = [f"{name}/5" for name in FIFTEEN]
    assert visits(schedule(data)) == at_five
    assert visits(schedule(data, severity=2)) == [f"{name}/2" for name in FIFTEEN]
    assert visits(schedule(data, "correlated")) == at_five
    assert visits(schedule(data, "gradual")) == [f"{name}/{s}" for name in FIFTEEN for s in (1, 2, 3, 4, 5, 4, 3, 2, 1)]
    orders = schedule(data, "random-orders")
    passes = [visits(orders)[15 * n : 15 * n + 15] for n in range(10)]
    assert all(sorted(one) == sorted(at_five) for one in passes)
    assert len({tuple(one) for one in passes}) == 10
    assert [shift["order"] for shift in orders.shifts] == [n for n in range(10) for _ in range(15)]
    assert len(schedule(data, "random-orders", orders=3).shifts) == 45
    assert visits(schedule(data, sets=["snow/*", "fog/1", "clean"])) == [
        "clean",
        *(f"snow/{s}" for s in range(1, 6)),
        "fog/1",
    ]
    assert visits(schedule(data, sets=["spatter/*"], severity=3)) == ["spatter/3"]
    assert set(visits(schedule(data, "gradual", sets=["fog/*", "snow/*"]))) == {
        f"{c}/{s}" for c in ("fog", "snow") for s in range(1, 6)
    }


def test_resets_are_marked(data: Path) -> None:
    marks = {}
    for kind in KINDS:
        for reset in ("never", "shift"):
            made = schedule(data, kind, reset=reset)  # type: ignore[arg-type]
            marks[kind, reset] = [n for n, shift in enumerate(made.shifts) if shift["reset"]]
    assert marks["continual", "never"] == marks["gradual", "never"] == marks["mixed", "shift"] == [0]
    assert marks["continual", "shift"] == marks["correlated", "shift"] == [*range(15)]
    assert marks["gradual", "shift"] == [*range(0, 135, 9)]
    assert marks["random-orders", "never"] == [*range(0, 150, 15)]
    assert marks["random-orders", "shift"] == [*range(150)]


def test_samples_are_shuffled_anew_at_each_visit(data: Path) -> None:
    for kind in ("continual", "gradual", "random-orders"):
        orders = [tuple(shift["samples"]) for shift in schedule(data, kind).shifts]  # type: ignore[arg-type]
        assert len(set(orders)) == len(orders)
        assert tuple(range(40)) not in orders
    stored = schedule(data, shuffle=False)
    assert all(shift["samples"] == [*range(40)] for shift in stored.shifts)
    assert schedule(data, seed=1).shifts[0]["samples"] != schedule(data).shifts[0]["samples"]
    firsts = Counter(int(schedule(data, sets=["fog/5"], seed=seed).shifts[0]["samples"][0]) for seed in range(120))
    assert max(firsts.values()) < 13  # 3 are expected


def test_some_samples_are_chosen_as_a_build_chooses_them(data: Path, tmp_path: Path) -> None:
    assert schedule(data, samples=4).head["samples"] == ["image-00000", "image-00010", "image-00020", "image-00030"]
    assert len(schedule(data, per_class=2).head["samples"]) == 14
    (tmp_path / "ids.txt").write_text("image-00039\nimage-00002\n")
    made = schedule(data, ids=tmp_path / "ids.txt")
    assert made.head["samples"] == ["image-00002", "image-00039"]
    assert made.head["length"] == 30
    with pytest.raises(SourceError, match="image-77"):
        schedule(data, ids=["image-77"])


def test_the_digests_are_the_same_on_every_machine(data: Path, tmp_path: Path) -> None:
    found = {}
    for kind in KINDS:
        made = schedule(data, kind, seed=3, out=tmp_path / kind)  # type: ignore[arg-type]
        assert read_schedule(tmp_path / kind).digest == made.digest
        found[kind] = made.digest
    assert found == GOLDEN


def plain_slots(rng: np.random.Generator, count: int, delta: float, slots: int) -> list[int]:
    """Return how many samples of a class fall into each slot: proportions drawn, then samples."""
    return rng.multinomial(count, rng.dirichlet([delta] * slots)).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("delta", "slots"), [(0.1, 10), (1.0, 10), (0.5, 4), (20.0, 10)])
def test_slots_are_filled_as_a_dirichlet_fills_them(delta: float, slots: int) -> None:
    """Means and spreads of the largest slot, and of how many are filled, over 400 classes, against a plain version."""
    count, classes = 30, 400
    labels = np.repeat(np.arange(classes), count)
    mine = filled(labels.tolist(), delta, slots)
    rng = np.random.default_rng(5)
    slow = np.array([plain_slots(rng, count, delta, slots) for _ in range(20 * classes)])
    assert mine.sum() == count * classes
    for statistic in (lambda n: n.max(1), lambda n: (n > 0).sum(1), lambda n: n[:, 0], lambda n: (n**2).sum(1)):
        a, b = statistic(mine).astype(float), statistic(slow).astype(float)
        assert abs(a.mean() - b.mean()) < 4 * b.std() / np.sqrt(classes)
        assert 0.8 < (a.std() + 0.05) / (b.std() + 0.05) < 1.25


def filled(labels: list[int], delta: float, slots: int) -> Any:
    """Return (classes, slots) numbers of samples: a slot ends where a class comes again, or a new permutation of
    classes begins.
    """
    seen: list[dict[str, int]] = []
    original = schedules._shuffled

    def spied(key: Any, name: str, items: Any) -> Any:
        if name.startswith("classes "):
            seen.append({"slot": int(name.split()[2]), "length": len(items)})
        return original(key, name, items)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedules, "_shuffled", spied)
        order = schedules._in_runs(np.uint64(1), labels, list(range(len(labels))), 0, delta, slots)
    counts = np.zeros((max(labels) + 1, slots), int)
    runs = [[int(labels[order[0]]), 1]]
    for label in (labels[place] for place in order[1:]):
        if label == runs[-1][0]:
            runs[-1][1] += 1
        else:
            runs.append([label, 1])
    at = 0
    for entry in seen:
        for label, length in runs[at : at + entry["length"]]:
            counts[label, entry["slot"]] = length
        at += entry["length"]
    assert at == len(runs)
    return counts


def test_labels_come_in_runs(data: Path) -> None:
    labels = np.arange(40) % 7
    changes = {}
    for delta in (0, 0.01, 0.1, 10):
        made = schedule(data, "correlated", delta=delta, seed=2)
        changes[delta] = np.mean(
            [sum(a != b for a, b in pairwise(labels[shift["samples"]].tolist())) for shift in made.shifts]
        )
    assert changes[0] == 6
    assert 6 <= changes[0.01] < changes[0.1] < changes[10]
    plain = schedule(data, "continual", seed=2)
    shuffled = np.mean([sum(a != b for a, b in pairwise(labels[shift["samples"]].tolist())) for shift in plain.shifts])
    assert changes[0.1] < 0.5 * shuffled
    assert schedule(data, "correlated").head["parameters"] == {
        "reset": "never",
        "shuffle": True,
        "delta": 0.1,
        "slots": 7,
    }


def test_thousand_classes_have_shorter_proportions(tmp_path: Path) -> None:
    many = unbuilt.write_data_set(tmp_path, count=20, classes=1000)
    assert schedule(many, "correlated", sets=["fog/5"]).head["parameters"]["delta"] == 0.01


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kind": "continuous"}, "no schedule 'continuous'"),
    ({"reset": "often"}, "reset 'often'"),
    ({"severity": 6}, "no set of one corruption at severity 6"),
    ({"delta": 0.1}, "no schedule 'continual' with reset 'never' and {'delta': 0.1}"),
    ({"kind": "mixed", "orders": 2}, "no schedule 'mixed' with reset 'never' and {'orders': 2}"),
    ({"kind": "correlated", "delta": -1.0}, "'delta': -1.0"),
    ({"kind": "correlated", "delta": float("nan")}, "'delta': nan"),
    ({"sets": ["fgo/*"]}, r"'fgo/\*' matches no set. Did you mean 'fog/\*'"),
    ({"kind": "gradual", "sets": ["fog/[1-3]", "snow/*"]}, r"'fog', 4\) is not there"),
    ({"sets": ["clean"], "severity": 5}, "no set of one corruption at severity 5"),
]


@pytest.mark.parametrize(("options", "sentence"), MISTAKES)
def test_what_cannot_be_scheduled_is_refused(
    options: dict[str, Any], sentence: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        schedule(data, out=tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()


def test_a_file_is_not_overwritten_unasked(data: Path, tmp_path: Path) -> None:
    schedule(data, out=tmp_path / "s.jsonl")
    with pytest.raises(BuildError, match="--force"):
        schedule(data, out=tmp_path / "s.jsonl", seed=1)
    assert (
        schedule(data, out=tmp_path / "s.jsonl", seed=1, force=True).digest
        == read_schedule(tmp_path / "s.jsonl").digest
    )
