"""Test predictions of a dataset: files, kinds, resuming and errors. The model uses NumPy, except in tests marked ci."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import small_builds
from predictions import all_kinds
from surrogates import Linear, seeded_network, write_model

import corruptset
from corruptset.errors import ModelError, ParameterError, PredictionError, UnknownCorruption

SETS = ["brightness/1", "clean", "contrast-3+brightness-2"]


class Model(Linear):
    """A model in NumPy with the methods of a surrogate that `predict` uses."""

    name, size, channels, batch = "stand-in", (32, 32), 3, 7
    least_accuracy = 0.0
    arguments: ClassVar = {}

    def __init__(self, **changes):
        super().__init__(32, 32, 3)
        self.asked = self.shown = 0
        vars(self).update(changes)

    @property
    def file(self):
        return SimpleNamespace(least_accuracy=self.least_accuracy)

    def record(self):
        known = {"input": {"size": [32, 32]}, "outputs": "logits", "classes": "index", "torch": "9"}
        known |= {"factory": "nets:stand_in", "arguments": self.arguments}
        return {"weights": f"sha256:{self.name}", **known}

    def for_classes(self, folders):
        return self

    def logits(self, images):
        assert 1 <= len(images) <= self.batch
        self.asked += len(images)
        rows = [(self.weights * (image[..., None] / 255)).sum(axis=(0, 1, 2)) for image in images]
        return np.stack(rows).astype(np.float32)

    def check_accuracy(self, images, labels):
        self.shown = len(images)
        assert images.shape == (len(labels), 32, 32, 3)


class Even(Model):
    """A model for which all classes are equally likely."""

    def logits(self, images):
        return np.zeros((len(images), 10), np.float32)


class Broken(Model):
    """A model that returns values that are not finite for some images."""

    def logits(self, images):
        return np.where(images[:, :1, 0, 0] % 2, np.nan, 0) + np.zeros((1, 10), np.float32)


@pytest.fixture(scope="module")
def directory(shared_data):
    return shared_data.build(sets=SETS)


def read(file):
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def test_each_set_has_file_named_by_id(directory, shared_data, tmp_path):
    model, events, out = Model(), [], tmp_path / "p"
    result = corruptset.predict(directory, model, out, progress=lambda *event: events.append(event))
    data, files = corruptset.open(directory), small_builds.read_files(out)
    assert set(files) == {"predictions.json", *(f"{name}.npz" for name in SETS)}
    for name in SETS:
        logits = read(out / f"{name}.npz")["logits"]
        assert (logits.shape, logits.dtype) == ((20, 10), np.float32)
        np.testing.assert_array_equal(logits, np.concatenate([model.logits(i[None]) for i in data[name].images()]))
        assert result.accuracy[name] == (logits.argmax(axis=1) == data[name].labels).mean()
    head = json.loads((out / "predictions.json").read_text())
    expected = {"model": "stand-in", "digest": data.digest, "kind": "logits", "weights": "sha256:stand-in"}
    assert head == head | expected
    assert (result.images, result.kept, result.model, result.digest) == (60, (), "stand-in", data.digest)
    assert events[:2] == [("loading the model", 0, 0), ("predicting", 7, 60)]
    assert events[-1] == ("predicting", 60, 60)
    assert [count for _, count, _ in events] == sorted(count for _, count, _ in events)
    # A virtual dataset gives the same predictions as a stored one.
    virtual = corruptset.open(directory, source=f"folder:{shared_data.crops()}")
    assert corruptset.predict(virtual, Model(), tmp_path / "made", progress=False).accuracy == result.accuracy
    assert small_builds.read_files(tmp_path / "made") == files


def test_every_kind_is_computed_from_logits(directory, tmp_path):
    labels = corruptset.open(directory)["clean"].labels
    fields = {}
    for kind in ("logits", "probs", "top", "rank"):
        result = corruptset.predict(directory, Model(), tmp_path / kind, kind=kind, sets=["clean"])
        assert list(result.accuracy) == ["clean"]
        fields |= read(tmp_path / kind / "clean.npz")
        # Of equal values, the lowest class comes first, and no class is above the true one.
        result = corruptset.predict(directory, Even(), tmp_path / "even" / kind, kind=kind, sets=["clean"])
        assert result.accuracy["clean"] == (1.0 if kind == "rank" else (labels == 0).mean())
    assert read(tmp_path / "even/top/clean.npz")["top"].tolist() == [[0, 1, 2, 3, 4]] * 20
    of_logits = all_kinds(fields["logits"], labels)
    for name, expected in {**of_logits["probs"], **of_logits["top"], **of_logits["rank"]}.items():
        assert fields[name].dtype == (np.float32 if expected.dtype.kind == "f" else np.int64)
        np.testing.assert_allclose(fields[name], expected, rtol=1e-5)


def test_repeated_call_resumes_and_keeps_matching_files(directory, tmp_path):
    out, model = tmp_path / "p", Model()
    corruptset.predict(directory, Model(), out, sets=["clean"])
    first = (out / "clean.npz").read_bytes()
    result = corruptset.predict(directory, model, out)
    assert (result.kept, result.images, model.asked, list(result.accuracy)) == (("clean",), 40, 40, SETS)
    files = small_builds.read_files(out)
    assert corruptset.predict(directory, Model(), tmp_path / "q").accuracy == result.accuracy
    assert small_builds.read_files(tmp_path / "q") == files, "as in one go"
    # Damaged files and files with other shapes are replaced.
    others = [b"", first[:-30], b"text", first.replace(b"logits", b"logitz")]
    for array in (np.zeros((19, 10), np.float32), np.zeros((20, 9), np.float32), np.zeros((20, 10))):
        np.savez(tmp_path / "other.npz", logits=array)
        others.append((tmp_path / "other.npz").read_bytes())
    for content in others:
        (out / "clean.npz").write_bytes(content)
        assert corruptset.predict(directory, Model(), out).images == 20
        assert small_builds.read_files(out) == files


def test_folder_of_other_predictions_is_rejected(directory, shared_data, tmp_path):
    out, other = tmp_path / "p", shared_data.build(sets=["clean"])
    corruptset.predict(directory, Model(), out, sets=["clean"])
    before = small_builds.read_files(out)
    digests = [corruptset.open(item).digest for item in (directory, other)]

    def refused(message, dataset=directory, model=None, **options):
        with pytest.raises(PredictionError) as exc_info:
            corruptset.predict(dataset, model or Model(), out, **options)
        assert message in str(exc_info.value)

    weights = "model 'stand-in' instead of 'another'; weights 'sha256:stand-in' instead"
    refused(f"{out} contains different predictions: {weights}", model=Model(name="another"))
    refused(f"digest '{digests[0]}' instead of '{digests[1]}'", other)
    refused("kind 'logits' instead of 'top'", kind="top")
    deeper = Model(arguments={"depth": 3})
    refused("arguments {} instead of {'depth': 3}", model=deeper)
    assert small_builds.read_files(out) == before
    (out / "predictions.json").write_text("{")
    refused("predictions.json is not JSON")
    (out / "predictions.json").unlink()
    refused("contains .npz files but no predictions.json")


def test_sets_are_selected_by_id_alias_and_pattern(directory, tmp_path):
    chosen = corruptset.predict(directory, Model(), tmp_path, sets=["b*", "contrast-3+brightness-2"])
    assert list(chosen.accuracy) == [SETS[0], SETS[2]]
    none = tmp_path / "q"
    with pytest.raises(UnknownCorruption, match=r"'brightnes/1' matches no set of .*Did you mean 'brightness/1'\?"):
        corruptset.predict(directory, Model(), none, sets=["clean", "brightnes/1"])
    with pytest.raises(ModelError, match="The model is a dict; expected a model file"):
        corruptset.predict(directory, {}, none)
    with pytest.raises(ParameterError, match="kind is 'best'; expected one of logits, probs, top, rank"):
        corruptset.predict(directory, Model(), none, kind="best")
    assert not none.exists()
    # A model with a minimum accuracy is first checked on clean images.
    for min_accuracy, expected_count in ((0.5, 20), (0.0, 0)):
        model = Model(least_accuracy=min_accuracy)
        corruptset.predict(directory, model, tmp_path / f"shown {expected_count}", sets=["brightness/1"])
        assert model.shown == expected_count


def test_images_of_other_kind_are_rejected_with_position(directory, tmp_path):
    place = r"expects RGB images of 224x224 \(height x width\), but image 0 of the set 'brightness/1' is RGB, 32x32"
    for model, message in (
        (Model(size=(224, 224)), place),
        (Model(channels=1), "expects grey images of 32x32"),
        (Broken(), "returns NaN or infinite values for image"),
    ):
        with pytest.raises(ModelError, match=message):
            corruptset.predict(directory, model, tmp_path / message[:10])
    assert not list(tmp_path.rglob("*.npz"))


@pytest.mark.ci
def test_network_is_loaded_from_file(directory, tmp_path):
    from small_nets import Plain

    arguments = {"channels": 3, "classes": 10, "side": 32}
    net = seeded_network(lambda: Plain(**arguments))
    model_file = write_model(tmp_path, net, 32, "small_nets:Plain", arguments=arguments, name="plain")
    out = tmp_path / "p"
    result = corruptset.predict(directory, model_file, out, batch=8)
    model, data = corruptset.load_surrogate(model_file), corruptset.open(directory)
    logits = {name: read(out / f"{name}.npz")["logits"] for name in SETS}
    for name in SETS:
        np.testing.assert_allclose(logits[name], model.logits(data[name].array()), atol=1e-5)
    assert result.model == "plain"
    (tmp_path / "folders.txt").write_text("".join(f"{c.folder}\n" for c in reversed(data.classes)))
    changed, text = model_file.with_name("changed.toml"), model_file.read_text()
    changed.write_text(text + 'classes = "folders.txt"\n')
    corruptset.predict(directory, changed, tmp_path / "q", batch=8, sets=["clean"])
    np.testing.assert_array_equal(read(tmp_path / "q/clean.npz")["logits"], logits["clean"][:, ::-1])
    with pytest.raises(PredictionError, match="classes 'index' instead of 'sha256:"):
        corruptset.predict(directory, changed, out)
    changed.write_text(text + "least_accuracy = 1\n")
    message = r"of 20 clean images correctly, but .*changed\.toml requires at least 100\.0%"
    with pytest.raises(ModelError, match=message):
        corruptset.predict(directory, changed, tmp_path / "r")
