"""Read datasets that corruptset built. Their random draws can be repeated with the help of the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..corruptions.registry import Images, is_corruption
from ..errors import ImageError, PluginError, VerificationError, first_few
from ..generate.plan.tree import SetMaker
from ..generate.recipes.set_spec import SetSpec
from ..generate.reproduction.recorded_build import specs_of
from ..manifests.reader import Dataset
from ..manifests.reading.image_set import ImageSet
from .archives import BENCHMARKS
from .found_set import FoundData, FoundSet, Pixels, Recorded, file_header, file_pixels
from .storage import StoredAs, stored_as

_VARIANTS = {"imagenet-c-all": "imagenet-c"}
"""Recipe that contains all sets of a published benchmark under a different name -> the benchmark."""


def read_dataset(path: Path) -> FoundData:
    """Return the sets in a dataset that corruptset built, in the order of its manifest.

    Image files are read even if their sizes differ from the recorded ones.
    """
    data = Dataset(path)
    manifest = data.manifest
    if missing := [name for name in manifest.revisions if not is_corruption(name)]:
        modules = [plugin.module for plugin in manifest.plugins if set(plugin.corruptions) & set(missing)]
        raise PluginError(
            f"{data.name} contains {first_few(missing)}, which {', '.join(modules) or 'a plugin'} defines. Pass the "
            "plugin, or its file, with --plugin (in Python, plugins=[...])."
        )
    side, name = manifest.recipe.get("calibration_side"), _VARIANTS.get(manifest.name, manifest.name)
    specs = {spec.id: spec for spec in specs_of(manifest)}
    sets, recorded = [], _recorded(data, name in BENCHMARKS)
    for record in manifest.sets:
        if record.id in data.absent:
            continue
        spec, images = specs[record.id], data[record.id]
        maker = None
        if isinstance(side, int) and record.stages and not spec.needs_surrogate:
            maker = SetMaker(side, manifest.seed, manifest.coupling, manifest.scale, {})
        alone = record.stages[0] if len(record.stages) == 1 else None
        severity = None if alone is None or alone.severity is None else int(alone.severity)
        clean = None if record.stages else "clean"
        sets.append(
            FoundSet(
                id=record.id,
                corruption=clean if alone is None else alone.corruption,
                severity=severity,
                keys=[sample.id for sample in data.samples][: record.count],
                named=True,
                read=partial(_image, images),
                header=partial(_header, images, manifest.encoding),
                label=partial(_label, data),
                own=None if maker is None else _images(maker, spec),
                recorded=recorded,
            )
        )
    return FoundData(
        sets,
        f"dataset of corruptset, {data.name}",
        name=name if name in BENCHMARKS else None,
        complete=name in BENCHMARKS,
        preprocessing=dict(manifest.preprocessing),
        textures=tuple(texture.sha256 for texture in manifest.textures),
        remarks=[("missing_sets", _absent(data))] if data.absent and name not in BENCHMARKS else [],
    )


def _recorded(data: Dataset, published: bool) -> Recorded:
    encoding = data.manifest.encoding
    usual = _stored_as(encoding)
    # Datasets without classes keep the file names of the source, so a dataset of JPEGs can also contain PNGs.
    encodings = (usual,) if data.manifest.classes or usual.format == "png" else (usual, StoredAs("png"))
    source = "" if data.manifest.source.name == "sample" else " --source SOURCE"
    return Recorded(encodings, published, f"Restore the files with `corruptset verify {data.path} --repair{source}`.")


def _stored_as(encoding: Mapping[str, Any]) -> StoredAs:
    if encoding["format"] != "jpeg":
        return StoredAs(str(encoding["format"]))
    return StoredAs("jpeg", int(encoding["quality"]), str(encoding["subsampling"]))


def _absent(data: Dataset) -> str:
    return (
        f"{len(data.absent)} sets of {data.name} are missing: {first_few(data.absent)}. A mean over the others is not "
        "comparable with a mean over all sets. Fetch or unpack the missing sets."
    )


def _image(images: ImageSet, index: int) -> Pixels:
    """Read an image without comparing its file with the records."""
    try:
        _, place = images.stored(index)
        return file_pixels(place) if isinstance(place, Path) else images.image(index)
    except VerificationError as e:
        raise ImageError(str(e).partition("\n")[0].rstrip(".")) from None


def _header(images: ImageSet, encoding: Mapping[str, Any], index: int) -> StoredAs:
    try:
        _, place = images.stored(index)
    except VerificationError:
        return StoredAs("unknown")
    if isinstance(place, Path):
        return file_header(place)
    # Shards contain the bytes of JPEG files, or pixels.
    return stored_as(place.tobytes()) if place.ndim == 1 else _stored_as(encoding)


def _label(data: Dataset, index: int) -> int | None:
    return data.samples[index].label


def _images(maker: SetMaker, spec: SetSpec) -> Callable[[Images, Sequence[str]], Images]:
    def images(clean: Images, ids: Sequence[str]) -> Images:
        ((_, made),) = [pair for pair in maker.images(maker.tree([spec]), clean, list(ids)) if pair[0] == spec.id]
        return made.copy()

    return images
