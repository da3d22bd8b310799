"""A NUL character in any path of a call: a mistake that is told in our words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import layouts
import pytest

import corruptset
from corruptset.errors import CorruptsetError

NUL = "a\0b"
ONE = {"sets": ["contrast/1"]}
CALLS: dict[str, Callable[[Path], Any]] = {
    "build out": lambda out: corruptset.build("imagenet-c", "sample", NUL, **ONE),
    "recipe": lambda out: corruptset.build(NUL, "sample", out),
    "source": lambda out: corruptset.build("imagenet-c", f"folder:{NUL}", out),
    "ids": lambda out: corruptset.plan("imagenet-c", ids=NUL),
    "textures": lambda out: corruptset.plan("imagenet-c", frost_textures=NUL),
    "surrogate": lambda out: corruptset.plan("pgd-5", surrogate=NUL),
    "labels": lambda out: corruptset.plan("imagenet-c", f"folder:{out}", labels=NUL),
    "groups": lambda out: corruptset.plan("imagenet-c", f"folder:{out}", groups=NUL),
    "super-categories": lambda out: corruptset.plan("imagenet-c", per_super_category=NUL),
    "plugin": lambda out: corruptset.plan("imagenet-c", plugins=[f"{NUL}.py"]),
    "disjoint from": lambda out: corruptset.build("imagenet-c", "sample", out, disjoint_from=[NUL], **ONE),
    "plan out": lambda out: corruptset.plan("imagenet-c", out=NUL, **ONE),
    "open": lambda out: corruptset.open(NUL),
    "verify": lambda out: corruptset.verify(NUL).raise_for_problems(),
    "pack": lambda out: corruptset.pack(NUL, out),
    "unpack": lambda out: corruptset.unpack([NUL], out),
    "export": lambda out: corruptset.export("imagefolder", NUL, out),
    "rebuild": lambda out: corruptset.rebuild(NUL, "sample", out),
    "score": lambda out: corruptset.score(out, NUL),
    "compare": lambda out: corruptset.compare([NUL], out),
    "model": lambda out: corruptset.load_surrogate(NUL),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_path_with_a_nul_character_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CorruptsetError):
        CALLS[name](tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_predictions_with_a_nul_character_are_refused_where_the_data_set_is_there(
    tmp_path: Path, shared: layouts.Shared
) -> None:
    with pytest.raises(CorruptsetError, match="NUL character"):
        corruptset.score(shared.build(crops={"classes": 2}, sets=["contrast/*"], format="folder"), NUL)
