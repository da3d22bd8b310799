"""The tree shares what chains have in common, and walks to the same pixels as chain after chain."""

import weakref
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corruptset.corruptions.calibrations import get_calibration
from corruptset.corruptions.call import corrupt
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.stages import check_images, parse_chain, resolve_stage
from corruptset.generate.plan import tree as trees
from corruptset.generate.plan.tree import buffers, grow, stages_applied, stages_naive, walk, walk_order
from corruptset.generate.recipes.set_spec import SetSpec, merge_chains

TABLE = get_calibration("tiny")


def spec(name: str, *aliases: str) -> SetSpec:
    return SetSpec(name, parse_chain(name, TABLE), aliases=aliases)


CHAINS = [
    "clean",
    "contrast/3",
    "contrast-3+gaussian_noise-1",
    "contrast-3+gaussian_noise-2",
    "gaussian_noise-1+contrast-3",
    "brightness/1",
]


def batch() -> np.ndarray:
    rng = np.random.Generator(np.random.Philox(3))
    return check_images(rng.integers(0, 256, (3, 16, 24, 3), dtype=np.uint8))


def test_beginnings_are_shared() -> None:
    sets = [spec(c) for c in CHAINS]
    root = grow(sets, 0, "independent")
    assert (stages_applied(root), stages_naive(sets)) == (6, 8)
    assert sorted(walk_order(root)) == sorted(CHAINS)


def test_a_walk_applies_each_stage_once(monkeypatch: pytest.MonkeyPatch) -> None:
    applied: Counter[str] = Counter()
    real = trees.apply_stage

    def counted(images: Any, stage: Any, key: Any, *rest: Any, **options: Any) -> Any:
        applied[f"{key:x} {stage.name}"] += 1
        return real(images, stage, key, *rest, **options)

    monkeypatch.setattr(trees, "apply_stage", counted)
    root = grow([spec(c) for c in CHAINS], 0, "independent")
    list(walk(root, batch(), sample_keys("abc"), side=64, scale="none"))
    assert len(applied) == 6
    assert set(applied.values()) == {1}


@pytest.mark.parametrize("coupling", ["independent", "severity"])
def test_a_walk_gives_the_pixels_of_each_chain_alone(coupling: Any) -> None:
    sets = [spec(c) for c in CHAINS]
    images, keys = batch(), sample_keys(["a", "b", "c"])
    before = images.copy()
    seen = {}
    for name, got in walk(grow(sets, 5, coupling), images, keys, side=64, scale="none"):
        seen[name] = got.copy()
    assert np.array_equal(images, before)
    for one in sets:
        alone = corrupt(images, one.stages, calibration="tiny", key=["a", "b", "c"], seed=5, coupling=coupling)
        assert np.array_equal(seen[one.id], alone), one.id
    assert not np.array_equal(seen["contrast-3+gaussian_noise-1"], seen["gaussian_noise-1+contrast-3"])


LADDER = [
    "fade_black/02",
    "fade_black/05",
    "fade_black-02+gaussian_noise-3",
    "fade_black-05+gaussian_noise-3",
    "fade_black/01",
]


def test_a_ladder_is_one_pass_and_every_level_that_of_the_level_alone() -> None:
    sets = [spec(c) for c in LADDER]
    root = grow(sets, 0, "independent")
    assert (stages_applied(root), stages_naive(sets)) == (5 + 2, 2 + 5 + 3 + 6 + 1)
    assert (buffers(root), buffers(grow([spec("fade_black/30")], 0, "independent"))) == (3, 2)
    keys = sample_keys(["a", "b", "c"])
    seen = {name: got.copy() for name, got in walk(root, batch(), keys, side=64, scale="none")}
    for one in sets:
        alone = corrupt(batch(), one.stages, calibration="tiny", key=["a", "b", "c"])
        assert np.array_equal(seen[one.id], alone), one.id
    # noise after a level is drawn anew for every level
    noise = [seen[f"fade_black-{n}+gaussian_noise-3"].astype(int) - seen[f"fade_black/{n}"] for n in ("02", "05")]
    middle = (seen["fade_black/05"] > 90) & (seen["fade_black/02"] < 160)
    assert middle.sum() > 100
    assert abs(np.corrcoef(noise[0][middle], noise[1][middle])[0, 1]) < 0.2


def test_a_walk_lets_go_of_what_is_no_longer_needed() -> None:
    sets = [spec(f"fade_black/{level:02d}") for level in range(1, 31)]
    alive: list[Any] = []
    most = 0
    for _, got in walk(grow(sets, 0, "independent"), batch(), sample_keys("abc"), side=64, scale="none"):
        alive.append(weakref.ref(got))
        del got
        most = max(most, sum(one() is not None for one in alive))
    assert most <= 2


def test_names_of_one_chain_become_aliases() -> None:
    row = dict(TABLE.row("gaussian_noise", 2).parameters)
    given = SetSpec("given", (resolve_stage("gaussian_noise", TABLE, parameters=row),), aliases=("G",))
    sets = [spec("gaussian_noise/2", "n2"), given, spec("contrast/3")]
    merged = merge_chains(sets, 0, "independent")
    assert [(s.id, s.aliases) for s in merged] == [("gaussian_noise/2", ("n2", "given", "G")), ("contrast/3", ())]
    assert [s.entries for s in merge_chains([*sets, replace(given, id="again", aliases=())], 0, "independent")] == [
        3,
        1,
    ]
    # severities that share draws draw otherwise than the same parameters given outright
    assert len(merge_chains(sets, 0, "severity")) == 3


def test_two_sets_of_one_chain_cannot_grow() -> None:
    one = spec("contrast/3")
    with pytest.raises(ValueError, match="same chain"):
        grow([one, SetSpec("other", one.stages)], 0, "independent")
