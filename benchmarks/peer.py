"""Run the package imagecorruptions-imaug in a separate environment, for comparison with corruptset.

This package is the only published generator that can still be installed and run. It requires a different build of
OpenCV, and therefore cannot share an environment with corruptset.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from corruptset.corruptions.cache import cache_root

NAME = "imagecorruptions-imaug"


def peer_python() -> Path:
    """Return the path of the environment's Python interpreter. The environment is created on first use."""
    folder = cache_root() / f"peer-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        print(f"Creating an environment for {NAME} in {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", NAME], check=True)
        ready.touch()
    return python


def run_peer(task: str, **arguments: Any) -> Any:
    """Run a task of `peer_tasks.py` in the environment, and return its JSON output."""
    process = subprocess.run(
        [peer_python(), str(Path(__file__).with_name("peer_tasks.py")), task, json.dumps(arguments)],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"},
    )
    return json.loads(process.stdout.splitlines()[-1])
