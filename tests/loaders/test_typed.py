"""A user's file under mypy --strict: a set goes where PyTorch's stubs ask for a `Dataset`, and is a sequence without
PyTorch.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import corruptset

pytestmark = pytest.mark.ci

PLAIN = """\
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import corruptset

data = corruptset.open("imagenet-c-1.1.0")
Item = tuple[NDArray[np.uint8], int]


def images_of(items: Sequence[Item]) -> list[NDArray[np.uint8]]:
    return [image for image, _ in items]


images_of(data["fog/3"])
image, label = data["fog/3"][0]
brightest: int = image.max()
images, labels = data["fog/3"][2:5]
first: np.int64 = labels[0]
for image, label in data["fog/3"]:
    images_of([(image, label)])
"""
TORCH = """
from torch.utils.data import ConcatDataset, DataLoader, Dataset


def evaluate(dataset: Dataset[Item]) -> None:
    for pixels, targets in DataLoader(dataset, batch_size=64):
        print(pixels.permute(0, 3, 1, 2), targets)


evaluate(data["fog/3"])
DataLoader(data["fog/3"], batch_size=64, num_workers=2)
DataLoader(data.torch("fog/3", transform=np.asarray))
DataLoader(ConcatDataset(data.severities("fog").values()))
DataLoader(data.stream("schedule.json"))
evaluate("fog/3")
"""


def told(folder: Path, program: str, *packages: str) -> list[str]:
    """Return what mypy says of a program in an environment of these packages beside corruptset."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], cwd=folder, check=True)
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder / "env")}))
    for name in (
        "numpy",
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "typing_inspection",
        "typing_extensions",
        *packages,
    ):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        found = Path(spec.origin)
        found = found.parent if spec.submodule_search_locations else found
        (site / found.name).symlink_to(found)
    (site / "corruptset").symlink_to(Path(corruptset.__file__).parent)
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", folder / "env/bin/python", "program.py"]
    clean = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True).stdout.splitlines()


def test_without_pytorch_a_set_is_a_sequence(tmp_path: Path) -> None:
    assert told(tmp_path, PLAIN) == ["Success: no issues found in 1 source file"]


def test_with_pytorch_a_set_is_a_data_set(tmp_path: Path) -> None:
    wrong, *rest = told(tmp_path, PLAIN + TORCH, "torch")
    last = (PLAIN + TORCH).count("\n")
    assert wrong.startswith(f'program.py:{last}: error: Argument 1 to "evaluate" has incompatible type "str"'), [
        wrong,
        *rest,
    ]
    assert rest == ["Found 1 error in 1 file (checked 1 source file)"]
