"""Add hints to usage errors: for other tools' options, and for sources and severities that lack their option."""

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
    "--workers": "The number of worker processes is set by --jobs N.",
    "--threads": "The number of worker processes is set by --jobs N.",
    "--num-workers": "The number of worker processes is set by --jobs N.",
    "-n": "The number of worker processes is set by --jobs N, and the number of images by --samples N or --first N.",
    "--format": "Files or HDF5 shards are chosen by --storage, and PNG or JPEG by --encoding.",
    "--output": "The output is set by --out.",
    "--recipe": "The recipe is the first argument: corruptset build imagenet-c.",
    "--data": "Images come from --source, such as --source folder:PATH.",
    "--input": "Images come from --source, such as --source folder:PATH.",
    "--corruption": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--corruptions": "Corruptions are chosen by --sets, such as --sets 'fog/*'.",
    "--severity": "A severity is chosen by --sets, such as --sets '*/3'.",
}
"""Options of other tools, and a sentence about corruptset's option for the same purpose."""


class HintedCommand(TyperCommand):
    """A command whose usage errors include a hint about the next step."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> Any:
        """Parse the arguments. If there is a usage error, add a hint to its message."""
        given = list(args)
        try:
            return super().make_context(info_name, args, *more, **options)
        except UsageError as e:
            e.message = e.message.replace("Value error, ", "")  # Pydantic adds this prefix.
            name = getattr(e, "option_name", None)
            if name in OPTIONS:
                e.possibilities = None  # Typer suggests options that have a similar spelling but a different meaning.
                e.message = f"{e.message.rstrip('.')}. {OPTIONS[name]}"
            elif "unexpected extra argument" in e.message:
                e.message += self._extra(given)
            raise

    def _extra(self, given: list[str]) -> str:
        """Return a hint about a superfluous argument, or an empty string."""
        options = {name for parameter in self.params for name in parameter.opts}
        if "--source" in options and (sources := [word for word in given if is_source(word)]):
            return f". Images come from the option --source:\n  {command_with_source(sources[-1])}"
        if "--severity" in options and given[-1].isdigit():
            return f". The severity is an option: --severity {given[-1]}"
        return ""


def is_source(word: str) -> bool:
    """Return whether an argument looks like a source: ``folder:PATH``, or a path that is not a recipe file."""
    from ..generate.sources.source import schemes

    if word.startswith("-") or word.endswith(".toml"):
        return False
    scheme, colon, _ = word.partition(":")
    return (bool(colon) and scheme in schemes()) or "/" in word or (word not in (".", "") and Path(word).is_dir())


def command_with_source(source: str, *, recipe: str | None = None) -> str:
    """Return the command line with an argument moved to ``--source`` and, if given, a recipe in its place."""
    words = sys.argv[1:]
    place = words.index(source) if source in words else len(words)
    named = source if re.match(r"[a-z0-9]+:", source) else f"folder:{source}"
    rest = words[place + 1 :]
    return shlex.join(["corruptset", *words[:place], *([recipe] if recipe else []), *rest, "--source", named])
