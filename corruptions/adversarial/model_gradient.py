"""The gradual degradation `model_gradient`, which shifts values along a model's gradient at each level."""

from __future__ import annotations

import numpy as np

from ...references import SWINGLER_2022
from ..models.protocol import Model, loss_gradient
from ..registry import Gradual, Images, Int64Array, Keys, Parameter, corruption


@corruption(
    reference=f"{SWINGLER_2022}, model gradient descent",
    parameters=(Parameter("step", int, 1, 255, "change of every value per level, in grey values"),),
    resources={"surrogate": None, "labels": None},
    deterministic=True,
    gradual=Gradual(
        lambda level, shape, parameters: f"{parameters['step']} along the gradient, {level} time{'s' * (level != 1)}"
    ),
)
def model_gradient(
    images: Images, keys: Keys, *, level: int, step: int, surrogate: Model, labels: Int64Array
) -> Images:
    """Change every value by `step` at each level, so that a model becomes less certain of the label.

    The result is ``clip(x - step * sign(gradient of log p))``, where p is the probability of the label according to the
    model. The gradient of p has the same sign, but unlike p, log p does not underflow. Values whose gradient is exactly
    0 do not change. The resource `surrogate` (a `models.protocol.Model`) is the model, and `labels` ((N,) int64) are
    the true classes.

    Raises
    ------
    ModelError
        If the images do not have the size and channels that the model expects, if the model has no output for a label,
        or if a gradient is not finite.

    Notes
    -----
    The paper gives no formula for this degradation, and its notebook has no code for it. According to the paper, all
    values change at each step. The accuracy of its three models falls from 100 to 50 % after 1 step, after 4 to 5
    steps, and after 22 steps. The step of one grey value is corruptset's choice. Each level starts from the previous
    level's image, which contains whole numbers. The distance from the clean image is not limited, so a value may differ
    by up to 30 after 30 levels.

    The output depends on the machine. docs/models.md describes by how much.
    """
    gradient = loss_gradient(surrogate, images.astype(np.float32), labels)
    signs = np.sign(gradient).astype(np.int16)
    return np.clip(images + np.int16(step) * signs, 0, 255).astype(np.uint8)
