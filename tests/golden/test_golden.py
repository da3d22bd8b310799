"""Output bytes do not change without a revision, and do not depend on the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

sys.path.insert(0, str(Path(__file__).parent))
import digests as golden

RECORDED = json.loads(golden.FILE.read_text())


@pytest.mark.parametrize("name", golden.RECORDABLE)
def test_output_bytes_match_golden_digests(name):
    recorded = {name: RECORDED[name]} if name in RECORDED else {}
    assert golden.differences(recorded, golden.measure([name])) == []


def test_every_corruption_without_model_has_digest():
    assert set(RECORDED) <= set(golden.RECORDABLE)
    assert set(golden.corruption_names()) - set(golden.RECORDABLE) == {"pgd", "model_gradient"}
    assert all(golden.digests_by_set(entry) for entry in RECORDED.values())
    named_digests = {name: list(entry["named"]) for name, entry in RECORDED.items() if "named" in entry}
    assert named_digests == {name: list(sets) for name, sets in golden.NAMED.items()}


def test_changed_bytes_require_revision():
    def entry(revision=1, named=None, **digests):
        return {"own": {"revision": revision, "digests": digests} | ({"named": named} if named else {})}

    now = entry(tiny=["a", "b"], named={"density 0.1": "c"})
    assert golden.differences(now, now) == []
    write = "record them with python -m tests.golden --write own"
    mend = f"mend it, or bump its revision, say why in DATASETS.md, and {write}"
    without = "own: has no golden digests for"
    for recorded, measured, line in (
        (now, entry(tiny=["a", "x"], named={"density 0.1": "c"}), f"own: output bytes changed at tiny 2; {mend}"),
        (now, entry(2, tiny=["a", "x"], named={"density 0.1": "c"}), f"own: output bytes changed at tiny 2; {write}"),
        (now, entry(tiny=["a", "b"], named={"density 0.1": "x"}), f"own: output bytes changed at density 0.1; {mend}"),
        (now, entry(named={"density 0.1": "c"}), f"own: output bytes changed at tiny 1, tiny 2; {mend}"),
        (entry(named={"density 0.1": "c"}), now, f"{without} tiny 1, tiny 2; {write}"),
        ({}, now, f"{without} tiny 1, tiny 2, density 0.1; {write}"),
        (entry(tiny=["a"]), entry(2, tiny=["a"]), "own: revision 1 -> 2, but no byte changed"),
        (now, {}, "own: recorded, but no longer registered"),
        ({}, entry(), "own: has no rows in a table, so give it parameters in NAMED of tests/golden/digests.py"),
    ):
        assert golden.differences(recorded, measured) == [line]


def test_command_records_new_digests_and_rejects_changed_bytes(tmp_path, monkeypatch, capsys):
    file = tmp_path / "digests.json"
    monkeypatch.setattr(golden, "FILE", file)
    without = {name: entry for name, entry in RECORDED.items() if name not in ("stripe", "inverse")}
    changed = RECORDED | {"stripe": {"revision": 1, "digests": {"mnist": ["0" * 32]}}}
    for before, command, leaves, message in (
        (without, "stripe", 1, "stripe: has no golden digests for mnist 1"),
        (without, "--write stripe", 0, "1 of 1 corruptions had new digests"),
        (changed, "--write stripe", 1, "Refused:\n  stripe: output bytes changed at mnist 1; mend it"),
        (changed, "--write strype", 2, "There is no corruption 'strype'. Did you mean 'stripe'?"),
    ):
        file.write_text(json.dumps(before))
        assert golden.main(command.split()) == leaves
        assert message in capsys.readouterr().out
        expected = before if leaves else dict(sorted((without | {"stripe": RECORDED["stripe"]}).items()))
        assert json.dumps(json.loads(file.read_text())) == json.dumps(expected), "and no other corruption"


# all that a processor may lack at once; and OpenCV's own AVX code in place of IPP's, where IPP is
WITHOUT_IPP = {"OPENCV_IPP": "disabled"}
GENERIC = WITHOUT_IPP | {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "OPENCV_CPU_DISABLE": "AVX2,AVX512_SKX,AVX512-SKX,FP16,FMA3",
}
SOME = ("contrast", "frost", "shot_noise", "zoom_blur")
"""Long sums, divisions, OpenCV's resize and tables, where processors would differ first; all kernels take minutes."""
OF_OPENCV = ("black_lines", "frost", "global_blur", "jpeg", "jpeg_compression", "spatter", "white_lines")


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        pytest.param(GENERIC, SOME, marks=pytest.mark.ci, id="generic"),
        pytest.param(GENERIC, (), marks=pytest.mark.long, id="generic-all"),
        pytest.param(WITHOUT_IPP, OF_OPENCV, marks=pytest.mark.ci, id="no-ipp"),
    ],
)
def test_output_bytes_are_independent_of_processor(variables, names, tmp_path):
    environment = os.environ | variables
    if variables is GENERIC:  # its own kernels, and tables made anew by them
        # numpy refuses names that this processor or this release does not know
        features = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
        more = {"CORRUPTSET_CACHE": str(tmp_path), "NPY_DISABLE_CPU_FEATURES": " ".join(features)}
        environment |= more
    command = [sys.executable, "-W", "ignore", str(Path(__file__).parent), *names]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    requested = {name: entry for name, entry in RECORDED.items() if not names or name in names}
    assert result.stdout.strip() == f"{golden.count(requested)} digests equal"
