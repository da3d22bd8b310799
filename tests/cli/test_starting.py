"""Test which modules a command imports, and that it leaves nothing behind. Benchmarks measure the start-up time."""

from __future__ import annotations

import json
import subprocess
import sys

NOT_NEEDED = {
    "joblib": "only workers need it; it brings asyncio, ssl and multiprocessing",
    "asyncio": "nobody here",
    "multiprocessing": "only workers",
    "skimage": "its photographs are found without it",
    "h5py": "only shards are written with it, and this build is a folder",
    "rich": "only a terminal gets colours and bars",
    "jsonschema": "nobody here; schemas are for other people's programs",
    "corruptset.manifests.reader": "reads what is built",
    "corruptset.manifests.verify.directory": "checks what is built",
    "corruptset.generate.pixels.matrix": "draws at the end",
    "corruptset.generate.exports.export": "only for export",
    "corruptset.corruptions.gradual": "the recipe has no gradual degradation",
}
"""Module -> why a build by one process has no use for it before its first part is committed."""

PROGRAM = """
import gc, json, os, sys
arguments, out = json.loads(sys.argv[1]), sys.argv[2]
replace = os.replace

def watched(source, target, **options):
    replace(source, target, **options)
    if "/parts/" in str(target) and not os.path.exists(out):
        with open(out, "w") as f:
            json.dump({"modules": sorted(sys.modules), "collects": gc.isenabled()}, f)

os.replace = watched
sys.argv = ["corruptset", *arguments]
from corruptset.cli import main
main()
"""


def test_single_process_build_imports_only_modules_of_first_part(crops, recipe, tmp_path):
    arguments = ["build", str(recipe), "--source", f"folder:{crops}", "--out", str(tmp_path / "out")]
    arguments += "--first 2 --sets contrast/1 --jobs 1 --storage folder".split()
    record_file = tmp_path / "seen.json"
    subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(arguments), str(record_file)], capture_output=True, check=True
    )
    state = json.loads(record_file.read_text())
    assert {name: reason for name, reason in NOT_NEEDED.items() if name in state["modules"]} == {}
    assert {"numba", "corruptset.corruptions.digital.contrast"} <= set(state["modules"]), "read where nothing was made"
    assert state["collects"]


def test_importing_corruptset_keeps_process_settings():
    program = (
        "import gc\n"
        "state = lambda: (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count())\n"
        "before = state()\n"
        "import numpy as np, corruptset, corruptset.generate.build\n"
        "corruptset.corrupt(np.zeros((8, 8, 3), np.uint8), 'gaussian_noise', severity=1)\n"
        "print(state() == before)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"
