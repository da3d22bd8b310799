"""export: what it passes on to the room that does it, which is a stand-in here, and what it makes of the answer."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from stand_ins import stand_in


def test_export_hands_on_every_option_and_says_what_is_to_be_known(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def export(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return types.SimpleNamespace(
            view=args[0],
            path=args[2],
            top=args[2] / "ImageNet-C",
            digest="sha256:1",
            images=7,
            bytes=900,
            linked=5,
            notes=("One class has none.",),
        )

    stand_in(monkeypatch, "views.export", export)
    plain = run("export", "imagenet-c", "there", "--out", "o")
    assert plain.code == 0
    assert "7 images, 900 B, 5 of them hard links" in plain.out
    assert "Note: One class has none." in plain.out
    options = ["--sets", "fog/*,clean", "--severities", "s.toml", "--list", "l.txt", "--allow-missing-classes"]
    done = run("export", "imagenet-c-5k", "there", "--out", "o", *options, "--json")
    assert (done.json["notes"], done.json["linked"], done.json["top"]) == (["One class has none."], 5, "o/ImageNet-C")
    assert [args for args, _ in calls] == [(view, Path("there"), Path("o")) for view in ("imagenet-c", "imagenet-c-5k")]
    handed = [
        [kwargs[name] for name in ("sets", "severities", "images", "allow_missing_classes")] for _, kwargs in calls
    ]
    assert handed == [[None, None, None, False], [["fog/*", "clean"], Path("s.toml"), Path("l.txt"), True]]
    assert all(callable(kwargs["progress"]) for _, kwargs in calls)
