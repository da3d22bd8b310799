"""How a command explains itself: its help, in panels where it has many options, and what newcomers' mistakes meant."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

from ..errors import suggest

UsageError: Any = typer.BadParameter.__base__
OPTIONS = {
    "--workers": "Worker processes are --jobs N.",
    "--threads": "Worker processes are --jobs N.",
    "--num-workers": "Worker processes are --jobs N.",
    "-n": "Worker processes are --jobs N, fewer samples --samples N or --first N.",
    "--output": "Where it goes is --out.",
    "--recipe": "The recipe is the first argument: corruptset build imagenet-c.",
    "--data": "Images come from --source, such as --source folder:PATH.",
    "--input": "Images come from --source, such as --source folder:PATH.",
    "--corruption": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--corruptions": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--severity": "A severity is chosen by --sets, such as --sets '*/3'.",
}
"""Options of other tools."""


PANELS = {
    "Selection": "samples first per-class ids per-super-category skip-bad any-shape labels split groups hold-out "
    "train images "
    "disjoint-from",
    "Sets and tables": "optimize view page calibration scale coupling metrics store frost-textures plugin",
    "The recipe 'pairs'": "first-stages second-stages severities levels orders",
    "Model": "surrogate device surrogate-batch",
    "Machines": "scheduler part finish abandon",
}
"""Heading in the help of a command with many options -> names of options; all others stand under Options."""
LONGEST = 26
"""Characters of a name that has its meaning beside it in the help, not below."""
MANY = 20
"""Options from which a help has panels."""


class HintedCommand(TyperCommand):
    """A command whose help fits 80 columns, and whose usage errors say the next step."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as click does: rich's tables leave 20 of 80 columns to what an option means, and cut
        its name.
        """
        super(TyperCommand, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, under the headings of `PANELS` where there are many."""
        panel_of = (
            {f"--{name}": panel for panel, names in PANELS.items() for name in names.split()}
            if len(self.params) > MANY
            else {}
        )
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in ("Arguments", "Options", *PANELS)}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                own = "Arguments" if parameter.param_type_name == "argument" else "Options"
                names, words = record
                rows[panel_of.get(max(parameter.opts, key=len), own)].append((names, words.replace("  [x>=1]", "")))
        for panel, found in rows.items():
            if found:
                with formatter.section(panel):
                    formatter.write_dl(found, col_max=LONGEST)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the arguments; a usage error gets a hint."""
        given = list(args)
        try:
            return super().make_context(info_name, args, *more, **options)
        except UsageError as e:
            e.message = hinted(self, e, given)
            raise


def hinted(command: TyperCommand, error: Any, given: list[str]) -> str:
    """Return the message of a usage error, with what may have been meant."""
    message = error.message.replace("Value error, ", "")
    if message.startswith("Input should be "):
        message = _expected(command, error, given)
    if option := getattr(error, "option_name", None):
        if option in OPTIONS:
            error.possibilities = None  # they are spelled alike, and mean something else
            return f"{message} {OPTIONS[option]}" if message.endswith(".") else f"{message}. {OPTIONS[option]}"
        return str(message)
    if "unexpected extra argument" in message:
        takes = {name for parameter in command.params for name in parameter.opts}
        last = given[-1]
        if "--source" in takes and ":" in last:
            return f"{message}. Images come from an option: --source {last}"
        if "--severity" in takes and last.isdigit():
            return f"{message}. The severity is an option: --severity {last}"
    word, _, choices = message.partition(" is not one of ")
    if choices:
        known = [choice.strip().strip("'.") for choice in choices.split(",")]
        return f"{message}{suggest(word.strip().strip(chr(39)), known)}"
    return str(message)


def _expected(command: TyperCommand, error: Any, given: list[str]) -> str:
    """Return what was given and what was expected, where pydantic's words say only what a value should be."""
    words = error.message
    kind = "a number" if "valid number" in words else "a whole number"
    if bound := re.search(r"(greater|less) than or equal to (\S+)", words):
        kind += f" from {bound[2]} upwards" if bound[1] == "greater" else f" up to {bound[2]}"
    return f"{_value(error.param.opts, given)!r}; expected {kind}."


def _value(names: list[str], given: list[str]) -> str:
    """Return the last value of an option on a command line: ``--seed abc``, ``--seed=abc``, ``-j4``."""
    value = ""
    for word, following in zip(given, [*given[1:], ""], strict=True):
        for name in names:
            if word == name:
                value = following
            elif word.startswith(f"{name}="):
                value = word.removeprefix(f"{name}=")
            elif not name.startswith("--") and word.startswith(name):
                value = word.removeprefix(name)
    return value
