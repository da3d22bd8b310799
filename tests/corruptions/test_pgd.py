"""Projected gradient descent: against a plain version, within its ball, with a real network, and against two
libraries.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from surrogates import CLASSES, Linear, digits, labels_of, linear, seeded, smooth, write_model

import corruptset
from corruptset.corruptions.adversarial.pgd import Ball, _draw_start, iterates
from corruptset.corruptions.calibrations import SHIPPED, shipped
from corruptset.corruptions.keys import Keys, sample_keys
from corruptset.errors import ParameterError
from pictures import painted

SEVERITIES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 16}


def batch(count=3, height=12, width=9, channels=3):
    return np.stack([painted(height, width, channels, which) for which in range(count)])


def plain(image, label, model, *, eps, step, steps, norm="linf", targeted=False, start=None):
    """PGD of one image in float64, as its definition reads."""
    clean = image.astype(float)
    x = clean.copy()
    if start is not None:
        x = project(clean + start, clean, eps, norm)
    for _ in range(steps):
        error = model.probabilities(x)
        error[label] -= 1
        gradient = (model.weights * error).sum(axis=3) / 255
        way = np.sign(gradient) if norm == "linf" else gradient / np.sqrt((gradient**2).sum())
        x = project(x - step * way if targeted else x + step * way, clean, eps, norm)
    return x


def project(x, clean, eps, norm):
    away = x - clean
    if norm == "l2":
        length = np.sqrt((away**2).sum())
        away = away * min(1, eps / length) if length else away
    else:
        away = np.clip(away, -eps, eps)
    return np.clip(clean + away, 0, 255)


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("targeted", [False, True])
@pytest.mark.parametrize(("eps", "step", "steps"), [(4.0, 1.0, 10), (16.0, 4.0, 3), (2.5, 0.7, 6)])
def test_it_is_its_definition(norm, targeted, eps, step, steps):
    images = batch()
    labels, model = labels_of(images), linear(12, 9, 3)
    factor = 1 if norm == "linf" else 12  # a radius for the whole image
    options = {"eps": eps * factor, "step": step * factor, "steps": steps, "norm": norm, "targeted": targeted}
    out = corruptset.corrupt(images, "pgd", labels=labels, surrogate=model, **options)
    wanted = np.stack([plain(image, label, model, **options) for image, label in zip(images, labels, strict=True)])
    whole = np.clip(np.rint(wanted), images - np.floor(options["eps"]), images + np.floor(options["eps"]))
    # float32 may fall on the other side of a half
    near_half = np.abs(wanted - np.floor(wanted) - 0.5) < 1e-3
    assert near_half.mean() < (0.01 if eps != 2.5 or norm == "l2" else 1)
    np.testing.assert_array_equal(out[~near_half], whole.astype(np.uint8)[~near_half])


@pytest.mark.parametrize("severity", SEVERITIES)
def test_a_severity_is_a_radius_in_grey_levels_with_ten_steps_of_a_quarter(severity):
    eps = SEVERITIES[severity]
    for calibration in SHIPPED:
        assert dict(shipped(calibration).row("pgd", severity).parameters) == {"eps": eps, "step": eps / 4, "steps": 10}
    images = batch(2)
    labels, model = labels_of(images), linear(12, 9, 3)
    out = corruptset.corrupt(images, "pgd", severity=severity, labels=labels, surrogate=model)
    for image, label, made in zip(images, labels, out, strict=True):
        np.testing.assert_array_equal(made, np.rint(plain(image, label, model, eps=eps, step=eps / 4, steps=10)))


@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("eps", [0.4, 1.0, 2.5, 7.9, 8.0, 300.0])
def test_no_stored_value_is_further_than_eps(norm, eps):
    """Rounding alone would carry 2.5 to 3."""
    images = np.concatenate([batch(2), np.zeros((1, 12, 9, 3), np.uint8), np.full((1, 12, 9, 3), 255, np.uint8)])
    options = {"eps": eps, "step": eps / 3, "steps": 7, "norm": norm, "random_start": True}
    out = corruptset.corrupt(images, "pgd", labels=labels_of(images), surrogate=linear(12, 9, 3), **options)
    away = np.abs(out.astype(int) - images)
    assert away.max() <= eps
    assert (away.max() == np.floor(eps)) or norm == "l2" or eps > 255


def test_a_step_is_one_pass_and_nothing_else_is_asked():
    images = batch()
    for steps in (1, 10):
        model = Linear(12, 9, 3)
        corruptset.corrupt(images, "pgd", eps=8.0, step=2.0, steps=steps, labels=labels_of(images), surrogate=model)
        assert model.passes == steps


def test_a_value_whose_gradient_is_0_stays():
    images = batch()
    model = Linear(12, 9, 3)
    model.weights[:5, :, 1] = 0
    for norm in ("linf", "l2"):
        out = corruptset.corrupt(
            images, "pgd", eps=80.0, step=20.0, steps=5, norm=norm, labels=labels_of(images), surrogate=model
        )
        np.testing.assert_array_equal(out[:, :5, :, 1], images[:, :5, :, 1])
        assert (out != images)[:, 5:].mean() > 0.5
    model.weights[:] = 0
    for norm in ("linf", "l2"):
        out = corruptset.corrupt(
            images, "pgd", eps=80.0, step=20.0, steps=5, norm=norm, labels=labels_of(images), surrogate=model
        )
        np.testing.assert_array_equal(out, images)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_a_random_start_is_drawn_from_the_images_own_key(norm):
    images = np.stack([painted(40, 40)] * 12)
    model = linear(40, 40, 3)
    options = {
        "eps": 64.0,
        "step": 0.0,
        "steps": 1,
        "norm": norm,
        "labels": labels_of(images),
        "surrogate": model,
        "random_start": True,
    }
    keys = [str(i) for i in range(12)]
    out = corruptset.corrupt(images, "pgd", key=keys, **options)
    assert len({image.tobytes() for image in out}) == 12
    alone = corruptset.corrupt(images[7:8], "pgd", key=keys[7:8], **options | {"labels": options["labels"][7:8]})
    np.testing.assert_array_equal(alone, out[7:8])
    assert not np.array_equal(out, corruptset.corrupt(images, "pgd", key=keys, seed=1, **options))
    inside = (images >= 64) & (images <= 191)
    offsets = np.where(inside, out.astype(float) - images, np.nan)
    if norm == "linf":  # uniform on -64..64: mean 0, standard deviation 64 / sqrt(3)
        assert abs(np.nanmean(offsets)) < 1
        assert abs(np.nanstd(offsets) - 64 / np.sqrt(3)) < 1
        assert np.nanmax(offsets) == 64
    else:
        drawn = Keys(np.uint64(5), sample_keys(keys))
        starts = _draw_start(drawn, images.shape[1:], {"random_start": True, "eps": 64.0, "norm": norm})
        starts = Ball(images, 64.0, norm).projected(images + starts) - images
        lengths = np.sqrt(np.square(starts, dtype=float).sum(axis=(1, 2, 3)))
        assert 0 < lengths.min() < 20 < 40 < lengths.max() <= 64 * (1 + 1e-6)


def test_a_given_start_takes_the_place_of_the_drawn_one():
    images = batch()
    labels, model = labels_of(images), linear(12, 9, 3)
    start = np.random.default_rng(1).uniform(-4, 4, images.shape[1:])
    options = {"eps": 3.0, "step": 0.5, "steps": 4}
    for drawn in (True, False):
        out = corruptset.corrupt(
            images, "pgd", labels=labels, surrogate=model, start=start, random_start=drawn, **options
        )
        for image, label, made in zip(images, labels, out, strict=True):
            assert np.abs(plain(image, label, model, start=start, **options) - made).max() <= 0.5 + 1e-4
    assert not np.array_equal(out, corruptset.corrupt(images, "pgd", labels=labels, surrogate=model, **options))


def test_chains_hand_the_model_on_and_draw_as_they_do_alone():
    image = painted(20, 20)
    needed = {"label": 3, "surrogate": linear(20, 20, 3)}
    foggy = corruptset.corrupt(image, "fog", severity=3, key="k")
    want = corruptset.corrupt(foggy, "pgd", severity=4, **needed)
    np.testing.assert_array_equal(corruptset.corrupt(image, "fog-3+pgd-4", key="k", **needed), want)
    first = corruptset.corrupt(image, "pgd", severity=4, **needed)
    np.testing.assert_array_equal(
        corruptset.corrupt(image, "pgd-4+jpeg_compression-3", **needed),
        corruptset.corrupt(first, "jpeg_compression", severity=3),
    )
    moved = corruptset.corrupt(image, "pgd-2+model_gradient-03", **needed)
    second = corruptset.corrupt(image, "pgd", severity=2, **needed)
    np.testing.assert_array_equal(moved, corruptset.corrupt(second, "model_gradient", level=3, **needed))
    for name in ("pgd/3", [("pgd", 3)], [{"corruption": "pgd", "severity": 3}]):
        np.testing.assert_array_equal(
            corruptset.corrupt(image, name, **needed), corruptset.corrupt(image, "pgd", severity=3, **needed)
        )


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        (
            "pgd-3",
            {},
            "pgd follows the gradient of a model, and surrogate and labels are missing. corrupt() takes surrogate=",
        ),
        ("pgd-3", {"label": 3}, "surrogate is missing"),
        ("fog-1+model_gradient-02", {"surrogate": linear(20, 20, 3)}, "labels is missing"),
        ("fog-3", {"label": 3}, "labels can be given only with a corruption that follows a model: model_gradient, pgd"),
        ("fog-3", {"surrogate": linear(20, 20, 3)}, "surrogate can be given only with"),
        ("pgd-3", {"label": 3, "labels": [3]}, "label and labels are given"),
        ("pgd-3", {"label": 2.5}, "label is 2.5; expected one whole number"),
        ("pgd-3", {"label": True}, "label is True; expected one whole number"),
        ("pgd-3", {"label": "cat"}, "label is 'cat'"),
        ("pgd-3", {"labels": [1, 2]}, "labels is [1, 2]; expected one whole number"),
    ],
)
def test_what_is_missing_or_too_much_is_said(name, given, says):
    with pytest.raises(ParameterError) as caught:
        corruptset.corrupt(painted(20, 20), name, **given)
    assert says in str(caught.value)


def test_a_batch_takes_as_many_labels():
    with pytest.raises(
        ParameterError, match=r"labels is \[1, 2\]; expected labels, 3 whole numbers: one for each image"
    ):
        corruptset.corrupt(batch(), "pgd", severity=1, labels=[1, 2], surrogate=linear(12, 9, 3))


@pytest.mark.ci
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_with_a_network_a_batch_is_its_images_one_by_one(norm):
    images = batch(5, 24, 20)
    labels = labels_of(images)
    surrogate = corruptset.load_surrogate(smooth(24, 20))
    options = {"eps": 8.0, "step": 2.0, "steps": 5, "norm": norm, "surrogate": surrogate, "random_start": True}
    together = corruptset.corrupt(images, "pgd", labels=labels, **options)
    for image, label, out in zip(images, labels, together, strict=True):
        np.testing.assert_array_equal(out, corruptset.corrupt(image, "pgd", label=int(label), **options))
    turned = corruptset.corrupt(images[::-1].copy(), "pgd", labels=labels[::-1], **options)
    np.testing.assert_array_equal(turned[::-1], together)


@pytest.mark.ci
def test_a_path_is_a_model_too():
    image, file = painted(24, 20), smooth(24, 20)
    want = corruptset.corrupt(image, "pgd", severity=3, label=2, surrogate=corruptset.load_surrogate(file))
    for path in (file, str(file)):
        np.testing.assert_array_equal(corruptset.corrupt(image, "pgd", severity=3, label=2, surrogate=path), want)


@pytest.mark.ci
def test_the_accuracy_of_a_trained_network_falls():
    trained = digits()
    images, labels = trained.images[:150], trained.labels[:150]
    model = corruptset.load_surrogate(trained.model)

    def judged(out):
        return float((model.logits(out).argmax(axis=1) == labels).mean()), model.gradient(
            out.astype(np.float32), labels
        )[0]

    accuracy, loss = judged(images)
    assert accuracy > 0.95
    for severity in SEVERITIES:
        out = corruptset.corrupt(images, "pgd", severity=severity, labels=labels, surrogate=model)
        now, losses = judged(out)
        assert now <= accuracy
        assert (losses >= loss).all(), "no image is easier than clean"
        accuracy = now
    assert accuracy < 0.9
    towards = corruptset.corrupt(images, "pgd", severity=5, labels=labels, surrogate=model, targeted=True)
    assert (judged(towards)[1] <= loss).all()


NETS = {
    "plain": ("Plain", {"channels": 3, "classes": CLASSES, "side": 32}),
    "smooth": ("Smooth", {"channels": 3, "classes": CLASSES}),
}


class Peers:
    """A network, ours as a surrogate, and the same as the libraries take it: images of 0..1, (N, C, H, W)."""

    def __init__(self, name: str, folder: Path, *, pale: bool = False) -> None:
        import small_nets
        import torch

        kind, arguments = NETS[name]
        self.network = seeded(lambda: getattr(small_nets, kind)(**arguments))
        # one pass for all images on both sides, so that both ask the same of PyTorch
        self.images = np.stack([painted(32, 32, 3, which) for which in range(8)])
        if pale:
            self.images = 64 + self.images // 2
        self.labels = labels_of(self.images)
        file = write_model(folder, self.network, 32, f"small_nets:{kind}", arguments=arguments)
        self.ours = corruptset.load_surrogate(file, batch=len(self.images))
        mean, std = (torch.tensor(getattr(self.ours.file.input, key)).reshape(1, -1, 1, 1) for key in ("mean", "std"))
        network = self.network

        class Normalised(torch.nn.Module):
            def forward(self, pixels: torch.Tensor) -> torch.Tensor:
                return network((pixels - mean) / std)

        self.normalised = Normalised().eval()
        self.pixels = np.ascontiguousarray(self.images.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)

    def iterate(self, steps: int, eps: float, step: float, norm: str, start: np.ndarray | None) -> np.ndarray:
        """Return our images after so many steps, in 0..1, before rounding."""
        ball = Ball(self.images, eps, norm)
        begin = ball.projected(self.images + np.float32(0 if start is None else start))
        *_, last = iterates(ball, begin, self.labels, self.ours, step=step, steps=steps, norm=norm, targeted=False)
        return last.transpose(0, 3, 1, 2) / 255


CASES = [("linf", 4.0, 1.0), ("linf", 8.0, 2.0), ("l2", 128.0, 32.0)]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(("norm", "eps", "step"), CASES)
def test_the_iterates_are_those_of_the_adversarial_robustness_toolbox(net, norm, eps, step, tmp_path):
    import torch
    from art.attacks.evasion import ProjectedGradientDescentPyTorch
    from art.estimators.classification import PyTorchClassifier

    # for L2 it clips to 0..1 before it projects onto the ball, and we (as torchattacks) after: on pale images nothing
    # is clipped
    peers = Peers(net, tmp_path, pale=norm == "l2")
    classifier = PyTorchClassifier(
        peers.normalised, torch.nn.CrossEntropyLoss(), (3, 32, 32), CLASSES, clip_values=(0.0, 1.0), device_type="cpu"
    )
    for steps in (1, 2, 5, 10):
        order = np.inf if norm == "linf" else 2
        options = {
            "norm": order,
            "eps": eps / 255,
            "eps_step": step / 255,
            "max_iter": steps,
            "batch_size": 8,
            "verbose": False,
        }
        attack = ProjectedGradientDescentPyTorch(classifier, **options)
        theirs = attack.generate(peers.pixels, peers.labels)
        ours = peers.iterate(steps, eps, step, norm, None)
        assert np.abs(ours - theirs).max() < 1e-6, steps
    assert np.abs(ours - peers.pixels).max() > 1 / 255


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize(("norm", "eps", "step"), CASES)
def test_the_iterates_are_those_of_torchattacks(net, norm, eps, step, random, tmp_path):
    import torch
    import torchattacks

    peers = Peers(net, tmp_path)
    pixels, labels = torch.from_numpy(peers.pixels), torch.from_numpy(peers.labels)
    make = torchattacks.PGD if norm == "linf" else torchattacks.PGDL2
    start = None
    for steps in (1, 2, 5, 10):
        if random:  # what the library draws, from the same seed: its own images after no step
            torch.manual_seed(5)
            begun = make(peers.normalised, eps=eps / 255, alpha=step / 255, steps=0, random_start=True)(
                pixels, labels
            ).numpy()
            start = (begun - peers.pixels).transpose(0, 2, 3, 1) * 255
            torch.manual_seed(5)
        theirs = make(peers.normalised, eps=eps / 255, alpha=step / 255, steps=steps, random_start=random)(
            pixels, labels
        ).numpy()
        ours = peers.iterate(steps, eps, step, norm, start)
        assert np.abs(ours - theirs).max() < 1e-6, steps
    assert np.abs(ours - peers.pixels).max() > 1 / 255
