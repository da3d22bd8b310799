"""Read datasets that corruptset built. Their random draws can be repeated with the help of the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..corruptions.registry import Images
from ..generate.plan.tree import SetMaker
from ..generate.recipes.set_spec import SetSpec
from ..generate.reproduction.recorded_build import specs_of
from ..manifests.reader import Dataset
from ..manifests.reading.image_set import ImageSet
from .archives import BENCHMARKS
from .found_set import FoundData, FoundSet, Pixels, file_header
from .storage import StoredAs


def read_dataset(path: Path) -> FoundData:
    """Return the sets in a dataset that corruptset built, except the clean set."""
    data = Dataset(path)
    manifest = data.manifest
    side = manifest.recipe.get("calibration_side")
    specs = {spec.id: spec for spec in specs_of(manifest)}
    sets = []
    for record in manifest.sets:
        if record.id in data.absent or not record.stages:
            continue
        spec, images = specs[record.id], data[record.id]
        maker = None
        if isinstance(side, int) and not spec.needs_surrogate:
            maker = SetMaker(side, manifest.seed, manifest.coupling, manifest.scale, {})
        alone = record.stages[0] if len(record.stages) == 1 else None
        severity = None if alone is None or alone.severity is None else int(alone.severity)
        sets.append(
            FoundSet(
                id=record.id,
                corruption=None if alone is None else alone.corruption,
                severity=severity,
                keys=[sample.id for sample in data.samples][: record.count],
                named=True,
                read=partial(_image, images),
                header=partial(_header, path, images, manifest.encoding),
                label=partial(_label, data),
                own=None if maker is None else _images(maker, spec),
            )
        )
    return FoundData(
        sets,
        f"dataset of corruptset, {data.name}",
        name=manifest.name if manifest.name in BENCHMARKS else None,
        preprocessing=dict(manifest.preprocessing),
        textures=tuple(texture.sha256 for texture in manifest.textures),
    )


def _image(images: ImageSet, index: int) -> Pixels:
    return images.image(index)


def _header(path: Path, images: ImageSet, encoding: Mapping[str, Any], index: int) -> StoredAs:
    for file in images.rows[index].files:
        if (path / file.path).is_file() and not file.path.endswith((".h5", ".hdf5")):
            return file_header(path / file.path)
    if encoding["format"] == "jpeg":
        return StoredAs("jpeg", int(str(encoding["quality"])), str(encoding["subsampling"]))
    return StoredAs(str(encoding["format"]))


def _label(data: Dataset, index: int) -> int | None:
    return data.samples[index].label


def _images(maker: SetMaker, spec: SetSpec) -> Callable[[Images, Sequence[str]], Images]:
    def images(clean: Images, ids: Sequence[str]) -> Images:
        ((_, made),) = [pair for pair in maker.images(maker.tree([spec]), clean, list(ids)) if pair[0] == spec.id]
        return made.copy()

    return images
