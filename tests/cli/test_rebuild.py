"""rebuild: what it passes on to the room that does it, which is a stand-in here, and what it makes of the answer."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from stand_ins import stand_in


def test_rebuild_hands_on_every_option(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def rebuild(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        built = types.SimpleNamespace(
            directory=Path("there/x-1"),
            digest="sha256:1",
            images=3,
            seconds=2.0,
            manifest=types.SimpleNamespace(sets=[]),
        )
        same = kwargs["jobs"] is None
        other = () if same else tuple(f"sets/{i}.jsonl" for i in range(7))
        return types.SimpleNamespace(
            built=built,
            whole=same,
            identical=same,
            other_files=other,
            other_images=2 * (not same),
            advice="Made with pillow 1.",
        )

    stand_in(monkeypatch, "again.rebuild", rebuild)
    done = run("rebuild", "release/manifest.json")
    assert done.code == 0
    assert "sha256:1 (the manifest’s)" in done.out
    assert "Every file has the bytes that the manifest lists." in done.out
    options = [
        "--source",
        "folder:x",
        "--out",
        "o",
        "--sets",
        "fog/*,clean",
        "--jobs",
        "2",
        "--labels",
        "l",
        "--images",
        "i",
    ]
    given = ["--frost-textures", "ice", "--groups", "g.csv", "--surrogate", "m.toml", "--device", "cuda"]
    done = run("rebuild", "r", *options, *given)
    assert "(of these sets)" in done.out
    assert "2 images are encoded otherwise; sets/0.jsonl" in done.out
    assert "and 2 more differ. Made with pillow 1." in done.out
    assert run("rebuild", "r", *options, "--json").json["other_images"] == 2
    assert calls[0][0] == (Path("release/manifest.json"),)
    assert callable(calls[0][1].pop("progress"))
    nothing = dict.fromkeys(
        ("source", "sets", "jobs", "labels", "images", "groups", "frost_textures", "surrogate", "device", "plugins")
    )
    assert calls[0][1] == {"out": Path("corruptset-out"), **nothing}
    assert calls[1][0] == (Path("r"),)
    calls[1][1].pop("progress")
    resources = {"groups": "g.csv", "frost_textures": Path("ice"), "surrogate": Path("m.toml"), "device": "cuda"}
    named = {
        "source": "folder:x",
        "out": Path("o"),
        "sets": ["fog/*", "clean"],
        "jobs": 2,
        "labels": Path("l"),
        "images": "i",
    }
    assert calls[1][1] == named | resources | {"plugins": None}


def test_ctrl_c_in_a_rebuild_says_how_to_resume(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, "again.rebuild", interrupted)
    done = run("rebuild", "r", "--out", "a b")
    assert done.code == 130
    assert "corruptset rebuild r --out 'a b'" in done.err
