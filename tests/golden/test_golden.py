"""Output bytes do not change without a revision, and do not depend on the processor."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import digests as golden

RECORDED = json.loads(golden.FILE.read_text())


@pytest.mark.parametrize("name", golden.RECORDABLE)
def test_output_bytes_are_the_recorded_ones(name):
    recorded = {name: RECORDED[name]} if name in RECORDED else {}
    assert golden.differences(recorded, golden.measure([name])) == []


def test_nothing_is_recorded_that_is_not_registered():
    assert set(RECORDED) <= set(golden.RECORDABLE)


def test_only_what_follows_a_model_is_not_recorded():
    assert set(golden.corruption_names()) - set(golden.RECORDABLE) == {"pgd", "model_gradient"}


def test_every_corruption_is_recorded_by_its_tables_or_by_name():
    assert all(golden.listed(entry) for entry in RECORDED.values())
    assert {name: list(sets) for name, sets in golden.NAMED.items()} == {
        n: list(e["named"]) for n, e in RECORDED.items() if "named" in e
    }


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
    assert line.endswith("output bytes changed at tiny 3; record them with python -m tests.golden --write fog")
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


def test_the_command_records_what_is_new_and_refuses_changed_bytes(tmp_path, monkeypatch, capsys):
    file = tmp_path / "digests.json"
    monkeypatch.setattr(golden, "FILE", file)
    without = {name: entry for name, entry in RECORDED.items() if name not in ("stripe", "inverse")}
    file.write_text(json.dumps(without))
    assert golden.main(["stripe"]) == 1
    assert (
        capsys.readouterr().out
        == "stripe: has no golden digests; record them with python -m tests.golden --write stripe\n"
    )
    assert golden.main(["--write", "stripe"]) == 0
    assert json.loads(file.read_text()) == without | {"stripe": RECORDED["stripe"]}, "and no other corruption"
    assert list(json.loads(file.read_text())) == sorted([*without, "stripe"])
    assert golden.main(["stripe"]) == 0
    changed = RECORDED | {"stripe": {"revision": 1, "digests": {"mnist": ["0" * 32]}}}
    file.write_text(json.dumps(changed))
    assert golden.main(["--write", "stripe"]) == 1
    assert "Refused:\n  stripe: output bytes changed at mnist 1; mend it" in capsys.readouterr().out
    assert json.loads(file.read_text()) == changed
    assert golden.main(["--write", "strype"]) == 2
    assert "There is no corruption 'strype'. Did you mean 'stripe'?" in capsys.readouterr().out


def test_a_corruption_without_rows_needs_named_parameters():
    (line,) = golden.differences({}, {"own": {"revision": 1, "digests": {}}})
    assert line == "own: has no rows in a table, so give it parameters in NAMED of tests/golden/digests.py"


WITHOUT_IPP = {"OPENCV_IPP": "disabled"}
WITHOUT_AVX = {"OPENCV_CPU_DISABLE": "AVX2,AVX512_SKX,AVX512-SKX,FP16,FMA3"}
WITHOUT_SIMD = {
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
}
VARIANTS = {
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", **WITHOUT_IPP, **WITHOUT_AVX, **WITHOUT_SIMD},
    "no-ipp": WITHOUT_IPP,
}
"""All that a processor may lack at once; and OpenCV's own AVX code in place of IPP's, which stands before it where IPP
is there.
"""


SOME = ("contrast", "fog", "frost", "saturate", "shot_noise", "zoom_blur")
"""Long sums, divisions, OpenCV's resize and tables: where processors would differ first. To compile all kernels anew
takes minutes.
"""


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        pytest.param("generic", SOME, marks=pytest.mark.ci, id="generic"),
        pytest.param("generic", (), marks=pytest.mark.long, id="generic-all"),
        pytest.param("no-ipp", (), marks=pytest.mark.ci, id="no-ipp"),
    ],
)
def test_output_bytes_do_not_depend_on_the_processor(variant, names, tmp_path):
    environment = os.environ | VARIANTS[variant]
    if variant == "generic":  # its own kernels, and tables and textures made anew by them
        environment["CORRUPTSET_CACHE"] = str(tmp_path / "cache")
        # numpy refuses names that this processor or this release does not know
        environment |= {name: " ".join(_numpy_features(value.split())) for name, value in WITHOUT_SIMD.items()}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    asked = {name: entry for name, entry in RECORDED.items() if not names or name in names}
    assert done.stdout.strip() == f"{golden.count(asked)} digests equal"


def _numpy_features(wanted: list[str]) -> list[str]:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return [f for f in wanted if f in __cpu_dispatch__ and __cpu_features__.get(f)] or [
        f for f in __cpu_dispatch__ if __cpu_features__.get(f)
    ]
