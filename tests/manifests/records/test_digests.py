"""Digests: pinned, recomputed from their definition in the format page, and sensitive to all that they are of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from corruptset.manifests.records.digests import build_digest, set_digest, sha256_bytes, sha256_file, source_digest
from corruptset.manifests.records.models import ClassRecord
from corruptset.pixels import pixel_digest, pixel_hashes

RAMP: NDArray[np.uint8] = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)


def test_pixels_by_definition_for_any_memory_layout_and_batch() -> None:
    assert pixel_digest(RAMP) == "blake3:" + blake3(b"8,9,3\n" + RAMP.tobytes()).hexdigest()
    assert pixel_digest(RAMP) == "blake3:0a03db8d27e29d32995b31c9b6308aefceef14bbfc83ac34659c2f3e261231e8"
    frozen = RAMP.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(RAMP), np.repeat(RAMP, 2, axis=1)[:, ::2], RAMP[::-1][::-1], frozen):
        assert pixel_digest(other) == pixel_digest(RAMP)
    for shape in ((9, 8, 3), (8, 27, 1), (24, 9, 1)):
        assert pixel_digest(RAMP.reshape(shape)) != pixel_digest(RAMP)
    rng = np.random.Generator(np.random.Philox(3))
    for shape in ((1, 57, 1), (28, 28, 1), (32, 32, 3), (640, 600, 3)):
        for count in (0, 1, 3, 400 if shape[0] < 40 else 5):
            images = rng.integers(0, 256, (count, *shape), dtype=np.uint8)
            head = "{},{},{}\n".format(*shape).encode()
            assert pixel_hashes(images) == [blake3(head + image.tobytes()).hexdigest() for image in images]


SAMPLES = [("a", 0, "sha256:" + "0" * 64), ("bé", 1, "sha256:" + "1" * 64)]
STAGE = {"corruption": "fog", "revision": 1, "severity": 3, "level": None, "parameters": {"amount": 2.5, "decay": 2.0}}
CLASSES = [ClassRecord(index=0, name="käfer", folder="0_käfer"), ClassRecord(index=1, name="dog", folder="1_dog")]
FOG, CLEAN = ("fog/3", [STAGE], 2, "blake3:" + "2" * 64), ("clean", [], 2, "blake3:" + "3" * 64)
BUILD: dict[str, Any] = {
    "seed": 7,
    "preprocessing": {"kind": "none"},
    "classes": CLASSES,
    "samples": SAMPLES,
    "sets": [FOG, CLEAN],
}


def test_sets_sources_and_files_by_definition(tmp_path: Path) -> None:
    one, other = pixel_digest(RAMP), pixel_digest(RAMP[::-1])
    assert set_digest([one, other]) == "blake3:" + blake3(bytes.fromhex(one[7:]) + bytes.fromhex(other[7:])).hexdigest()
    assert set_digest([one, other]) != set_digest([other, one])
    assert set_digest([]) == "blake3:" + blake3(b"").hexdigest()
    text = json.dumps([list(s) for s in SAMPLES], ensure_ascii=False, separators=(",", ":"))
    assert source_digest(SAMPLES) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    data = bytes(range(256)) * 5000
    (tmp_path / "x").write_bytes(data)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    assert sha256_file(tmp_path / "x") == sha256_bytes(data) == sha256_bytes(memoryview(data)) == digest


def test_builds_by_definition_and_of_all_that_counts(templates: Callable[..., Path]) -> None:
    text = (
        '{{"classes":[[0,"käfer","0_käfer"],[1,"dog","1_dog"]],"preprocessing":{{"kind":"none"}},'
        '"samples":[["a",0,"sha256:{}"],["bé",1,"sha256:{}"]],"schema_version":2,"seed":7,'
        '"sets":[["clean",[],2,"blake3:{}"],["fog/3",[{{"corruption":"fog","level":null,"parameters":{{"amount":2.5,"decay":2}},'
        '"revision":1,"severity":3}}],2,"blake3:{}"]]}}'
    ).format("0" * 64, "1" * 64, "3" * 64, "2" * 64)
    digest = build_digest(**BUILD)
    assert (
        digest
        == build_digest(**BUILD | {"sets": [CLEAN, FOG]})
        == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    )
    changes: list[dict[str, Any]] = [
        {"seed": 8},
        {"preprocessing": {"kind": "resize"}},
        {"classes": CLASSES[:1]},
        {"classes": CLASSES[::-1]},
        {"classes": [ClassRecord(index=0, name="dog", folder="0_käfer"), CLASSES[1]]},
        {"classes": [ClassRecord(index=0, name="käfer", folder="1_dog"), CLASSES[1]]},
        {"samples": SAMPLES[::-1]},
        {"samples": [("a", 1, SAMPLES[0][2]), SAMPLES[1]]},
        {"sets": [FOG]},
        *[{"sets": [(*FOG[:at], value, *FOG[at + 1 :]), CLEAN]} for at, value in (
            (0, "fog/4"), (1, [{**STAGE, "revision": 2}]), (2, 3), (3, "blake3:" + "4" * 64)
        )],
    ]  # fmt: skip
    for change in changes:
        assert build_digest(**BUILD | change) != digest, change
    forms = [(f, c) for f in ("png", "jpeg") for c in (("folder",), ("hdf5",), ("folder", "hdf5"))]
    manifests = [templates(encoding_format=form, containers=containers) / "manifest.json" for form, containers in forms]
    assert len({json.loads(manifest.read_text("utf-8"))["digest"] for manifest in manifests}) == 1
