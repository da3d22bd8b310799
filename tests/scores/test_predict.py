"""Predictions of a data set: files, kinds, resuming, and what is refused.

The model is numpy's, but for the tests marked ci.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import layouts
import numpy as np
import pytest
from surrogates import Linear, seeded, write_model

import corruptset
from corruptset.errors import ModelError, ParameterError, PredictionError, UnknownCorruption

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]


class Model(Linear):
    """The numpy stand-in, with what `predict` asks of a surrogate."""

    name, size, channels, batch = "stand-in", (32, 32), 3, 7
    of_labels: tuple[int, ...] | None = None
    least_accuracy = 0.0

    def __init__(self, **changes: Any) -> None:
        super().__init__(32, 32, 3)
        self.asked = 0
        self.shown = 0
        vars(self).update(changes)

    @property
    def file(self) -> SimpleNamespace:
        return SimpleNamespace(least_accuracy=self.least_accuracy)

    def record(self) -> dict[str, Any]:
        return {
            "weights": f"sha256:{self.name}",
            "input": {"size": [32, 32]},
            "outputs": "logits",
            "classes": "index",
            "torch": "9",
        }

    def for_classes(self, folders: list[str]) -> Model:
        self.of_labels = tuple(range(len(folders)))
        return self

    def logits(self, images: np.ndarray) -> np.ndarray:
        assert 1 <= len(images) <= self.batch
        self.asked += len(images)
        return np.stack([(self.weights * (image[..., None] / 255)).sum(axis=(0, 1, 2)) for image in images]).astype(
            np.float32
        )

    def check_accuracy(self, images: np.ndarray, labels: np.ndarray) -> float:
        self.shown = len(images)
        assert images.shape[1:] == (32, 32, 3)
        assert len(labels) == len(images)
        return 1.0


@pytest.fixture(scope="module")
def directory(shared: layouts.Shared) -> Path:
    return shared.build(sets=SETS)


def read(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def test_each_set_has_a_file_named_by_its_id(directory, shared, tmp_path):
    model, told = Model(), []
    done = corruptset.predict(directory, model, tmp_path / "p", progress=lambda *event: told.append(event))
    data = corruptset.open(directory)
    found = {p.relative_to(tmp_path / "p").as_posix() for p in (tmp_path / "p").rglob("*") if p.is_file()}
    assert found == {"predictions.json", *(f"{name}.npz" for name in SETS)}
    for name in SETS:
        arrays = read(tmp_path / "p" / f"{name}.npz")
        assert {key: (a.shape, a.dtype) for key, a in arrays.items()} == {"logits": ((20, 10), np.float32)}
        want = np.concatenate([model.logits(image[None]) for image in data[name].images()])
        np.testing.assert_array_equal(arrays["logits"], want)
        assert done.accuracy[name] == (want.argmax(axis=1) == data[name].labels).mean()
    head = json.loads((tmp_path / "p/predictions.json").read_text())
    assert (head["model"], head["digest"], head["kind"], head["weights"]) == (
        "stand-in",
        data.digest,
        "logits",
        "sha256:stand-in",
    )
    assert (done.images, done.kept, done.model, done.digest) == (60, (), "stand-in", data.digest)
    assert told[0] == ("loading the model", 0, 0)
    assert told[1] == ("predicting", 7, 60)
    assert told[-1] == ("predicting", 60, 60)
    assert [now for _, now, _ in told] == sorted(now for _, now, _ in told)
    # a virtual data set is taken as the stored one
    made = corruptset.predict(
        corruptset.open(directory, source=f"folder:{shared.crops()}"), Model(), tmp_path / "made", progress=False
    )
    assert made.accuracy == done.accuracy
    assert layouts.files_of(tmp_path / "made") == layouts.files_of(tmp_path / "p")


def test_each_kind_follows_from_the_logits(directory, tmp_path):
    for kind in ("logits", "probs", "top", "rank"):
        done = corruptset.predict(directory, Model(), tmp_path / kind, kind=kind, sets=["clean"])
        assert list(done.accuracy) == ["clean"]
    logits, probs, top, rank = (read(tmp_path / kind / "clean.npz") for kind in ("logits", "probs", "top", "rank"))
    labels = corruptset.open(directory)["clean"].labels
    for row, label in enumerate(labels.tolist()):
        values = logits["logits"][row].astype(float)
        p = [1 / sum(np.exp(other - value) for other in values) for value in values]
        np.testing.assert_allclose(probs["probs"][row], p, rtol=1e-5)
        assert top["top"][row].tolist() == sorted(range(10), key=lambda c: (-values[c], c))[:5]
        assert rank["rank_true"][row] == sum(other > values[label] for other in values)
        assert rank["p_true"][row] == pytest.approx(p[label], rel=1e-5)
    assert {a.dtype for a in (probs["probs"], rank["p_true"])} == {np.dtype(np.float32)}
    assert {a.dtype for a in (top["top"], rank["rank_true"])} == {np.dtype(np.int64)}

    class Even(Model):
        def logits(self, images):
            return np.zeros((len(images), 10), np.float32)

    # of equal values the lowest class is first; none is above the true one
    for kind, right in (("logits", labels == 0), ("probs", labels == 0), ("top", labels == 0), ("rank", labels >= 0)):
        done = corruptset.predict(directory, Even(), tmp_path / "even" / kind, kind=kind, sets=["clean"])
        assert done.accuracy["clean"] == right.mean()
    assert read(tmp_path / "even/top/clean.npz")["top"].tolist() == [[0, 1, 2, 3, 4]] * 20


def test_the_same_call_goes_on_and_keeps_what_fits(directory, tmp_path):
    out = tmp_path / "p"
    corruptset.predict(directory, Model(), out, sets=["clean"])
    first = (out / "clean.npz").read_bytes()
    model = Model()
    done = corruptset.predict(directory, model, out)
    assert (done.kept, done.images, model.asked) == (("clean",), 40, 40)
    everything = layouts.files_of(out)
    assert everything["clean.npz"] == first
    assert list(done.accuracy) == SETS
    assert corruptset.predict(directory, Model(), tmp_path / "q").accuracy == done.accuracy
    assert layouts.files_of(tmp_path / "q") == everything, "as in one go"
    # what is damaged, or has other shapes, is made again
    for content in (b"", first[:-30], b"text", first.replace(b"logits", b"logitz")):
        (out / "clean.npz").write_bytes(content)
        assert corruptset.predict(directory, Model(), out).images == 20
        assert layouts.files_of(out) == everything
    for array in (np.zeros((19, 10), np.float32), np.zeros((20, 9), np.float32), np.zeros((20, 10))):
        np.savez(out / "clean.npz", logits=array)
        assert corruptset.predict(directory, Model(), out).images == 20
        assert layouts.files_of(out) == everything


def test_a_folder_of_other_predictions_is_refused(directory, shared, tmp_path):
    out = tmp_path / "p"
    corruptset.predict(directory, Model(), out, sets=["clean"])
    before = layouts.files_of(out)
    other = shared.build(sets=["clean"])
    digests = [corruptset.open(one).digest for one in (directory, other)]
    for changed, says in (
        (
            (directory, Model(name="another")),
            "model 'stand-in' in place of 'another'; weights 'sha256:stand-in' in place",
        ),
        ((other, Model()), f"digest '{digests[0]}' in place of '{digests[1]}'"),
    ):
        with pytest.raises(PredictionError) as caught:
            corruptset.predict(*changed, out)
        assert f"{out} holds other predictions: {says}" in str(caught.value)
    with pytest.raises(PredictionError, match="kind 'logits' in place of 'top'"):
        corruptset.predict(directory, Model(), out, kind="top")
    assert layouts.files_of(out) == before
    (out / "predictions.json").write_text("{")
    with pytest.raises(PredictionError, match=r"predictions\.json is not JSON"):
        corruptset.predict(directory, Model(), out)
    (out / "predictions.json").unlink()
    with pytest.raises(PredictionError, match=r"holds \.npz files and no predictions\.json"):
        corruptset.predict(directory, Model(), out)


def test_sets_are_chosen_by_id_alias_and_pattern(directory, tmp_path):
    assert list(corruptset.predict(directory, Model(), tmp_path, sets=["b*", "contrast-3+brightness-2"]).accuracy) == [
        SETS[0],
        SETS[2],
    ]
    with pytest.raises(UnknownCorruption, match=r"'brightnes/1' matches no set of .*Did you mean 'brightness/1'\?"):
        corruptset.predict(directory, Model(), tmp_path / "q", sets=["clean", "brightnes/1"])
    with pytest.raises(ParameterError, match="kind is 'best'; expected one of logits, probs, top, rank"):
        corruptset.predict(directory, Model(), tmp_path / "q", kind="best")
    assert not (tmp_path / "q").exists()
    # a model that asks for an accuracy is shown clean images
    for least, shown in ((0.5, 20), (0.0, 0)):
        model = Model(least_accuracy=least)
        corruptset.predict(directory, model, tmp_path / f"shown {shown}", sets=["brightness/1"])
        assert model.shown == shown


def test_images_of_another_kind_are_refused_with_their_place(directory, shared, tmp_path):
    with pytest.raises(ModelError) as caught:
        corruptset.predict(directory, Model(size=(224, 224)), tmp_path / "p")
    assert "takes RGB images of 224x224 (height x width); image 0 of set 'brightness/1' is RGB, 32x32" in str(
        caught.value
    )
    with pytest.raises(ModelError, match="takes grey images of 32x32"):
        corruptset.predict(directory, Model(channels=1), tmp_path / "q")

    class Broken(Model):
        def logits(self, images):
            return np.where(images[:, :1, 0, 0] % 2, np.nan, 0) + np.zeros((1, 10), np.float32)

    with pytest.raises(ModelError, match="gives values that are not finite for image"):
        corruptset.predict(directory, Broken(), tmp_path / "r")
    assert not list((tmp_path / "r").rglob("*.npz"))


@pytest.fixture(scope="module")
def model_file(tmp_path_factory) -> Path:
    from small_nets import Plain

    arguments = {"channels": 3, "classes": 10, "side": 32}
    return write_model(
        tmp_path_factory.mktemp("model"),
        seeded(lambda: Plain(**arguments)),
        32,
        "small_nets:Plain",
        arguments=arguments,
        name="plain",
    )


@pytest.mark.ci
def test_a_network_from_its_file(directory, model_file, tmp_path):
    done = corruptset.predict(directory, model_file, tmp_path / "p", batch=8)
    model, data = corruptset.load_surrogate(model_file), corruptset.open(directory)
    for name in SETS:
        np.testing.assert_allclose(
            read(tmp_path / "p" / f"{name}.npz")["logits"], model.logits(data[name].array()), atol=1e-5
        )
    assert done.model == "plain"
    (tmp_path / "folders.txt").write_text("".join(f"{c.folder}\n" for c in reversed(data.classes)))
    changed = tmp_path / "model.toml"
    changed.write_text(model_file.read_text() + 'classes = "folders.txt"\n')
    for name in ("weights.safetensors", "small_nets.py"):
        shutil.copy(model_file.with_name(name), tmp_path)
    corruptset.predict(directory, changed, tmp_path / "q", batch=8, sets=["clean"])
    np.testing.assert_array_equal(
        read(tmp_path / "q/clean.npz")["logits"], read(tmp_path / "p/clean.npz")["logits"][:, ::-1]
    )
    with pytest.raises(PredictionError, match="classes 'index' in place of 'sha256:"):
        corruptset.predict(directory, changed, tmp_path / "p")
    changed.write_text(model_file.read_text() + "least_accuracy = 1\n")
    with pytest.raises(ModelError, match=r"of 20 clean images right; .*model\.toml asks for 100\.0%"):
        corruptset.predict(directory, changed, tmp_path / "r")
