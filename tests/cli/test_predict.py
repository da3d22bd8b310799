"""predict: a model that is missing; and, marked ci, the whole way from a data set to predictions."""

from __future__ import annotations

import re

import pytest
from surrogates import seeded, write_model

import corruptset


def test_what_cannot_be_used_is_told_without_a_traceback(run, built, tmp_path):
    done = run("predict", built, "--model", tmp_path / "none.toml", "--out", tmp_path / "p")
    assert (done.code, done.out) == (2, "")
    assert "none.toml cannot be read: No such file" in done.err
    assert not (tmp_path / "p").exists()


@pytest.mark.ci
def test_a_data_set_is_predicted_and_resumed(run, shared, tmp_path):
    from small_nets import Plain

    directory = shared.build(sets=["clean", "contrast/3"])
    arguments = {"channels": 3, "classes": 10, "side": 32}
    file = write_model(tmp_path / "m", seeded(lambda: Plain(**arguments)), 32, "small_nets:Plain", arguments=arguments)
    first = run("predict --sets clean --json", directory, "--model", file, "--out", tmp_path / "p")
    assert first.code == 0, first.err
    assert first.json["digest"] == corruptset.open(directory).digest
    again = run("predict", directory, "--model", file, "--out", tmp_path / "p")
    assert re.search("^There already: +clean$", again.out, re.MULTILINE)
    assert re.search("^Images: +20$", again.out, re.MULTILINE)
    assert "predict: predicting" in again.err
