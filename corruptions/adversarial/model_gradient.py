"""The gradual degradation `model_gradient`, which follows the gradient of a model by a few grey values per level."""

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
    """Change every value by `step`, so that a model becomes less certain of the label, once per level.

    The result is ``clip(x - step * sign(gradient of log p))``, where p is the probability of the label according to the
    model. The sign is the same as for the gradient of p, and log p does not underflow. Values whose gradient is exactly
    0 do not change. The resource `surrogate` (a `models.protocol.Model`) is the model, and `labels` ((N,) int64) are
    the true classes.

    Raises
    ------
    ModelError
        If the images do not have the size and channels of the model, if labels exceed its outputs, or if a gradient is
        not finite.

    Notes
    -----
    The paper gives no formula, and its notebook has no code for it. The paper says that all values change at each step,
    and that 1, 4 to 5, and 22 steps reduce the accuracy of three models from 100 to 50 %. corruptset chose a step of
    one grey value. Only the image, as whole numbers, is passed from level to level. The distance from the clean image
    is not limited, so a value may differ by 30 after 30 levels.

    The output depends on the machine. docs/models.md describes by how much.
    """
    gradient = loss_gradient(surrogate, images.astype(np.float32), labels)
    signs = np.sign(gradient).astype(np.int16)
    return np.clip(images + np.int16(step) * signs, 0, 255).astype(np.uint8)
