"""Every Python example in the documentation uses names and arguments that corruptset has, as mypy sees them."""

from __future__ import annotations

import re
import subprocess
import sys

import checkout
import pytest
from package_copies import PACKAGES

PAGES = [
    name
    for name in sorted(checkout.checkout_files())
    if name == "README.md" or (name.startswith(("docs/", "plugins/")) and name.endswith(".md"))
]
CODES = ("attr-defined", "call-arg", "call-overload", "syntax")
"""Kinds of errors that are mistakes in an example. Examples reuse names for values of other types."""
KNOWN = '"str" has no attribute "parent"|"ImageSet" has no attribute "(items|values)"'
"""Correct code that mypy reports: a name is reused for a path, and ``data["fog"]`` is a group of sets."""
WRONG = 'import corruptset\n\ncorruptset.build("imagenet-c", sed=1)\ncorruptset.open("x").classs\n'


def blocks(page):
    """Return the examples of a page that are complete statements, which a reader runs one after the other."""
    matches = re.findall(r"^```python\n(.*?)^```$", (checkout.ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in matches if not block.startswith(" ")]


@pytest.mark.long
def test_examples_pass_type_checker(tmp_path):
    for folder in PACKAGES:
        (tmp_path / "corruptset" / folder).parent.mkdir(exist_ok=True)
        (tmp_path / "corruptset" / folder).symlink_to(checkout.ROOT / folder)
    for path in (checkout.ROOT / "api").iterdir():
        (tmp_path / "corruptset" / path.name).symlink_to(path)
    files = {re.sub(r"\W", "_", page): blocks(page) for page in PAGES}
    files = {f"{name}.py": "\n".join(texts) for name, texts in files.items() if texts}
    assert len(files) > 15
    for name, text in (files | {"wrong.py": WRONG}).items():
        (tmp_path / name).write_text(text, "utf-8")
    options = "--follow-imports=silent --ignore-missing-imports --config-file= --no-strict-optional".split()
    command = [sys.executable, "-m", "mypy", *options, *files, "wrong.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    match = [line for line in out.splitlines() if re.search(rf"\[({'|'.join(CODES)})\]$", line)]
    errors = [line for line in match if line.partition(":")[0] in files and not re.search(KNOWN, line)]
    assert errors == []
    assert {line.split(":")[1] for line in match if line.startswith("wrong.py")} == {"3", "4"}, out
