"""`corruptset check-corruption NAME`: whether a corruption keeps its contract."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completion
from .corrupt import parse_parameters
from .options import AsJson, Plugins, argument, option
from .output import put, put_json, say


def check_corruption(
    name: Annotated[str, argument("NAME", "A corruption, your own or one of corruptset's.", autocompletion=completion.corruptions)],
    param: Annotated[
        list[str] | None,
        option(
            "--param -p NAME=VALUE", "A parameter, for a corruption without a table; by default the middle of its bounds. Can be repeated."
        ),
    ] = None,
    large: Annotated[bool, option("--large/--no-large", "Also look at one image of 4000x6000.")] = True,
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Hold a corruption to its contract: pure, alike in any batch and process, drawn from the keys alone, any size, uint8.

    Prints one sentence a failure, and leaves with 1 where there is one.
    """
    from ..generate.contract import check_corruption as run

    checked = run(name, parameters=parse_parameters(param or []), plugins=plugins, large=large)
    if as_json:
        record = {"ok": checked.ok, "corruption": name, "plugin": checked.plugin, "failures": list(checked.failures)}
        put_json(record | {"checks": list(checked.checks), "seconds": round(checked.seconds, 6) if checked.ok else None})
    elif checked.ok:
        for check in checked.checks:
            put(f"  {check}")
        put(f"{name} keeps the contract; {checked.seconds:.2g} s an image of 224x224", style="green")
    else:
        for failure in checked.failures:
            say(failure, style="red")
    raise typer.Exit(0 if checked.ok else 1)
