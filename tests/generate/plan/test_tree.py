"""The tree applies shared stages once, and gives the same pixels as applying each chain separately."""

from __future__ import annotations

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
from corruptset.generate.plan.tree import build_tree, stages_applied, stages_naive, walk, walk_order
from corruptset.generate.recipes.set_spec import SetSpec, merge_chains

TABLE = get_calibration("tiny")
FADED = ("fade_black-02+gaussian_noise-3", "fade_black-05+gaussian_noise-3")
CHAINS = "clean contrast/3 contrast-3+gaussian_noise-1 contrast-3+gaussian_noise-2 gaussian_noise-1+contrast-3".split()
LADDER = ["fade_black/02", "fade_black/05", *FADED, "fade_black/01"]


def specs(*names: str) -> list[SetSpec]:
    return [SetSpec(name, parse_chain(name, TABLE)) for name in names]


def batch() -> np.ndarray:
    return check_images(np.random.Generator(np.random.Philox(3)).integers(0, 256, (3, 16, 24, 3), dtype=np.uint8))


@pytest.mark.parametrize(
    ("names", "coupling", "applied"),
    [
        (CHAINS, "independent", (5, 7)),
        (CHAINS, "severity", (5, 7)),
        (LADDER, "independent", (5 + 2, 2 + 5 + 3 + 6 + 1)),
    ],
)
def test_walk_gives_pixels_of_each_chain_and_applies_each_stage_once(
    names: list[str], coupling: Any, applied: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sets, images, keys = specs(*names), batch(), ["a", "b", "c"]
    root = build_tree(sets, 5, coupling)
    assert (stages_applied(root), stages_naive(sets)) == applied
    assert sorted(walk_order(root)) == sorted(names)
    counts: Counter[str] = Counter()
    original = trees.apply_stage

    def counted(images: Any, stage: Any, key: Any, *rest: Any, **options: Any) -> Any:
        counts[f"{key:x} {stage.name}"] += 1
        return original(images, stage, key, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(trees, "apply_stage", counted)
        pixels = {name: result.copy() for name, result in walk(root, images, sample_keys(keys), side=64, scale="none")}
    assert (len(counts), set(counts.values())) == (applied[0], {1})
    assert np.array_equal(images, batch())
    for spec in sets:
        alone = corrupt(images, spec.stages, calibration="tiny", key=keys, seed=5, coupling=coupling)
        assert np.array_equal(pixels[spec.id], alone), spec.id
    if names == LADDER:  # noise after a gradual degradation is drawn separately for every level
        noise = [pixels[name].astype(int) - pixels[f"fade_black/{name[11:13]}"] for name in FADED]
        middle = (pixels["fade_black/05"] > 90) & (pixels["fade_black/02"] < 160)
        assert middle.sum() > 100
        assert abs(np.corrcoef(noise[0][middle], noise[1][middle])[0, 1]) < 0.2
    else:
        assert not np.array_equal(pixels["contrast-3+gaussian_noise-1"], pixels["gaussian_noise-1+contrast-3"])


def test_names_of_same_chain_become_aliases() -> None:
    row = dict(TABLE.row("gaussian_noise", 2).parameters)
    explicit = SetSpec("given", (resolve_stage("gaussian_noise", TABLE, parameters=row),), aliases=("G",))
    noise, contrast = specs("gaussian_noise/2", "contrast/3")
    sets = [replace(noise, aliases=("n2",)), explicit, contrast, replace(explicit, id="again", aliases=())]
    merged = merge_chains(sets, 0, "independent")
    assert [(s.id, s.aliases, s.entries) for s in merged] == [
        ("gaussian_noise/2", ("n2", "given", "G", "again"), 3),
        ("contrast/3", (), 1),
    ]
    # with coupling = "severity", a severity draws differently from a stage with the same explicit parameters
    assert len(merge_chains(sets, 0, "severity")) == 3
