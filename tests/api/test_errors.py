"""Errors for people: exit codes and suggestions."""

from __future__ import annotations

import pytest

from corruptset import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UnknownCorruption, 2),
        (errors.ParameterError, 2),
        (errors.ImageError, 2),
        (errors.RecipeError, 2),
        (errors.SourceError, 2),
        (errors.BuildError, 2),
        (errors.IncompleteBuild, 1),
        (errors.VerificationError, 1),
        (errors.MachineError, 3),
        (errors.Interrupted, 130),
    ],
)
def test_exit_codes_are_those_documented(error, code):
    assert issubclass(error, errors.CorruptsetError)
    assert error.exit_code == code


def test_listed_counts_what_it_leaves_out():
    text = errors.listed([str(i) for i in range(60)])
    assert text.splitlines()[0] == "  0"
    assert text.splitlines()[-1] == "  ... and 10 more"
    assert len(text.splitlines()) == 51
