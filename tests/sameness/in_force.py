"""What is really in force in a process: run by a row's own Python with a row's own environment, prints JSON.

A switch that is misspelt, or that a library no longer reads, changes nothing and says nothing. So a row shows what the
libraries themselves report, numba by the registers of machine code that it makes here, and by the processor that the
kernels of the row's build were compiled for (``python in_force.py KERNELS``, the folder of their cache).
"""

from __future__ import annotations

import ctypes
import json
import pickle
import platform
import re
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

# what an OpenBLAS may call the function that names its kernels, after the build of numpy, scipy or OpenCV
_CORENAMES = tuple(f"{prefix}openblas_get_corename{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", ""))
# widest first, of x86-64 and aarch64
_REGISTERS = {
    r"%zmm\d": "512 bits (zmm)",
    r"%ymm\d": "256 bits (ymm)",
    r"\bz\d+\.d": "scalable (SVE)",
    r"\bv\d+\.2d": "128 bits (v)",
}
_FUSED = re.compile(r"^\s+(vfn?m(?:add|sub)\w*|fn?m(?:add|sub|la|ls))\s", re.MULTILINE)


def numba_in_force() -> str:
    """Return what numba compiles for, the widest registers in a loop over doubles, and how many multiply-adds
    it fused.
    """
    import numba
    import numpy as np
    from numba.core.registry import cpu_target

    @numba.njit
    def line(a: Any, b: Any, c: Any) -> None:
        for i in range(a.size):
            a[i] = a[i] * b[i] + c[i]

    values = np.ones(64)
    line(values, values, values)
    (code,) = line.inspect_asm().values()
    width = next((name for pattern, name in _REGISTERS.items() if re.search(pattern, code)), "128 bits (xmm)")
    _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    on = sum(f.startswith("+") for f in features.split(","))
    return f"{cpu} with {on} features named, {width}, {len(_FUSED.findall(code))} fused"


def kernels_in(folder: str) -> str:
    """Return the processors that the kernels of a cache were compiled for, as the indices of numba's cache say."""
    processors: Counter[str] = Counter()
    for path in Path(folder).rglob("*.nbi"):
        with path.open("rb") as index:
            pickle.load(index)  # the version of numba
            _, overloads = pickle.load(index)
        # a key is (signature, (system, processor, features), hashes)
        processors.update(processor for _, (_, processor, _), _ in overloads)
    return ", ".join(f"{count} kernels for {name}" for name, count in sorted(processors.items())) or "no kernels"


def blas_in_force() -> str:
    """Return the kernels that every loaded OpenBLAS has chosen, by the folder that its library lies in."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    results = []
    for path in sorted({Path(line.split(maxsplit=5)[5]) for line in maps if "openblas" in line}):
        library = ctypes.CDLL(str(path))
        if name := next((name for name in _CORENAMES if hasattr(library, name)), None):
            function = getattr(library, name)
            function.restype = ctypes.c_char_p
            results.append(f"{path.parent.name.removesuffix('.libs').partition('_')[0]} {function().decode()}")
    return ", ".join(results) or "no OpenBLAS"


def main() -> None:
    import cv2
    import scipy.linalg  # noqa: F401
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    libraries = ("numpy", "scipy", "numba", "opencv-python-headless", "pillow")
    shown = {
        "machine": f"{platform.machine()}, python {platform.python_version()}",
        "libraries": ", ".join(f"{name} {version(name)}" for name in libraries),
        "numba": numba_in_force(),
        # OpenCV's own line: * is chosen at run time, ? is switched off
        "opencv": str(cv2.getCPUFeaturesLine()),
        "ipp": f"in use, {cv2.ipp.getIppVersion()}" if cv2.ipp.useIPP() else "not in use",
        # what numpy has code for beyond its baseline, and uses
        "numpy": " ".join(f for f in __cpu_dispatch__ if __cpu_features__.get(f)) or "baseline alone",
        "blas": blas_in_force(),
    }
    if len(sys.argv) > 1:
        shown["kernels"] = kernels_in(sys.argv[1])
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
