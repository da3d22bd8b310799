"""docs/adding-a-source.md, followed literally in a copy of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from package_copies import copy_package

PAGE = (Path(__file__).parents[2] / "docs/adding-a-source.md").read_text("utf-8")


def blocks(language):
    """Return the page's examples in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.ci
def test_instructions_work_literally(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    copy_package(site)
    function, entry = blocks("python")
    folder = site / "corruptset/generate/sources"
    (folder / "pixel_table.py").write_text(function)
    table, following = folder / "source.py", '    "npy": Scheme('
    assert following in table.read_text()
    table.write_text(table.read_text().replace(following, entry + following))
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.arange(12) % 10, rng.integers(0, 256, (12, 784))])
    header = "label," + ",".join(f"pixel{i}" for i in range(784))
    np.savetxt(tmp_path / "mnist_test.csv", rows, fmt="%d", delimiter=",", header=header, comments="")
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(line):
        command = line.replace("corruptset ", f"{sys.executable} -m corruptset ", 1)
        return subprocess.run(command.split(), cwd=tmp_path, env=environment, capture_output=True, text=True)

    for line in blocks("sh")[0].splitlines():
        result = run(line)
        assert result.returncode == 0, f"{line}\n{result.stdout}{result.stderr}"
    (directory,) = (tmp_path / "corruptset-out").iterdir()
    code = "import corruptset, numpy, sys; numpy.save('x', [i for i, _ in corruptset.open(sys.argv[1])['clean']])"
    subprocess.run([sys.executable, "-c", code, str(directory)], cwd=tmp_path, env=environment, check=True)
    assert np.array_equal(np.load(tmp_path / "x.npy").reshape(12, 784), rows[:, 1:])
    (tmp_path / "mnist_test.csv").write_text("1,2,3\n")
    result = run("corruptset plan mnist-c --source csv:mnist_test.csv")
    assert result.returncode == 2
    assert "has 3 columns; expected a label and 784 grey values" in result.stderr
