"""Test pgd and model_gradient against slow versions, with networks, and against a library."""

from __future__ import annotations

import re

import numpy as np
import pytest
from doc_pages import ROOT, blocks
from surrogates import NORMAL, Linear, digits_model, labels_of, linear_model, seeded_network, write_model

import corruptset
from corruptset.corruptions.adversarial.pgd import Ball, iterates
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.corruptions.models.protocol import Model
from corruptset.corruptions.stages import chain_keys, resolve_stage
from corruptset.errors import ModelError, ParameterError
from corruptset.generate.page.corruption_notes import corruption_notes
from example_images import number_keys, synthetic_image


def batch(count=3, height=12, width=9):
    return np.stack([synthetic_image(height, width, 3, which) for which in range(count)])


def model_options(images, **more):
    """Return the model and the labels of a batch."""
    return {"labels": labels_of(images), "surrogate": linear_model(*images.shape[1:])} | more


def project(x, clean, eps, norm):
    distance = x - clean
    length = np.sqrt((distance**2).sum())
    distance = (
        (distance * min(1, eps / length) if length else distance) if norm == "l2" else np.clip(distance, -eps, eps)
    )
    return np.clip(clean + distance, 0, 255)


def reference_pgd(image, label, model, *, eps, step, steps, norm="linf", targeted=False, start=0.0):
    """Apply PGD to one image in float64 according to its definition."""
    clean = image.astype(float)
    x = project(clean + start, clean, eps, norm)
    for _ in range(steps):
        error = model.probabilities(x)
        error[label] -= 1
        gradient = (model.weights * error).sum(axis=3) / 255
        direction = np.sign(gradient) if norm == "linf" else gradient / np.sqrt((gradient**2).sum())
        x = project(x - step * direction if targeted else x + step * direction, clean, eps, norm)
    return x


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize(("eps", "step", "steps"), [(4.0, 1.0, 10), (16.0, 4.0, 3), (2.5, 0.7, 6)])
def test_pgd_matches_definition(norm, eps, step, steps):
    images, factor = batch(), 1 if norm == "linf" else 12  # This radius is for the whole image.
    start = np.random.default_rng(1).uniform(-4, 4, images.shape[1:]) * factor
    options = {"eps": eps * factor, "step": step * factor, "steps": steps, "norm": norm}
    reach = np.floor(options["eps"])
    for more in ({}, {"targeted": True}, {"start": start}):
        out = corruptset.corrupt(images, "pgd", **model_options(images), **options, **more)
        rows = zip(images, labels_of(images), strict=True)
        expected = np.stack(
            [reference_pgd(image, label, linear_model(12, 9, 3), **options, **more) for image, label in rows]
        )
        # In float32, a value close to a half may be rounded to the other side.
        sure = np.abs(expected - np.floor(expected) - 0.5) > 1e-3
        assert sure.mean() > (0.99 if eps != 2.5 or norm == "l2" else 0)
        np.testing.assert_array_equal(out[sure], np.clip(np.rint(expected), images - reach, images + reach)[sure])


