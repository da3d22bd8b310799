"""`ImageTransform`: a `Corrupt` as a step of an albumentations pipeline."""

from __future__ import annotations

from typing import Any


def _image_transform() -> type:
    """Return the class.

    It is made when it is first asked for, so that albumentations is imported by those who have it.
    """
    from albumentations import ImageOnlyTransform

    class ImageTransform(ImageOnlyTransform):  # type: ignore[misc]
        """A transform of corruptset for ``albumentations.Compose``; masks, boxes and key points stay.

        Parameters
        ----------
        transform : Corrupt
            Its random draws follow from the image's pixels, or from ``key=`` if the pipeline is called with one next to
            ``image=``.
        p : float
            The share of images that are corrupted. albumentations draws them with its own generator.

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

    ImageTransform.__module__, ImageTransform.__qualname__ = __name__, "ImageTransform"  # where pickle finds it
    return ImageTransform


def __getattr__(name: str) -> Any:
    if name != "ImageTransform":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _image_transform())
