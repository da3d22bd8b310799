"""The options that commands share."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

import pytest

from corruptset.cli.options import BUILD_OPTIONS, REMAKE_OPTIONS
from corruptset.corruptions.stages import Coupling, Scale
from corruptset.generate.again.remake_options import RemakeKeywords, RemakeOptions
from corruptset.generate.plan.options import BuildKeywords, BuildOptions, Split
from corruptset.generate.plan.regions import Store
from corruptset.generate.sinks.containers import Format


def test_the_commands_options_are_those_of_a_build() -> None:
    """The keyword arguments, the fields and the command's options are one list, written three times for types
    and help.
    """
    fields = {field.name: field.default for field in dataclasses.fields(BuildOptions)}
    assert get_type_hints(BuildKeywords) == get_type_hints(BuildOptions)
    of_build_alone = {name: fields.pop(name) for name in ("disjoint_from", "scheduler")}
    assert of_build_alone == {"disjoint_from": (), "scheduler": None}
    assert {name: getattr(default, "default", default) for name, (_, default) in BUILD_OPTIONS.items()} == fields


def test_the_commands_options_are_those_of_what_is_made_again() -> None:
    hints = get_type_hints(RemakeOptions)
    assert get_type_hints(RemakeKeywords) == {name: hint for name, hint in hints.items() if name != "source"}
    assert list(REMAKE_OPTIONS) == list(hints)


@pytest.mark.parametrize(
    "choices", [Coupling, Scale, Split, Store, Format], ids=["Coupling", "Scale", "Split", "Store", "Format"]
)
def test_the_commands_choices_are_those_of_the_rooms(choices: Any, request: pytest.FixtureRequest) -> None:
    """The command line does not import a room to say what an option may be."""
    option, _ = BUILD_OPTIONS[request.node.callspec.id.lower()]
    option = getattr(option, "__origin__", option) if hasattr(option, "__metadata__") else option
    literal = next((kind for kind in get_args(option) if get_args(kind)), option)
    assert get_args(literal) == get_args(choices)