def test_severity_is_radius_in_grey_levels_with_ten_steps_of_a_quarter():
    for severity, eps in {1: 1, 2: 2, 3: 4, 4: 8, 5: 16}.items():
        row = {"eps": eps, "step": eps / 4, "steps": 10}
        assert all(dict(shipped(name).row("pgd", severity).parameters) == row for name in SHIPPED)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_stored_values_stay_within_eps_and_zero_gradient_changes_nothing(norm):
    """Test that the change is limited by eps. Rounding alone would allow 3 for 2.5."""
    images, ends = batch(), np.repeat(np.uint8([0, 255]), 12 * 9 * 3).reshape(2, 12, 9, 3)
    for eps in (0.4, 1.0, 2.5, 7.9, 8.0, 300.0):
        options = {"eps": eps, "step": eps / 3, "steps": 7, "norm": norm, "random_start": True}
        for some in (images, ends):
            distance = np.abs(
                corruptset.corrupt(some, "pgd", **model_options(some), **options).astype(int) - some
            ).max()
            assert distance == np.floor(eps) if norm == "linf" and eps < 255 else distance <= eps
    model = Linear(12, 9, 3)
    model.weights[:5, :, 1] = 0
    options = {"eps": 80.0, "step": 20.0, "steps": 5, "norm": norm} | model_options(images, surrogate=model)
    out = corruptset.corrupt(images, "pgd", **options)
    assert model.passes == 5, "a step is one pass"
    np.testing.assert_array_equal(out[:, :5, :, 1], images[:, :5, :, 1])
    assert (out != images)[:, 5:].mean() > 0.5
    model.weights[:] = 0
    np.testing.assert_array_equal(corruptset.corrupt(images, "pgd", **options), images)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_random_start_is_drawn_from_image_key(norm):
    """Test that the start is uniform in the cube, or for L2 has a uniform direction and distance."""
    images, ids = np.stack([synthetic_image(40, 40)] * 3), number_keys(3)
    row = {"eps": 64.0, "step": 0.0, "steps": 1, "norm": norm}
    (stage,) = chain_keys([resolve_stage("pgd", shipped("cifar"), parameters=row | {"random_start": True})], 0)
    keys = Keys(stage, sample_keys(ids))
    starts = keys.uniforms(40, 40, 3, low=-64.0, high=64.0)
    if norm == "l2":
        ways = keys.normals(40, 40, 3).astype(float)
        lengths = np.sqrt((ways**2).sum(axis=(1, 2, 3), keepdims=True))
        starts = ways * keys.uniforms(1, 1, 1, stream=1, high=64.0) / lengths
    out = corruptset.corrupt(images, "pgd", key=ids, random_start=True, **row, **model_options(images))
    for i, start in enumerate(starts):
        expected = corruptset.corrupt(images, "pgd", start=start.astype(np.float32), **row, **model_options(images))[i]
        assert (
            np.mean(out[i] != expected) < 0.001
        )  # In float32, a value close to a half may be rounded to the other side.
    assert len({image.tobytes() for image in out}) == 3


def test_any_object_with_logits_and_gradient_is_model():
    """Test models that return read-only arrays, other float types, or gradients of a wrong shape."""

    class Other(Linear):
        def gradient(self, images, labels):
            gradient = super().gradient(images, labels).astype(np.float64)
            gradient.setflags(write=False)
            return gradient

    class Flat(Linear):
        def gradient(self, images, labels):
            return super().gradient(images, labels).mean(axis=3)

    images = batch()
    for name in ("pgd-3", "model_gradient-02"):
        expected = corruptset.corrupt(images, name, **model_options(images))
        other = corruptset.corrupt(images, name, **model_options(images, surrogate=Other(12, 9, 3)))
        np.testing.assert_array_equal(other, expected)
        with pytest.raises(
            ModelError, match=r"has the shape \(3, 12, 9\); expected that of the images, \(3, 12, 9, 3\)"
        ):
            corruptset.corrupt(images, name, **model_options(images, surrogate=Flat(12, 9, 3)))


def test_model_on_page_follows_protocol():
    """Test the model in docs/models.md, whose logits and gradient equal those of the model with the same weights."""
    image, known = synthetic_image(12, 9), linear_model(12, 9, 3)
    (code,) = (text for kind, text in blocks(ROOT / "docs/models.md") if text.startswith("import numpy"))
    names = {"corruptset": corruptset, "image": image}
    exec(code, names)
    assert 0 < np.abs(names["perturbed"].astype(int) - image).max() <= 4
    own, images, labels = names["Linear"](known.weights), batch(), np.array([0, 3, 9])
    assert own.logits(images).argmax(axis=1).tolist() == known.logits(images).argmax(axis=1).tolist()
    pixels = images.astype(np.float32)
    np.testing.assert_allclose(own.gradient(pixels, labels), known.gradient(pixels, labels), rtol=1e-4, atol=1e-9)
    assert isinstance(own, Model)


