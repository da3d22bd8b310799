"""A loaded model: its classes, its gradient, what it refuses, and its way to other processes. Those without a network
need no PyTorch.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from surrogates import NORMAL, digits, seeded, smooth, write_model

import corruptset
from corruptset.corruptions.models.model_file import ModelFile
from corruptset.corruptions.models.surrogate import Surrogate
from corruptset.errors import ModelError


def unloaded(**changes) -> Surrogate:
    """Return a surrogate whose network is never asked."""
    values = {
        "name": "net",
        "factory": "a:b",
        "weights": "w.pt",
        "input": {"size": 8, "channels": "grey"} | NORMAL["grey"],
    }
    file = ModelFile.model_validate(values | changes)
    return Surrogate(
        Path("model.toml"),
        file,
        "sha256:0",
        "cpu",
        1,
        10,
        ("b", "c", "a", *"defghij") if "classes" in changes else None,
    )


FOLDERS = tuple("abcdefghij")


def test_outputs_in_the_data_sets_order_are_as_many_as_its_classes():
    model = unloaded().for_classes(FOLDERS)
    assert model._outputs_of(np.array([0, 9]), 2).tolist() == [0, 9]
    for folders in (FOLDERS[:9], (*FOLDERS, "k")):
        with pytest.raises(
            ModelError, match=rf"has 10 outputs, and the data set has {len(folders)} classes; with classes = 'index'"
        ):
            unloaded().for_classes(folders)


def test_outputs_by_name_are_found_in_any_order_and_may_be_more():
    model = unloaded(classes="folders.txt").for_classes(("a", "b", "j"))
    assert model._outputs_of(np.array([0, 1, 2, 0]), 4).tolist() == [2, 0, 9, 2]
    with pytest.raises(ModelError) as caught:
        unloaded(classes="folders.txt").for_classes(("a", "x", "b", "y"))
    assert "has no output for 2 of the data set's 4 classes" in str(caught.value)
    assert "\n  x\n  y" in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 10], "has classes 0 to 9, and there are labels beyond: 10"),
        ([-1, 3], "beyond: -1"),
        ([1], r"labels is int64 of shape \(1,\); expected int64 of shape \(2,\)"),
        ([0.0, 1.0], "labels is float64"),
    ],
)
def test_labels_beyond_the_outputs_are_refused(labels, says):
    with pytest.raises(ModelError, match=says):
        unloaded().gradient(np.zeros((2, 8, 8, 1), np.float32), np.array(labels))


def test_labels_of_a_data_set_are_those_of_its_classes():
    model = unloaded(classes="folders.txt").for_classes(("a", "b", "j"))
    with pytest.raises(ModelError, match="has classes 0 to 2, and there are labels beyond: 3"):
        model.gradient(np.zeros((1, 8, 8, 1), np.float32), np.array([3]))


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((1, 8, 9, 1), r"takes images of 8x8 \(height x width\), and these have 8x9. Resize the images"),
        ((1, 8, 8, 3), "takes grey images, and these are RGB"),
    ],
)
def test_images_of_another_kind_are_refused(shape, says):
    for call in (
        lambda m: m.logits(np.zeros(shape, np.uint8)),
        lambda m: m.gradient(np.zeros(shape, np.float32), np.array([1])),
    ):
        with pytest.raises(ModelError, match=says):
            call(unloaded())
    with pytest.raises(ModelError, match="takes RGB images, and these are grey"):
        unloaded(input={"size": 8} | NORMAL["rgb"]).logits(np.zeros((1, 8, 8, 1), np.uint8))


@pytest.mark.parametrize("batch", [0, -1, 1.5, True, "8"])
def test_a_batch_is_one_image_or_more(batch, tmp_path):
    with pytest.raises(ModelError, match=r"batch is .*; expected a whole number from 1 upwards"):
        corruptset.load_surrogate(tmp_path / "model.toml", batch=batch)


@pytest.mark.ci
@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_the_gradient_is_that_of_the_pixels(channels, tmp_path):
    """Against differences of the loss, in the order of the image's own planes."""
    from small_nets import Smooth

    file = write_model(
        tmp_path, seeded(Smooth), 8, "small_nets:Smooth", input={"size": 8, "channels": channels} | NORMAL["rgb"]
    )
    model = corruptset.load_surrogate(file)
    images, labels = np.random.default_rng(1).uniform(0, 255, (2, 8, 8, 3)), np.array([4, 7])
    loss, gradient = model.gradient(images, labels)
    assert (loss.dtype, gradient.dtype, gradient.shape) == (np.float32, np.float32, images.shape)
    for at in [(0, 0, 0), (3, 4, 1), (7, 7, 2)]:
        up, down = images.copy(), images.copy()
        up[(slice(None), *at)] += 8
        down[(slice(None), *at)] -= 8
        slope = (model.gradient(up, labels)[0].astype(float) - model.gradient(down, labels)[0]) / 16
        np.testing.assert_allclose(gradient[(slice(None), *at)], slope, rtol=0.03, atol=2e-6)


