"""The data card (README.md) and the source's terms (LICENSE) that go with a build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...manifests.layout import CONTACT, LICENSE, REGIONS, SHARDS, image_folder, is_own, moved_content, set_of_shard
from ...manifests.records.markdown import markdown_text
from ...manifests.records.models import Manifest, SourceRecord
from ..sources.groups import recorded_hold_out
from ..views.class_numbers import numbering_notes

_SHOWN = 10


def data_card(manifest: Manifest, samples: int) -> str:
    """Return the README.md of a build: what it is, how to load it, its digest, its terms."""
    recipe = manifest.recipe
    containers = manifest.encoding["containers"]
    example = next((s.id for s in manifest.sets if s.id != "clean"), "clean")
    images = sum(s.count for s in manifest.sets)
    label = "int" if manifest.classes else "None"
    lines = [
        f"# {markdown_text(recipe.get('title') or manifest.name)} ({manifest.name} {manifest.version})",
        "",
        *([markdown_text(recipe["description"]), ""] if recipe.get("description") else []),
        f"{len(manifest.sets)} sets of {samples} samples ({images} images), made by corruptset {manifest.environment['corruptset']} "
        f"from the source `{manifest.source.name}` with seed {manifest.seed}.",
        *_held_out(manifest),
        "",
        "The digest names this benchmark; it is the same on every machine, whatever the container and the encoder:",
        "",
        f"    {manifest.digest}",
        "",
        "Everything about it is in `manifest.json`; `samples.jsonl` lists the samples, `sets/<set id>.jsonl` the images of each set. "
        f"`{CONTACT}` shows one sample under every set.",
        *_regions(recipe.get("regions")),
        "",
        "## Check it",
        "",
        "    corruptset verify .",
        "    sha256sum --check SHA256SUMS   # without corruptset: everything but single images",
        "",
        "## Load it",
        "",
        "```python",
        "import corruptset",
        "",
        'data = corruptset.open(".")',
        f'for image, label in data["{example}"]:  # uint8 (H, W, C), {label}',
        "    ...",
        f'image, label = data["{example}"][0]',
        "```",
    ]
    if "folder" in containers:
        lines += [
            "",
            "```python",
            "from torchvision.datasets import ImageFolder",
            "",
            f'data = ImageFolder("{image_folder(example)}")  # one folder a class',
            "```",
        ]
        lines += [line for note in numbering_notes((f"{c.folder}/", c.index) for c in manifest.classes) for line in ("", note)]
    if "hdf5" in containers:
        lines += _shards(manifest, example, samples)
    for view in manifest.views:
        if view.get("own_names"):
            lines += ["", _annotated(manifest, view)]
        lines += ["", f"The images stand in the layout of the view `{view['view']}`, in `{view['top']}/`, as its loaders open it."]
    lines += ["", "## Terms", ""]
    if manifest.source.license is not None:
        lines.append(f"The images derive from the source's, whose terms are in `{LICENSE}`.")
    else:
        lines.append("The images derive from the source's, whose own terms apply; corruptset knows of none and adds none.")
    if manifest.excluded:
        lines += ["", f"{len(manifest.excluded)} samples of the source could not be used; `manifest.json` lists them under `excluded`."]
    return "\n".join(lines) + "\n"


def _held_out(manifest: Manifest) -> list[str]:
    """Return what the samples are for, where groups of the source were held out."""
    hold_out = recorded_hold_out(manifest.selection.get("hold_out"))
    if hold_out is None:
        return []
    more = len(hold_out.groups) - _SHOWN
    groups = ", ".join(map(markdown_text, hold_out.groups[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
    use = "all groups of the source but these, to train with" if hold_out.train else "these groups of the source, held out of training"
    return ["", f"The samples are of {use}: {groups}."]


def _annotated(manifest: Manifest, view: Mapping[str, Any]) -> str:
    """Return how annotations find images that keep their paths, and what does not fit them."""
    lines = [f"Images keep their paths: `{view['top']}/<set id>/<path>`, the path as in the source and in `samples.jsonl`."]
    if not manifest.classes:
        lines.append("They have no labels.")
    if any(not is_own(file.path) for file in manifest.files):
        lines.append("The source's other files lie beside them, unchanged, under their own paths.")
    if moved := moved_content(manifest):
        lines.append(f"Content moves in {', '.join(moved)}; boxes and masks are not moved with it.")
    return " ".join(lines)


def _regions(regions: object) -> list[str]:
    """Return what is said of a data set of regions."""
    if not isinstance(regions, dict):
        return []
    if regions.get("store") == "table":
        about = f"The samples are whole images; `{REGIONS}` says which regions of them the data set is of"
    else:
        about = "Each sample is a region of an image; `region` in `samples.jsonl` says which"
    return ["", f'{about}. `corruptset.open(".").crops(ID)` gives the crops of the image ID, in order.']


def _shards(manifest: Manifest, example: str, samples: int) -> list[str]:
    """Return how all shards of a set are read with h5py alone, in order."""
    count = sum(set_of_shard(file.path) == example for file in manifest.files)
    kind = manifest.encoding["format"]
    stored, about = ("images", "uint8 (H, W, C)") if kind == "png" else ("encoded", f"each a {kind.upper()} file, as uint8")
    return [
        "",
        f"With h5py alone: each set lies in {count} shard{'s' * (count != 1)}, which hold the samples one after the other.",
        "",
        "```python",
        "import h5py",
        "",
        "images, labels = [], []",
        f"for n in range({count}):  # every shard of the set",
        f'    with h5py.File(f"{SHARDS}{example}-{{n:05d}}.h5", locking=False) as shard:',
        f'        images += list(shard["{stored}"])  # {about}',
        '        labels += shard["labels"][:].tolist()',
        f"assert len(images) == {samples}",
        "```",
    ]


def license_text(source: SourceRecord) -> str:
    """Return the LICENSE file of a build: the terms of its source, one a line."""
    terms = "\n".join(part.strip() for part in (source.license or "").split("; "))
    return f"The images derive from those of the source '{source.name}', under these terms:\n\n{terms}\n"
