"""How a command explains itself: help in panels, and hints for newcomers' mistakes."""

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
    "Selection": "samples first per-class ids skip-bad any-shape disjoint-from",
    "Sets and tables": "calibration metrics view page frost-textures plugin",
    "Model": "surrogate",
    "Machines": "scheduler extend part finish",
}
"""Heading in the help of a command with many options -> names of options; all others stand under Options."""
SETTINGS = {
    "source": "per-super-category labels split groups images hold-out train",
    "recipe": "first-stages second-stages severities levels orders coupling scale store optimize",
    "surrogate": "device surrogate-batch",
}
"""What stands behind a question mark, ``cifar100:PATH?labels=coarse``. Each is also an option, which no help shows."""
WRITTEN = "Settings, behind a question mark: --source 'cifar100:PATH?labels=coarse'"
LONGEST = 26
"""Characters of a name that has its meaning beside it in the help, not below."""
MANY = 20
"""Options from which a help has panels."""


class HintedCommand(TyperCommand):
    """A command whose help fits 80 columns, and whose usage errors say the next step."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as click does.

        Rich's tables leave 20 of 80 columns to what an option means, and cut its name.
        """
        super(TyperCommand, self).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options under the headings of `PANELS`, then the settings."""
        panel_of = {f"--{name}": panel for panel, names in PANELS.items() for name in names.split()}
        rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in ("Arguments", "Options", *PANELS, WRITTEN)}
        shown = [parameter for parameter in self.get_params(ctx) if not getattr(parameter, "hidden", False)]
        for parameter in shown:
            names, words = parameter.get_help_record(ctx) or ("", "")
            panel = panel_of.get(max(parameter.opts, key=len)) if len(shown) > MANY else None
            own = "Arguments" if parameter.param_type_name == "argument" else "Options"
            rows[panel or own].append((names, words.replace("  [x>=1]", "")))
        rows[WRITTEN] = [(f"{of.upper()}?...", ", ".join(taken)) for of, taken in settings(self).items()]
        for panel, found in rows.items():
            if found:
                with formatter.section(panel):
                    formatter.write_dl(found, col_max=LONGEST)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the arguments; those behind a question mark are options.

        A usage error gets a hint.
        """
        taken = "|".join(name for names in settings(self).values() for name in names)
        flags = {name for parameter in self.params if getattr(parameter, "is_flag", False) for name in parameter.opts}
        given: list[str] = []
        for word in args:
            found = re.fullmatch(rf"(.*?)\?((?:(?:{taken})(?:=[^&]*)?&?)+)", word) if taken else None
            said = [] if found is None else [one for one in found[2].split("&") if one]
            for name in (one.removesuffix("=") for one in said):
                if "=" not in name and f"--{name}" not in flags:
                    raise UsageError(f"?{name} needs a value: ?{name}=VALUE")
            given += [word] if found is None else [found[1], *(f"--{one}" for one in said)]
        try:
            return super().make_context(info_name, list(given), *more, **options)
        except UsageError as e:
            e.message = hinted(self, e, given)
            raise


def is_setting(name: str) -> bool:
    """Whether a parameter is said behind a question mark."""
    return name.replace("_", "-") in " ".join(SETTINGS.values()).split()


def settings(command: TyperCommand) -> dict[str, list[str]]:
    """Return the settings that a command takes behind a question mark, by source, recipe, surrogate."""
    hidden = [parameter for parameter in command.params if getattr(parameter, "hidden", False)]
    takes = {name.removeprefix("--") for parameter in hidden for name in parameter.opts}
    found = {of: [name for name in names.split() if name in takes] for of, names in SETTINGS.items()}
    return {of: names for of, names in found.items() if names}


def hinted(command: TyperCommand, error: Any, given: list[str]) -> str:
    """Return the message of a usage error, with what may have been meant."""
    message = error.message.replace("Value error, ", "")
    if message.startswith("Input should be "):  # pydantic's words, of what it was given
        from ..error_lines import expected

        (details,) = error.__cause__.errors()
        message = f"{details['input']!r}; expected {expected(details)}."
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