@pytest.mark.ci
def test_one_at_a_time_is_what_a_batch_is_and_logits_are_exact():
    images = np.random.default_rng(1).integers(0, 256, (7, 12, 9, 3)).astype(np.uint8)
    labels = np.arange(7)
    one, three = (corruptset.load_surrogate(smooth(12, 9), batch=batch) for batch in (1, 3))
    np.testing.assert_allclose(one.logits(images), three.logits(images), atol=1e-5)
    np.testing.assert_array_equal(one.logits(images)[4:5], one.logits(images[4:5]))
    loss, gradient = one.gradient(images.astype(np.float32), labels)
    alone = one.gradient(images[4:5].astype(np.float32), labels[4:5])
    np.testing.assert_array_equal(gradient[4:5], alone[1])
    assert loss[4] == alone[0][0]
    want = -np.log(
        np.exp(one.logits(images).astype(float)) / np.exp(one.logits(images).astype(float)).sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(loss, want[np.arange(7), labels], rtol=1e-5)
    assert one.logits(images[:0]).shape == (0, 10)


@pytest.mark.ci
def test_columns_are_the_data_sets_classes(tmp_path):
    trained = digits()
    (tmp_path / "folders.txt").write_text("".join(f"digit {i}\n" for i in range(10)))
    file = write_model(tmp_path, trained.network, 8, "small_nets:Plain", channels="grey", classes="folders.txt")
    model = corruptset.load_surrogate(file)
    some = model.for_classes(["digit 3", "digit 0"])
    np.testing.assert_array_equal(some.logits(trained.images[:5]), model.logits(trained.images[:5])[:, [3, 0]])
    images = trained.images[:2].astype(np.float32)
    np.testing.assert_array_equal(
        some.gradient(images, np.array([0, 1]))[1], model.gradient(images, np.array([3, 0]))[1]
    )


@pytest.mark.ci
def test_it_goes_to_other_processes_and_is_the_same_there(tmp_path):
    model = replace(corruptset.load_surrogate(smooth(12, 9)), folders=tuple("abcdefghij"))
    images = np.random.default_rng(1).integers(0, 256, (2, 12, 9, 3)).astype(np.uint8)
    want = model.gradient(images.astype(np.float32), np.array([1, 2]))[1]
    data = pickle.dumps(model)
    assert len(data) < 3000, "no weights, no network"
    assert pickle.loads(data) == model
    (tmp_path / "model").write_bytes(data)
    code = (
        "import pickle, sys, numpy as np;"
        f"model = pickle.load(open({str(tmp_path / 'model')!r}, 'rb')); assert 'torch' not in sys.modules;"
        "images = np.random.default_rng(1).integers(0, 256, (2, 12, 9, 3)).astype(np.float32);"
        f"np.save({str(tmp_path / 'out.npy')!r}, model.gradient(images, np.array([1, 2]))[1])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), want)


@pytest.mark.ci
def test_changed_weights_are_refused(tmp_path):
    from small_nets import Smooth

    def write(seed):
        return write_model(
            tmp_path,
            seeded(lambda: Smooth(1), seed),
            8,
            "small_nets:Smooth",
            channels="grey",
            arguments={"channels": 1},
        )

    model = corruptset.load_surrogate(write(1))
    data = pickle.dumps(model)
    write(2)
    code = (
        "import pickle, sys, numpy; pickle.loads(bytes.fromhex(sys.argv[1])).logits(numpy.zeros((1, 8, 8, 1), 'uint8'))"
    )
    done = subprocess.run([sys.executable, "-c", code, data.hex()], capture_output=True, text=True)
    assert "ModelError: The weights" in done.stderr
    assert f"and {model.sha256} was expected" in done.stderr


@pytest.mark.ci
def test_what_a_manifest_says_of_it():
    record = corruptset.load_surrogate(smooth(12, 9), batch=4).record()
    assert record.pop("torch").count(".") >= 2
    assert record.pop("weights").startswith("sha256:")
    assert record == {
        "name": "small",
        "factory": "small_nets:Smooth",
        "arguments": {"channels": 3, "classes": 10},
        "input": {"size": [12, 9], "mean": [0.5, 0.45, 0.4], "std": [0.25, 0.2, 0.3], "channels": "rgb"},
        "outputs": "logits",
        "classes": "index",
        "device": "cpu",
        "batch": 4,
        "threads": 1,
    }
