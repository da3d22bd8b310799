"""A program of a user passes mypy --strict. With PyTorch, a set is a `Dataset`; without it, a set is a sequence."""

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
for severity, images_of_set in data["fog"].items():
    harder: bool = severity > 2.5
    images_of(images_of_set)
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


NAMES = """\
from typing import Any

def __getattr__(name: str) -> Any: ...
"""


def installed_package(name):
    """Return the folder of a package, or the file of a module."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def type_errors(folder, program):
    """Return the output of mypy for a program in the environment of a folder."""
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", folder / "env/bin/python", "program.py"]
    clean = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True).stdout.splitlines()


def test_image_set_is_typed_as_sequence_and_torch_dataset(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "env"], cwd=tmp_path, check=True)
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(tmp_path / "env")}))
    for name in ("numpy", "pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions"):
        loaded = installed_package(name)
        (site / loaded.name).symlink_to(loaded)
    (site / "corruptset").symlink_to(Path(corruptset.__file__).parent)
    assert type_errors(tmp_path, PLAIN) == ["Success: no issues found in 1 source file"]
    # the stubs of PyTorch's datasets and loaders; checking all of PyTorch would take mypy 15 seconds
    (site / "torch/utils").mkdir(parents=True)
    (site / "torch/utils/data").symlink_to(installed_package("torch") / "utils/data")
    for package in ("torch", "torch/utils"):
        (site / package / "__init__.pyi").write_text(NAMES)
        (site / package / "py.typed").touch()
    problems, *rest = type_errors(tmp_path, PLAIN + TORCH)
    last = (PLAIN + TORCH).count("\n")
    message = f'program.py:{last}: error: Argument 1 to "evaluate" has incompatible type "str"; expected "Dataset['
    assert problems.startswith(message), [problems, *rest]
    assert rest == ["Found 1 error in 1 file (checked 1 source file)"]
