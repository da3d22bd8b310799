"""The options that commands share."""

from __future__ import annotations

import dataclasses
from typing import get_type_hints

from corruptset.cli.build_options import BUILD_OPTIONS
from corruptset.generate.plan.options import BuildKeywords, BuildOptions


def test_the_commands_options_are_those_of_a_build() -> None:
    """The keyword arguments, the fields and the command's options are one list, written three times for types and help."""
    fields = {field.name: field.default for field in dataclasses.fields(BuildOptions)}
    assert get_type_hints(BuildKeywords) == get_type_hints(BuildOptions)
    assert {name: default for name, (_, default) in BUILD_OPTIONS.items()} == {n: d for n, d in fields.items() if n != "disjoint_from"}
