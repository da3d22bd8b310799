"""How a user's frost textures differ from the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from corruptset.corruptions.weather.textures import (
    MOST,
    PUBLISHED,
    TextureSet,
    default_textures,
    differences,
    load_textures,
)
from corruptset.errors import SourceError

ONE, TWO, FOUR, FIVE = PUBLISHED


def icy(seed, shape=(350, 527), mean=(78, 149, 166), contrast=20):
    """A picture with the mean colour and contrast of the published ones."""
    grain = np.random.default_rng(seed).normal(0, contrast, shape)
    return np.clip(np.array(mean) + grain[..., None], 0, 255).astype(np.uint8)


def of(hashes, picks, arrays=None):
    """Textures of these hashes; what they look like does not matter where the hashes are the published ones."""
    names = tuple(f"frost{i}.png" for i in range(1, len(hashes) + 1))
    return TextureSet(
        names, tuple(hashes), tuple(picks), ("directory", "d"), tuple(arrays or [icy(i) for i in range(len(hashes))])
    )


def test_the_published_pictures_need_no_note():
    six = [ONE, TWO, TWO, FOUR, FIVE, "sha256:6"]
    assert differences(of(six, range(5))) == []
    assert differences(of(six[:5], range(5))) == []
    (note,) = differences(of(six, range(6)))
    assert "different pictures to draw from: 5; the published sets have 4" in note
    (note,) = differences(of([ONE, TWO, FOUR, FIVE], range(4)))
    assert "these are the published pictures, drawn otherwise" in note


def test_others_are_told_picture_by_picture():
    found = {
        "like.png": icy(1),
        "tiny.png": icy(2, (40, 500)),
        "huge.png": icy(3, (1300, 1301)),
        "flat.png": icy(4, contrast=2),
        "dark.png": icy(5, mean=(20, 30, 40)),
        "warm.png": icy(6, mean=(170, 150, 120)),
    }
    textures = TextureSet(
        tuple(found), tuple(f"sha256:{i}" for i in range(6)), tuple(range(6)), ("directory", "d"), tuple(found.values())
    )
    (note,) = differences(textures)
    first, count, *lines = note.split("\n")
    assert "not the published ones" in first
    assert "docs/frost.md" in first
    assert count.strip() == "different pictures to draw from: 6; the published sets have 4"
    assert [line.strip().partition(":")[0] for line in lines] == [
        "tiny.png",
        "huge.png",
        "flat.png",
        "dark.png",
        "warm.png",
    ]
    for line, word in zip(lines, ["500x40", "1301x1300", "contrast", "mean grey level", "is more red"], strict=True):
        assert word in line


def test_textures_rendered_here_are_like_the_published_ones_in_all_that_is_looked_at():
    (note,) = differences(default_textures(224, 224))
    assert note.count("\n") == 0


def test_a_folder_of_photographs_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    for i in range(MOST + 1):
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / f"{i}.png")
    monkeypatch.setattr(Image, "open", lambda *_: pytest.fail("a picture was read"))
    with pytest.raises(SourceError, match=f"There are {MOST + 1} pictures .* expected at most {MOST}"):
        load_textures(tmp_path)


def test_what_covers_an_image_is_what_frost_takes(tmp_path):
    for name, shape in {"a.png": (100, 300), "b.png": (160, 160)}.items():
        Image.fromarray(icy(0, shape)).save(tmp_path / name)
    textures = load_textures(tmp_path)
    assert textures.not_covering(1, 100, 150) == []
    assert textures.not_covering(1, 101, 100) == ["a.png: 100x300"]
    assert textures.not_covering(0.2, 32, 32) == ["a.png: 100x300"]
    assert textures.not_covering(0.2, 33, 20) == ["a.png: 100x300", "b.png: 160x160"]
