"""Digests: pinned, recomputed from their definition in the format page, and sensitive to all that they are of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from numpy.typing import NDArray

from corruptset.manifests.records.digests import build_digest, set_digest, sha256_bytes, sha256_file, source_digest
from corruptset.manifests.records.models import ClassRecord
from corruptset.pixels import pixel_digest, pixel_hashes

RAMP: NDArray[np.uint8] = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)


def test_pixels_by_definition() -> None:
    assert pixel_digest(RAMP) == "blake3:" + blake3(b"8,9,3\n" + RAMP.tobytes()).hexdigest()


@pytest.mark.parametrize("shape", [(1, 57, 1), (1, 1018, 1), (28, 28, 1), (32, 32, 3), (71, 71, 3), (640, 600, 3)])
def test_pixels_of_a_batch_are_those_of_its_images(shape: tuple[int, int, int]) -> None:
    rng = np.random.Generator(np.random.Philox(3))
    for count in (0, 1, 3, 400 if shape[0] < 40 else 5):
        images = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
        head = "{},{},{}\n".format(*shape).encode()
        assert pixel_hashes(images) == [blake3(head + image.tobytes()).hexdigest() for image in images]


def test_pixels_pinned() -> None:
    assert pixel_digest(RAMP) == "blake3:0a03db8d27e29d32995b31c9b6308aefceef14bbfc83ac34659c2f3e261231e8"


def test_pixels_do_not_depend_on_memory_layout() -> None:
    for other in (np.asfortranarray(RAMP), np.repeat(RAMP, 2, axis=1)[:, ::2], RAMP[::-1][::-1]):
        assert pixel_digest(other) == pixel_digest(RAMP)
    frozen = RAMP.copy()
    frozen.flags.writeable = False
    assert pixel_digest(frozen) == pixel_digest(RAMP)


@pytest.mark.parametrize("shape", [(9, 8, 3), (8, 27, 1), (24, 9, 1)])
def test_pixels_depend_on_the_shape(shape: tuple[int, int, int]) -> None:
    assert pixel_digest(RAMP.reshape(shape)) != pixel_digest(RAMP)


def test_sets_by_definition_and_order() -> None:
    one, other = pixel_digest(RAMP), pixel_digest(RAMP[::-1])
    assert set_digest([one, other]) == "blake3:" + blake3(bytes.fromhex(one[7:]) + bytes.fromhex(other[7:])).hexdigest()
    assert set_digest([one, other]) != set_digest([other, one])
    assert set_digest([]) == "blake3:" + blake3(b"").hexdigest()


SAMPLES = [("a", 0, "sha256:" + "0" * 64), ("bé", 1, "sha256:" + "1" * 64)]


def test_source_by_definition() -> None:
    text = json.dumps([list(s) for s in SAMPLES], ensure_ascii=False, separators=(",", ":"))
    assert source_digest(SAMPLES) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert source_digest(SAMPLES[::-1]) != source_digest(SAMPLES)


STAGE = {"corruption": "fog", "revision": 1, "severity": 3, "level": None, "parameters": {"amount": 2.5, "decay": 2.0}}
BUILD: dict[str, Any] = {
    "seed": 7,
    "preprocessing": {"kind": "none"},
    "classes": [ClassRecord(index=0, name="käfer", folder="0_käfer"), ClassRecord(index=1, name="dog", folder="1_dog")],
    "samples": SAMPLES,
    "sets": [("fog/3", [STAGE], 2, "blake3:" + "2" * 64), ("clean", [], 2, "blake3:" + "3" * 64)],
}


def test_build_by_definition() -> None:
    text = (
        '{{"classes":[[0,"käfer","0_käfer"],[1,"dog","1_dog"]],"preprocessing":{{"kind":"none"}},'
        '"samples":[["a",0,"sha256:{}"],["bé",1,"sha256:{}"]],"schema_version":2,"seed":7,'
        '"sets":[["clean",[],2,"blake3:{}"],["fog/3",[{{"corruption":"fog","level":null,"parameters":{{"amount":2.5,"decay":2}},'
        '"revision":1,"severity":3}}],2,"blake3:{}"]]}}'
    ).format("0" * 64, "1" * 64, "3" * 64, "2" * 64)
    assert build_digest(**BUILD) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_build_does_not_depend_on_the_order_of_sets() -> None:
    assert build_digest(**{**BUILD, "sets": BUILD["sets"][::-1]}) == build_digest(**BUILD)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"preprocessing": {"kind": "resize"}},
        {"classes": BUILD["classes"][:1]},
        {"classes": BUILD["classes"][::-1]},
        {"classes": [ClassRecord(index=0, name="dog", folder="0_käfer"), BUILD["classes"][1]]},
        {"classes": [ClassRecord(index=0, name="käfer", folder="1_dog"), BUILD["classes"][1]]},
        {"samples": SAMPLES[::-1]},
        {"samples": [("a", 1, SAMPLES[0][2]), SAMPLES[1]]},
        {"sets": BUILD["sets"][:1]},
        {"sets": [("fog/3", [{**STAGE, "revision": 2}], 2, "blake3:" + "2" * 64), BUILD["sets"][1]]},
        {"sets": [("fog/3", [STAGE], 3, "blake3:" + "2" * 64), BUILD["sets"][1]]},
        {"sets": [("fog/3", [STAGE], 2, "blake3:" + "4" * 64), BUILD["sets"][1]]},
        {"sets": [("fog/4", [STAGE], 2, "blake3:" + "2" * 64), BUILD["sets"][1]]},
    ],
)
def test_build_depends_on_all_that_it_is_of(change: dict[str, Any]) -> None:
    assert build_digest(**{**BUILD, **change}) != build_digest(**BUILD)


def test_one_benchmark_has_one_digest_in_every_container(templates: Callable[..., Path]) -> None:
    kinds = [
        templates(encoding_format=f, containers=c)
        for f in ("png", "jpeg")
        for c in (("folder",), ("hdf5",), ("folder", "hdf5"))
    ]
    assert len({json.loads((root / "manifest.json").read_text("utf-8"))["digest"] for root in kinds}) == 1


def test_files(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    (tmp_path / "x").write_bytes(data)
    assert (
        sha256_file(tmp_path / "x")
        == sha256_bytes(data)
        == sha256_bytes(memoryview(data))
        == "sha256:" + hashlib.sha256(data).hexdigest()
    )