def test_pgd_documents_random_start():
    """Test that keys and seeds have no effect without a random start."""
    description, notes = corruptset.show("pgd"), corruption_notes("pgd")
    assert (description["deterministic"], [*description["draws"]]) == (False, ["start"])
    assert notes.random_draws.startswith("start (")
    images, table = batch(), shipped("cifar")
    plain, random_start = (resolve_stage("pgd", table, severity=3, parameters=p) for p in ({}, {"random_start": True}))
    assert plain.as_json() == resolve_stage("pgd", table, severity=3).as_json()
    assert random_start.parameters == {**plain.parameters, "random_start": True}
    keyed = [
        corruptset.corrupt(images, "pgd-3", key=number_keys(3), seed=seed, **model_options(images)) for seed in (0, 1)
    ]
    assert (
        len({image.tobytes() for image in (*keyed, corruptset.corrupt(images, "pgd-3", **model_options(images)))}) == 1
    )


def test_model_gradient_moves_every_value_one_grey_level_per_step():
    """Test x - step * sign(gradient of log p), with p itself, for thirty levels."""
    images, model = batch(), linear_model(12, 9, 3)
    images[0, :4], images[1, :4] = 0, 255  # Values are clipped at the ends of the range.
    for step in (1, 3):
        current = images
        for level in range(1, 6):
            moved = []
            for image, label in zip(current, labels_of(images), strict=True):
                other = -model.probabilities(image.astype(float))
                other[label] += 1
                moved.append(np.clip(image - step * np.sign((model.weights * other).sum(axis=3)), 0, 255))
            current = np.stack(moved).astype(np.uint8)
            out = corruptset.corrupt(images, "model_gradient", level=level, step=step, **model_options(images))
            np.testing.assert_array_equal(out, current)
    counting, inner = Linear(12, 9, 3), np.clip(images, 30, 225)
    counting.weights[:5, :, 1] = 0
    out = corruptset.corrupt(inner, "model_gradient", level=30, **model_options(images, surrogate=counting))
    assert counting.passes == 30
    np.testing.assert_array_equal(out[:, :5, :, 1], inner[:, :5, :, 1], "a value without a gradient stays")
    assert (np.abs(out.astype(int) - inner)[:, 5:] % 2 == 0).all(), "all others move at each of 30 levels"


def test_chains_pass_model_on_and_keep_draws():
    image, needed = synthetic_image(20, 20), {"label": 3, "surrogate": linear_model(20, 20, 3)}
    foggy = corruptset.corrupt(image, "fog-3", key="k")
    attacked = corruptset.corrupt(image, "pgd-2", **needed)
    for chain, expected in (
        ("fog-3+pgd-4", corruptset.corrupt(foggy, "pgd-4", **needed)),
        ("pgd-2+model_gradient-03", corruptset.corrupt(attacked, "model_gradient-03", **needed)),
    ):
        np.testing.assert_array_equal(corruptset.corrupt(image, chain, key="k", **needed), expected)


def test_missing_and_unexpected_arguments_are_reported():
    model = {"surrogate": linear_model(20, 20, 3)}
    for name, options, message in (
        ("pgd-3", {}, "pgd uses the gradients of a model, but surrogate and labels are missing. Pass"),
        ("fog-1+model_gradient-02", model, "labels is missing"),
        ("fog-3", {"label": 3}, "labels can only be passed with a corruption that uses the gradients of a model: "),
        ("pgd-3", {"label": 3, "labels": [3]}, "label is 3 and labels is [3]; expected one of them"),
        (
            "pgd-3",
            {"label": True},
            "label is True and labels is None; expected one of them. For a single image, pass label, a whole number",
        ),
        (
            "pgd-3",
            {"labels": [1, 2]},
            "labels is [1, 2]; expected one of them. For a single image, pass label, a whole number",
        ),
    ):
        with pytest.raises(ParameterError, match=re.escape(message)):
            corruptset.corrupt(synthetic_image(20, 20), name, **options)
    with pytest.raises(ModelError, match="The model is a object; expected a model file"):
        corruptset.corrupt(batch(), "pgd", severity=1, **model_options(batch(), surrogate=object()))
    with pytest.raises(ParameterError, match=r"labels is \[1, 2\].*pass labels, 3 whole numbers, one per image"):
        corruptset.corrupt(batch(), "pgd", severity=1, **model_options(batch(), labels=[1, 2]))


