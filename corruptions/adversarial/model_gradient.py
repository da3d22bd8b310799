"""A model's gradient, followed a grey level at a time."""

from __future__ import annotations

import numpy as np

from ...references import SWINGLER_2022
from ..models.protocol import Model, loss_gradient
from ..registry import Gradual, Images, Keys, Parameter, Wholes, corruption


@corruption(
    reference=f"{SWINGLER_2022}, model gradient descent",
    parameters=(Parameter("step", int, 1, 255, "how many grey levels every value moves at each level"),),
    resources={"surrogate": None, "labels": None},
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"{parameters['step']} along the gradient, {level} time{'s' * (level != 1)}"
    ),
)
def model_gradient(images: Images, keys: Keys, *, level: int, step: int, surrogate: Model, labels: Wholes) -> Images:
    """Move every value by whole grey levels against a model's label, once a level.

    Each moves along the sign of the gradient that makes the model less sure of the label.

    That is ``clip(x - step * sign(gradient of log p))``, with p the probability that the model gives the label: its
    sign is the gradient's of p itself, and it does not underflow. `surrogate` (a `models.protocol.Model`) is the
    model, `labels` ((N,) int64) are the true classes. A value whose gradient is exactly 0 stays.

    Raises
    ------
    ModelError
        Images are not of the model's size and channels, labels are beyond its outputs, or a gradient is not finite.

    Notes
    -----
    The paper gives no formula and its notebook no code. It says that all values change at each step, and how many steps
    bring the accuracy of three models from 100 to 50 %: 1, 4 to 5, and 22. The step of one grey level is ours. Only the
    image, whole numbers, is carried from level to level. There is no ball: after 30 levels a value may be 30 grey
    levels away.

    Bytes depend on the machine: docs/models.md says how far.
    """
    gradient = loss_gradient(surrogate, images.astype(np.float32), labels)
    signs = np.sign(gradient).astype(np.int16)
    return np.clip(images + np.int16(step) * signs, 0, 255).astype(np.uint8)
