"""PGD against the Adversarial Robustness Toolbox and torchattacks: ``python -m benchmarks.adversarial`` (extra ``adversarial``).

The same networks, images, radius and steps, one core. The three take turns, and each is timed by the processor's seconds: read the ratios,
which are medians over turns. Passes through the network are counted.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corruptset
from corruptset.models.surrogate import Surrogate

from .sources import crops
from .timing import options, save, show
from .timing import seconds as timed

EPS, STEP, STEPS = 8, 2, 10
CLASSES = 10
CASES: list[tuple[str, dict[str, int], int]] = [
    ("28x28 grey, 2 stages from 16", {"channels": 1, "side": 28, "width": 16, "stages": 2}, 1),
    ("28x28 grey, 2 stages from 16", {"channels": 1, "side": 28, "width": 16, "stages": 2}, 64),
    ("32x32, 3 stages from 16", {"channels": 3, "side": 32, "width": 16, "stages": 3}, 1),
    ("32x32, 3 stages from 16", {"channels": 3, "side": 32, "width": 16, "stages": 3}, 16),
    ("128x128, 5 stages from 16", {"channels": 3, "side": 128, "width": 16, "stages": 5}, 1),
]
"""A network, its arguments, and how many images go through it at once."""
OURS, ART, TORCHATTACKS = "corruptset", "Adversarial Robustness Toolbox", "torchattacks"


def main() -> None:
    parser = options(__doc__, repeats=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="about how long a turn of one of them takes")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    figures = {}
    rows = []
    for name, network, batch in CASES:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(Path(folder), network, batch, arguments.repeats, arguments.seconds)
        title = f"{name}, batch {batch}"
        figures[title] = measured
        for who, row in measured.items():
            times = statistics.median(other / own for own, other in zip(measured[OURS]["seconds"], row["seconds"], strict=True))
            passes = f"{row['forward']} / {row['backward']}"
            rows.append([title if who == OURS else "", who, f"{row['images_per_s']:.1f}", passes, f"{times:.2f}"])
    title = f"PGD, L-inf, {STEPS} steps; one core, processor time, medians of {arguments.repeats} turns"
    show(title, ["network", "who", "images/s", "passes forward / back", "time / ours"], rows)
    save(arguments.json, figures)


def measure(folder: Path, network: dict[str, int], batch: int, repeats: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Return per library: images/s, seconds of each turn, passes an image."""
    import torch
    from safetensors.torch import save_file

    from .networks import Convolutions

    torch.manual_seed(0)
    torch.set_num_threads(1)
    save_file(Convolutions(**network).state_dict(), folder / "weights.safetensors")
    channels, side = network["channels"], network["side"]
    kind, value = ("grey", 1) if channels == 1 else ("rgb", 3)
    written = ", ".join(f"{key} = {number}" for key, number in network.items())
    (folder / "model.toml").write_text(
        f'name = "convolutions"\nfactory = "benchmarks.networks:Convolutions"\narguments = {{{written}}}\nweights = "weights.safetensors"\n'
        f'input = {{size = {side}, mean = {[0.5] * value}, std = {[0.25] * value}, channels = "{kind}"}}\n'
    )
    surrogate = corruptset.load_surrogate(folder / "model.toml", batch=batch)
    images = crops(batch, side) if channels == 3 else np.ascontiguousarray(crops(batch, side)[..., :1])
    labels = np.arange(batch) % CLASSES
    with surrogate.running() as running:
        module = running.module
    counts = counted(module)
    calls = dict(attacks(surrogate, module, images, labels))
    turns: dict[str, list[float]] = {who: [] for who in calls}
    passes = {}
    for who, call in calls.items():
        call()
        counts.clear()
        call()
        passes[who] = counts.count("forward"), counts.count("backward")
    times = max(1, round(seconds / timed(calls[OURS], clock=time.process_time)))
    for _ in range(repeats):
        for who, call in calls.items():
            turns[who].append(timed(call, times, clock=time.process_time))
    return {
        who: {
            "images_per_s": batch * times / statistics.median(turns[who]),
            "seconds": turns[who],
            "forward": passes[who][0],
            "backward": passes[who][1],
        }
        for who in calls
    }


def counted(module: Any) -> list[str]:
    """Return a list that gets a word for each pass of a batch through a network."""
    import torch

    words: list[str] = []

    def count(_: Any, inputs: Any, output: torch.Tensor) -> None:
        words.append("forward")
        if output.requires_grad:
            output.register_hook(lambda gradient: words.append("backward"))

    module.register_forward_hook(count)
    return words


def attacks(
    surrogate: Surrogate, module: Any, images: NDArray[np.uint8], labels: NDArray[np.int64]
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each library's PGD on a batch, from numpy's arrays to numpy's arrays."""
    import torch
    import torchattacks
    from art.attacks.evasion import ProjectedGradientDescentPyTorch
    from art.estimators.classification import PyTorchClassifier

    class Normalised(torch.nn.Module):
        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = module((pixels - 0.5) / 0.25)
            return out

    strength = {"eps": float(EPS), "step": float(STEP), "steps": STEPS}
    yield OURS, lambda: corruptset.corrupt(images, "pgd", labels=labels, surrogate=surrogate, **strength)
    network = Normalised().eval()
    pixels = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)
    attack = torchattacks.PGD(network, eps=EPS / 255, alpha=STEP / 255, steps=STEPS, random_start=False)
    truth = torch.from_numpy(labels)
    yield TORCHATTACKS, lambda: attack(torch.from_numpy(pixels), truth).numpy()
    classifier = PyTorchClassifier(
        network, torch.nn.CrossEntropyLoss(), pixels.shape[1:], CLASSES, clip_values=(0.0, 1.0), device_type="cpu"
    )
    theirs = ProjectedGradientDescentPyTorch(
        classifier, norm=np.inf, eps=EPS / 255, eps_step=STEP / 255, max_iter=STEPS, batch_size=len(images), verbose=False
    )
    yield ART, lambda: theirs.generate(pixels, labels)


if __name__ == "__main__":
    main()