# --- with networks --------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_accuracy_of_trained_network_falls():
    trained = digits_model()
    images, labels = trained.images[:150], trained.labels[:150]
    model = corruptset.load_surrogate(trained.model, batch=50)
    accuracies = [(model.logits(images).argmax(axis=1) == labels).mean()]
    for severity in (1, 3, 5):
        out = corruptset.corrupt(images, "pgd", severity=severity, labels=labels, surrogate=model)
        accuracies.append((model.logits(out).argmax(axis=1) == labels).mean())
    assert accuracies == sorted(accuracies, reverse=True)
    assert accuracies[0] > 0.95 > 0.9 > accuracies[-1]
    # A path is accepted as a model, and a batch equals its images one by one.
    options = {"severity": 2, "norm": "l2", "random_start": True, "surrogate": str(trained.model)}
    together = corruptset.corrupt(images[:3], "pgd", labels=labels[:3], **options)
    for image, label, out in zip(images, labels.tolist(), together, strict=False):
        np.testing.assert_array_equal(out, corruptset.corrupt(image, "pgd", label=label, **options))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "arguments"), [("Plain", {"channels": 3, "side": 32}), ("Smooth", {"channels": 3})])
@pytest.mark.parametrize(("norm", "eps", "step"), [("linf", 4.0, 1.0), ("linf", 8.0, 2.0), ("l2", 128.0, 32.0)])
def test_iterates_match_torchattacks(kind, arguments, norm, eps, step, tmp_path):
    """Compare images in 0..1, (N, C, H, W), before rounding, with one call of PyTorch on both sides."""
    import small_nets
    import torch
    import torchattacks

    network = seeded_network(lambda: getattr(small_nets, kind)(**arguments))
    file = write_model(tmp_path, network, 32, f"small_nets:{kind}", arguments=arguments)
    mean, std = (torch.tensor(NORMAL["rgb"][key]).reshape(1, -1, 1, 1) for key in ("mean", "std"))
    ours, images = corruptset.load_surrogate(file, batch=8), batch(8, 32, 32)

    class Normalised(torch.nn.Module):
        def forward(self, pixels):
            return network((pixels - mean) / std)

    labels, pixels = labels_of(images), np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32) / np.float32(255)

    def iterated(steps, start=0.0):
        ball = Ball(images, eps, norm)
        start_point = ball.projected(images + np.float32(start))
        *_, last = iterates(ball, start_point, labels, ours, step=step, steps=steps, norm=norm, targeted=False)
        return last.transpose(0, 3, 1, 2) / 255

    def attacked(steps, random):
        torch.manual_seed(5)
        attack = torchattacks.PGD if norm == "linf" else torchattacks.PGDL2
        result = attack(Normalised(), eps=eps / 255, alpha=step / 255, steps=steps, random_start=random)
        return result(torch.from_numpy(pixels), torch.from_numpy(labels)).numpy()

    start = (attacked(0, True) - pixels).transpose(0, 2, 3, 1) * 255  # The library draws this start.
    for steps in (1, 2, 5, 10):
        assert np.abs(iterated(steps) - attacked(steps, False)).max() < 1e-6, steps
        assert np.abs(iterated(steps, start) - attacked(steps, True)).max() < 1e-6, steps
    assert np.abs(iterated(10) - pixels).max() > 1 / 255
