"""The data card (README.md) and the source's terms (LICENSE) that go with a build."""

from __future__ import annotations

from ..manifests.models import Manifest, SourceRecord

LICENSE = "LICENSE"


def data_card(manifest: Manifest, samples: int) -> str:
    """Return the README.md of a build: what it is, how to load it, its digest, its terms."""
    recipe = manifest.recipe
    containers = manifest.encoding["containers"]
    example = next((s.id for s in manifest.sets if s.id != "clean"), "clean")
    images = sum(s.count for s in manifest.sets)
    lines = [
        f"# {recipe.get('title') or manifest.name} ({manifest.name} {manifest.version})",
        "",
        *([recipe["description"], ""] if recipe.get("description") else []),
        f"{len(manifest.sets)} sets of {samples} samples ({images} images), made by corruptset {manifest.environment['corruptset']} "
        f"from the source `{manifest.source.name}` with seed {manifest.seed}.",
        "",
        "The digest names this benchmark; it is the same on every machine, whatever the container and the encoder:",
        "",
        f"    {manifest.digest}",
        "",
        "Everything about it is in `manifest.json`; `samples.jsonl` lists the samples, `sets/<set id>.jsonl` the images of each set. "
        "`contact.png` shows one sample under every set.",
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
        f'for image, label in data["{example}"]:  # uint8 (H, W, C)',
        "    ...",
        "```",
    ]
    if "folder" in containers:
        lines += [
            "",
            "```python",
            "from torchvision.datasets import ImageFolder",
            "",
            f'data = ImageFolder("images/{example}")  # one folder a class',
            "```",
        ]
    if "hdf5" in containers:
        stored = "images" if manifest.encoding["format"] == "png" else "encoded"
        about = "uint8 (N, H, W, C)" if stored == "images" else f"N {manifest.encoding['format'].upper()} files, as uint8"
        lines += [
            "",
            "```python",
            "import h5py",
            "",
            f'with h5py.File("hdf5/{example}-00000.h5") as shard:',
            f'    images, labels = shard["{stored}"], shard["labels"]  # {about}',
            "```",
        ]
    for view in manifest.views:
        lines += ["", f"The images stand in the layout of the view `{view['view']}`, in `{view['top']}/`, as its loaders open it."]
    lines += ["", "## Terms", ""]
    if manifest.source.license is not None:
        lines.append(f"The images derive from the source's, whose terms are in `{LICENSE}`.")
    else:
        lines.append("The images derive from the source's, whose own terms apply; corruptset knows of none and adds none.")
    if manifest.excluded:
        lines += ["", f"{len(manifest.excluded)} samples of the source could not be used; `manifest.json` lists them under `excluded`."]
    return "\n".join(lines) + "\n"


def license_text(source: SourceRecord) -> str:
    """Return the LICENSE file of a build: the terms of its source, one a line."""
    terms = "\n".join(part.strip() for part in (source.license or "").split("; "))
    return f"The images derive from those of the source '{source.name}', under these terms:\n\n{terms}\n"
