"""`python -OO`, which drops docstrings: help, what is shown and pages are the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (
    "from corruptset.corruptions.registry import corruption_names;"
    "from corruptset.generate.page.known import known_corruption;"
    "print(*(known_corruption(name) for name in corruption_names()), sep='\\n')"
)


def printed(*arguments: object, optimized: bool) -> str:
    done = subprocess.run(
        [sys.executable, *["-OO"] * optimized, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "corruptset", "--help"],
        ["-m", "corruptset", "build", "--help"],
        ["-m", "corruptset", "show", "fog"],
        ["-m", "corruptset", "show", "fade_black"],
        ["-c", PAGE],
    ],
    ids=["help", "help of a command", "show", "show of levels", "page"],
)
def test_texts_do_not_depend_on_docstrings(arguments: list[str]) -> None:
    plain = printed(*arguments, optimized=False)
    assert plain
    assert printed(*arguments, optimized=True) == plain


@pytest.mark.ci
def test_a_page_and_a_check_are_the_same(tmp_path: Path) -> None:
    pages, checks = [], []
    for optimized in (False, True):
        out = tmp_path / str(optimized)
        build = ["build", "imagenet-c", "--sets", "fog/3,frost/1", "--samples", "2", "--jobs", "1", "--out", out]
        printed("-m", "corruptset", *build, optimized=optimized)
        (page,) = out.glob("*/index.html")
        pages.append(page.read_text("utf-8"))
        checks.append(
            printed("-m", "corruptset", "check-corruption", "contrast", "--no-large", optimized=optimized).splitlines()[
                :-1
            ]
        )
    assert pages[0] == pages[1]
    assert checks[0] == checks[1]
