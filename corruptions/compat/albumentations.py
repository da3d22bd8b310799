"""The class `ImageTransform`, which wraps a `Corrupt` as a step of an albumentations pipeline."""

from __future__ import annotations

from typing import Any


def _image_transform() -> type:
    """Create the class on first access, so that albumentations is imported only if it is used."""
    from albumentations import ImageOnlyTransform

    class ImageTransform(ImageOnlyTransform):  # type: ignore[misc]
        """Apply a `Corrupt` to the image in ``albumentations.Compose``.

        Masks, boxes and key points do not change.

        Parameters
        ----------
        transform : Corrupt
            The corruption or chain. Its random draws depend on the pixels of the image, or on ``key=`` if the pipeline
            is called with a key in addition to ``image=``.
        p : float
            The probability that an image is corrupted, from 0 to 1. albumentations decides this with its own random
            generator.

        Examples
        --------
        ::

            A.Compose([ImageTransform(corruptset.Corrupt("fog", severity=3)), A.HorizontalFlip()])
        """

        class InitSchema(ImageOnlyTransform.InitSchema):  # type: ignore[misc]
            transform: Any

        def __init__(self, transform: Any, p: float = 1.0) -> None:
            super().__init__(p=p)
            self.transform = transform

        def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
            return {"key": data.get("key")}

        def apply(self, img: Any, key: Any = None, **params: Any) -> Any:
            return self.transform(img, key=key)

        def get_transform_init_args_names(self) -> tuple[str, ...]:
            return ("transform",)

    ImageTransform.__module__, ImageTransform.__qualname__ = __name__, "ImageTransform"  # pickle needs these names.
    return ImageTransform


def __getattr__(name: str) -> Any:
    if name != "ImageTransform":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _image_transform())
