"""A model's gradient, followed a grey level at a time: its definition, and what it does to a trained network."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from surrogates import Linear, digits, labels_of, linear

import corruptset
from corruptset.corruptions.calibrations import shipped
from corruptset.corruptions.keys import sample_keys
from corruptset.corruptions.stages import apply_stage, chain_keys, resolve_number
from pictures import painted


def one_level(image, label, model, step=1):
    """x - step * sign(gradient of log p), by the probability itself."""
    p = model.probabilities(image.astype(float))
    other = -p
    other[label] += 1
    by_log_p = (model.weights * other).sum(axis=3) / 255
    return np.clip(image - step * np.sign(by_log_p), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("step", [1, 3])
def test_it_is_its_definition(step):
    images = np.stack([painted(12, 9, 3, which) for which in range(3)])
    images[0, :4], images[1, :4] = 0, 255  # at the ends values are clipped
    labels, model = labels_of(images), linear(12, 9, 3)
    now = images
    for level in range(1, 6):
        now = np.stack([one_level(image, label, model, step) for image, label in zip(now, labels, strict=True)])
        np.testing.assert_array_equal(
            corruptset.corrupt(images, "model_gradient", level=level, step=step, labels=labels, surrogate=model), now
        )


def test_every_value_moves_but_those_without_a_gradient():
    images = np.stack([np.clip(painted(12, 9, 3, which), 1, 254) for which in range(3)])
    model = Linear(12, 9, 3)
    model.weights[:5, :, 1] = 0
    out = corruptset.corrupt(images, "model_gradient", level=1, labels=labels_of(images), surrogate=model)
    moved = np.abs(out.astype(int) - images)
    assert (moved[:, :5, :, 1] == 0).all()
    moved[:, :5, :, 1] = 1
    assert (moved == 1).all()
    assert model.passes == 1


def test_thirty_levels_are_thirty_passes():
    images = np.stack([painted(12, 9, 3, which) for which in range(2)])
    model = Linear(12, 9, 3)
    resources = {"surrogate": model, "labels": labels_of(images)}
    now = images
    for level in range(1, 31):
        stage = resolve_number("model_gradient", shipped("imagenet"), level)
        (key,) = chain_keys([stage], 0)
        now = apply_stage(now, stage, key, sample_keys(["a", "b"]), side=224, resources=resources, done=level - 1)
    assert model.passes == 30
    np.testing.assert_array_equal(
        now, corruptset.corrupt(images, "model_gradient", level=30, labels=labels_of(images), surrogate=model)
    )
    assert model.passes == 60


@pytest.mark.ci
def test_the_accuracy_of_a_trained_network_falls_level_by_level():
    trained = digits()
    images, labels = trained.images[:60], trained.labels[:60]
    model = corruptset.load_surrogate(trained.model)
    now, found, probability = images, [], []
    for _ in range(30):
        now = corruptset.corrupt(now, "model_gradient", level=1, labels=labels, surrogate=model)
        found.append(float((model.logits(now).argmax(axis=1) == labels).mean()))
        probability.append(float(np.exp(-model.gradient(now.astype(np.float32), labels)[0]).mean()))
    assert found[0] > 0.95
    assert found[-1] < 0.6
    assert all(a >= b for a, b in pairwise(probability)), "in the mean it never rises"
    np.testing.assert_array_equal(
        now, corruptset.corrupt(images, "model_gradient", level=30, labels=labels, surrogate=model)
    )
