"""Digests are equal to those computed from the documentation, and depend on all documented values."""

import hashlib
import json

import numpy as np
from blake3 import blake3

from corruptset.manifests.records.digests import build_digest, set_digest, source_digest
from corruptset.manifests.records.models import ClassRecord
from corruptset.pixels import pixel_digest

RAMP = np.arange(8 * 9 * 3, dtype=np.uint8).reshape(8, 9, 3)


def sha256_of(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_set_and_pixel_digests_ignore_memory_layout():
    """The digest of pixels of every size is tested in tests/api."""
    one, other = pixel_digest(RAMP), pixel_digest(RAMP[::-1])
    for same in (np.asfortranarray(RAMP), np.repeat(RAMP, 2, axis=1)[:, ::2], RAMP[::-1][::-1]):
        assert pixel_digest(same) == one
    assert set_digest([one, other]) == "blake3:" + blake3(bytes.fromhex(one[7:]) + bytes.fromhex(other[7:])).hexdigest()


def test_source_and_build_digests_cover_all_relevant_inputs(templates):
    samples = [("a", 0, "sha256:" + "0" * 64), ("bé", 1, "sha256:" + "1" * 64)]
    assert source_digest(samples) == sha256_of(samples)
    stage = {"corruption": "fog", "revision": 1, "severity": 3, "level": None, "parameters": {"amount": 2.5}}
    classes = [ClassRecord(index=i, name=name, folder=f"{i}_{name}") for i, name in enumerate(("käfer", "dog"))]
    clean, fog = ("clean", [], 2, "blake3:" + "3" * 64), ("fog/3", [stage], 2, "blake3:" + "2" * 64)
    build = {"seed": 7, "preprocessing": {"kind": "none"}, "classes": classes, "samples": samples}
    build["sets"] = [fog, clean]
    inputs = {"classes": [[0, "käfer", "0_käfer"], [1, "dog", "1_dog"]], "sets": [clean, fog], "schema_version": 2}
    digest = build_digest(**build)
    assert digest == build_digest(**build | {"sets": [clean, fog]}) == sha256_of(build | inputs)
    for change in ({"classes": classes[::-1]}, {"samples": samples[::-1]}):  # values whose order matters
        assert build_digest(**build | change) != digest, change
    # neither the encoding nor the container matters
    forms = [(f, c) for f in ("png", "jpeg") for c in (("folder",), ("hdf5",))]
    manifests = [templates(encoding_format=form, containers=containers) / "manifest.json" for form, containers in forms]
    assert len({json.loads(manifest.read_text("utf-8"))["digest"] for manifest in manifests}) == 1
