"""Usage errors that say the next step: the options of other tools, and a source or severity without its option."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

UsageError: Any = typer.BadParameter.__base__
OPTIONS = {
    "--workers": "Worker processes are --jobs N.",
    "--threads": "Worker processes are --jobs N.",
    "--num-workers": "Worker processes are --jobs N.",
    "-n": "Worker processes are --jobs N, fewer samples --samples N or --first N.",
    "--output": "The output is --out.",
    "--recipe": "The recipe is the first argument: corruptset build imagenet-c.",
    "--data": "Images come from --source, such as --source folder:PATH.",
    "--input": "Images come from --source, such as --source folder:PATH.",
    "--corruption": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--corruptions": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--severity": "A severity is chosen by --sets, such as --sets '*/3'.",
}
"""Options of other tools."""


class HintedCommand(TyperCommand):
    """A command whose usage errors say the next step."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the arguments, and add a hint to a usage error."""
        given = list(args)
        try:
            return super().make_context(info_name, args, *more, **options)
        except UsageError as e:
            e.message = e.message.replace("Value error, ", "")  # pydantic's, of what typer says
            name = getattr(e, "option_name", None)
            if name in OPTIONS:
                e.possibilities = None  # they are spelled alike, and mean something else
                e.message = f"{e.message.rstrip('.')}. {OPTIONS[name]}"
            elif "unexpected extra argument" in e.message:
                e.message += self._extra(given)
            raise

    def _extra(self, given: list[str]) -> str:
        """Return what to do about an argument too many, or an empty string."""
        takes = {name for parameter in self.params for name in parameter.opts}
        if "--source" in takes and (found := [word for word in given if is_source(word)]):
            return f". Images come from the option --source:\n  {command_with_source(found[-1])}"
        if "--severity" in takes and given[-1].isdigit():
            return f". The severity is an option: --severity {given[-1]}"
        return ""


def is_source(word: str) -> bool:
    """Return whether an argument looks like a source: ``folder:PATH``, or a path that is not a recipe file."""
    from ..generate.sources.source import SCHEMES

    if word.startswith("-") or word.endswith(".toml"):
        return False
    scheme, colon, _ = word.partition(":")
    return (bool(colon) and scheme in SCHEMES) or "/" in word or (word not in (".", "") and Path(word).is_dir())


def command_with_source(source: str, *, recipe: str | None = None) -> str:
    """Return the command line with an argument as its ``--source``, and with a recipe in its place if one is given."""
    words = sys.argv[1:]
    place = words.index(source) if source in words else len(words)
    named = source if re.match(r"[a-z0-9]+:", source) else f"folder:{source}"
    rest = words[place + 1 :]
    return shlex.join(["corruptset", *words[:place], *([recipe] if recipe else []), *rest, "--source", named])
