"""predict: what the command hands on and says; and, marked ci, the whole way from a data set to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import layouts
import pytest
from surrogates import seeded, write_model

import corruptset
from corruptset.scores import predict as home
from corruptset.scores.predict import Predicted


def test_predict_hands_on_every_option_and_says_what_is_to_be_known(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def predict(*args: Any, **kwargs: Any) -> Predicted:
        calls.append((args, kwargs))
        return Predicted(args[2], "net", "sha256:1", {"clean": 0.987, "fog/3": 0.5}, ("clean",), 7, 1.25)

    monkeypatch.setattr(home, "predict", predict)
    plain = run("predict", "there", "--model", "m.toml", "--out", "p")
    assert plain.code == 0
    for part in ("clean", "98.7%", "2 sets; 7 images in 1 s; 1 set was there already", "net", "sha256:1"):
        assert part in plain.out, plain.out
    options = ["--sets", "fog/*,clean", "--device", "cuda", "--batch", "8", "--kind", "top", "--json"]
    done = run("predict", "there", "--model", "m.toml", "--out", "p", *options)
    assert (done.json["accuracy"], done.json["kept"], done.json["directory"]) == (
        {"clean": 0.987, "fog/3": 0.5},
        ["clean"],
        "p",
    )
    assert [args for args, _ in calls] == [(Path("there"), Path("m.toml"), Path("p"))] * 2
    handed = [[kwargs[name] for name in ("sets", "device", "batch", "kind")] for _, kwargs in calls]
    assert handed == [[None, "cpu", 64, "logits"], [["fog/*", "clean"], "cuda", 8, "top"]]
    assert all(callable(kwargs["progress"]) for _, kwargs in calls)


def test_what_cannot_be_used_is_told_without_a_traceback(run: Any, built: Path, tmp_path: Path) -> None:
    done = run("predict", built, "--model", tmp_path / "none.toml", "--out", tmp_path / "p")
    assert (done.code, done.out) == (2, "")
    assert "none.toml cannot be read: No such file" in done.err
    assert not (tmp_path / "p").exists()


@pytest.mark.ci
def test_a_data_set_is_predicted_and_resumed(run: Any, shared: layouts.Shared, tmp_path: Path) -> None:
    from small_nets import Plain

    directory = shared.build(sets=["clean", "contrast/3"])
    arguments = {"channels": 3, "classes": 10, "side": 32}
    file = write_model(tmp_path / "m", seeded(lambda: Plain(**arguments)), 32, "small_nets:Plain", arguments=arguments)
    first = run("predict", directory, "--model", file, "--out", tmp_path / "p", "--sets", "clean", "--json")
    assert first.code == 0, first.err
    assert first.json["digest"] == corruptset.open(directory).digest
    again = run("predict", directory, "--model", file, "--out", tmp_path / "p")
    assert "2 sets; 20 images in" in again.out
    assert "1 set was there already" in again.out
    assert "predict: predicting" in again.err
