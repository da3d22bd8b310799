"""Test the help of the commands of the add-ons."""

from __future__ import annotations

import subprocess
import sys

CODE = (
    "import sys; from corruptset.cli.app import run\n"
    "for name in ('pairs-sheet', 'pairs-score', 'stream', 'schedule', 'calibrate', 'medmnist-score', ''):\n"
    "    sys.argv[1:] = [*filter(None, [name]), '--help']\n"
    "    try: run()\n"
    "    except SystemExit: pass\n"
    "print([name for name in 'numba numpy PIL cv2 scipy'.split() if name in sys.modules])"
)


def test_help_imports_no_heavy_modules() -> None:
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout
    names = "pairs-sheet pairs-score stream schedule calibrate medmnist-score".split()
    assert all(f"corruptset {name} " in result for name in names)
    assert result.splitlines()[-1] == "[]"
