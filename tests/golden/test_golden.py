"""Output bytes do not change without a revision, and do not depend on the processor."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("golden_digests", HERE / "digests.py")
assert spec is not None
assert spec.loader is not None
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)
RECORDED = json.loads(golden.FILE.read_text())


@pytest.mark.parametrize("name", golden.corruption_names())
def test_output_bytes_are_the_recorded_ones(name):
    recorded = {name: RECORDED[name]} if name in RECORDED else {}
    assert golden.differences(recorded, golden.measure([name])) == []


def test_nothing_is_recorded_that_is_not_registered():
    assert sorted(RECORDED) == sorted(golden.corruption_names())


def test_every_corruption_is_recorded_by_its_tables_or_by_name():
    for name, entry in RECORDED.items():
        assert golden.listed(entry), name
        found = golden.get_corruption(name)
        assert bool(entry["digests"]) == (found.tabled or found.gradual is not None), name
    assert {name: list(sets) for name, sets in golden.NAMED.items()} == {n: list(e["named"]) for n, e in RECORDED.items() if "named" in e}


def test_changed_bytes_need_a_revision():
    now = {"fog": RECORDED["fog"]}
    assert golden.differences(now, now) == []
    changed = copy.deepcopy(now)
    changed["fog"]["digests"]["tiny"][2] = "0" * 32
    (line,) = golden.differences(now, changed)
    assert "tiny 3" in line
    assert "bump its revision" in line
    changed["fog"]["revision"] += 1
    (line,) = golden.differences(now, changed)
    assert line.endswith("record them with --write")
    unchanged = copy.deepcopy(now)
    unchanged["fog"]["revision"] += 1
    assert "no byte changed" in golden.differences(now, unchanged)[0]
    assert "no golden digests" in golden.differences({}, now)[0]
    without = copy.deepcopy(now)
    del without["fog"]["digests"]["mnist"]
    (line,) = golden.differences(without, now)
    assert "no golden digests for mnist; record them" in line
    (line,) = golden.differences(now, without)
    assert "mnist 1, mnist 2, mnist 3, mnist 4, mnist 5; mend it" in line
    assert "no longer registered" in golden.differences(now, {})[0]


def test_changed_bytes_of_named_parameters_need_a_revision():
    now = {"salt_pepper": RECORDED["salt_pepper"]}
    assert golden.differences(now, now) == []
    changed = copy.deepcopy(now)
    changed["salt_pepper"]["named"]["density 0.1"] = "0" * 32
    (line,) = golden.differences(now, changed)
    assert "output bytes changed at density 0.1; mend it, or bump its revision" in line
    without = copy.deepcopy(now)
    del without["salt_pepper"]["named"]["density 0.1"]
    (line,) = golden.differences(without, now)
    assert "no golden digests for density 0.1; record them" in line
    (line,) = golden.differences(now, without)
    assert "density 0.1; mend it" in line


VARIANTS = {
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no-avx-in-opencv": {"OPENCV_CPU_DISABLE": "AVX2,AVX512_SKX,AVX512-SKX,FP16,FMA3"},
    "no-ipp": {"OPENCV_IPP": "disabled"},
    "no-simd-in-numpy": {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"},
}


@pytest.mark.ci
@pytest.mark.parametrize("variant", VARIANTS)
def test_output_bytes_do_not_depend_on_the_processor(variant, tmp_path):
    environment = os.environ | VARIANTS[variant]
    if variant == "generic":  # its own kernels, and tables and textures made anew by them
        environment["CORRUPTSET_CACHE"] = str(tmp_path / "cache")
    if variant == "no-simd-in-numpy":  # numpy refuses names that this processor or this release does not know
        environment["NPY_DISABLE_CPU_FEATURES"] = " ".join(_numpy_features(VARIANTS[variant]["NPY_DISABLE_CPU_FEATURES"].split()))
    code = f"import sys; sys.argv = ['digests.py']; import runpy; runpy.run_path({str(HERE / 'digests.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == f"{golden.count(RECORDED)} digests equal"


def _numpy_features(wanted: list[str]) -> list[str]:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [f for f in wanted if f in __cpu_dispatch__ and __cpu_features__.get(f)] or [
        f for f in __cpu_dispatch__ if __cpu_features__.get(f)
    ]
