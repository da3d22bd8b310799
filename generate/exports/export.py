"""The public function `export`, which writes a finished dataset in the layout that a third-party loader expects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...arguments import set_patterns
from ...corruptions.add_ons import installed_function
from ...error_lines import error_lines
from ...errors import BuildError, ParameterError, format_list
from ...manifests.disk.atomic import write_large
from ...manifests.disk.remote import local_folder
from ...manifests.reader import Dataset
from ...manifests.records.digests import sha256_file
from ...manifests.records.models import FileRecord
from ...manifests.records.report import ProgressCallback
from ...progress import progress_function, shows_progress
from ..pixels.preprocessing import parse_preprocessing
from ..recipes.choice import match_sets
from ..recipes.expectations import IN_CHECKED_IMAGES
from .class_folders import read_list
from .contents import ExportContents, ExportOptions, place_sets, shape_message
from .export_record import EXPORT_RECORD, ExportRecord, ExportSetRecord
from .layouts import LAYOUTS, Layout, get_layout
from .placement import Placement
from .set_names import read_severities
from .writer import Writer, finished_at_once


@dataclass(frozen=True, repr=False)
class Exported:
    """The result of an export."""

    path: Path
    top: Path
    """The top folder of the export. Loaders expect the path of this folder or of its parent."""
    layout: str
    digest: str
    """The digest of the dataset."""
    images: int
    bytes: int
    linked: int
    """The number of images that are hard links to files in the dataset."""
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Exported {self.layout} in {self.top}: {self.images:,} images, {self.linked:,} of them hard links>"


@shows_progress("export")
def export(
    layout: str,
    directory: str | Path,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    severities: str | Path | Mapping[str, Sequence[str]] | None = None,
    images: str | Path | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    any_shape: bool = False,
    progress: ProgressCallback | bool | None = None,
) -> Exported:
    """Write a finished dataset in the layout that a third-party loader expects.

    Exported image files with the same bytes as in the dataset are hard links, if the file system allows links.

    Parameters
    ----------
    layout : str
        The name of the layout, such as ``imagenet-c``.
    directory : path
        The directory of the finished dataset.
    out : path
        A new or empty folder for the export. The top folder of the layout is written there, with VIEW.json, which
        records what was exported. If the export fails, nothing is left there.
    sets : sequence of str, optional
        Patterns of set ids and aliases. By default, all sets are exported, except ``clean`` if the layout has no place
        for clean images.
    severities : path or mapping, optional
        A mapping from each name in the export to five set ids (for ``mnist-c``, one), or a TOML file with this mapping.
        It is needed for sets whose images do not have a single corruption at a severity from 1 to 5.
    images : path or sequence of str, optional
        For the layout ``imagenet-c-5k``, the names of the images to export, or a text file with one name per line.
    allow_missing_classes : bool
        Whether to export even if some classes have no images. Labels that loaders derive from the class folders then
        differ from the manifest's.
    any_shape : bool
        Whether to export images of any size and number of channels, even if the loaders of the layout expect specific
        ones.
    progress : callable or bool, optional
        Called with the step, the number of finished items and the total. By default, a progress bar is shown in
        terminals and notebooks. False disables it.

    Returns
    -------
    Exported

    Raises
    ------
    BuildError
        The dataset cannot be exported in this layout, or `out` is not empty. Nothing was written.
    """
    # An unknown layout is reported before the dataset is opened.
    added = None if layout in LAYOUTS else installed_function("exports", layout)
    chosen = None if added else get_layout(layout)
    target = local_folder(out, "exports are written to")
    data = Dataset(directory)
    if Path(directory).resolve() in (target.resolve(), *target.resolve().parents):
        raise BuildError(
            f"{target} is inside the dataset, which must not contain other files. Choose another --out outside of it."
        )
    if not data.samples:
        raise BuildError(f"{directory} has no samples to export.")
    options = _options(severities, images, allow_missing_classes)
    if added is not None or chosen is None:
        return _export_of_add_on(added, layout, data, target, sets)
    contents = _chosen_sets(chosen, data, sets, options)
    problem = _shape_message(chosen, contents, data)
    try:
        placement = Placement(chosen, contents, options)
    except BuildError as e:
        raise e if problem is None or any_shape else BuildError(f"{e}\n{problem}") from None
    if problem is not None:
        if not any_shape:
            raise BuildError(f"{problem} Nothing was written.")
        made_for = problem.partition(IN_CHECKED_IMAGES)[0]
        placement.notes.append(f"{made_for}. Images of other shapes are exported, because --any-shape was given.")
    with finished_at_once(target) as part:
        written = Writer(part)
        written.write(placement, data, progress_function(progress))
        _write_record(_record(placement, options, written), part)
    return Exported(
        target,
        target / placement.top,
        layout,
        data.digest,
        sum(len(images.samples) for images in placement.slices),
        written.bytes,
        written.linked,
        tuple(placement.notes),
    )


def _export_of_add_on(write: Any, layout: str, data: Dataset, target: Path, sets: Sequence[str] | None) -> Exported:
    """Export a dataset with `write`, the export function of an add-on."""
    contents = _matching(data, [] if sets is None else set_patterns(sets))
    with finished_at_once(target) as part:
        # `write` returns a mapping from set ids to the file and the row at which the images of the set begin.
        places: dict[str, tuple[str, int]] = write(data, [one.id for one in contents.sets], part)
        files = [
            FileRecord(path=path.relative_to(part).as_posix(), bytes=path.stat().st_size, sha256=sha256_file(path))
            for path in sorted(part.rglob("*"))
            if path.is_file()
        ]
        count, top = len(data.samples), files[0].path.partition("/")[0]
        record = ExportRecord(
            schema_version=1,
            layout=layout,
            top=top,
            name=data.manifest.name,
            version=data.manifest.version,
            digest=data.digest,
            options={},
            notes=[],
            sets=[
                ExportSetRecord(id=name, path=path, row=row, count=count, pixel_digest=None)
                for name, (path, row) in sorted(places.items())
            ],
            files=files,
            folders=[],
        )
        _write_record(record, part)
    size = sum(file.bytes for file in files)
    return Exported(target, target / top, layout, data.digest, count * len(places), size, 0, ())


def _write_record(record: ExportRecord, folder: Path) -> None:
    text = json.dumps(record.as_json(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    write_large(folder / EXPORT_RECORD, [text.encode()])


def _options(
    severities: str | Path | Mapping[str, Sequence[str]] | None,
    images: str | Path | Sequence[str] | None,
    allow_missing_classes: bool,
) -> ExportOptions:
    given = {
        "severities": read_severities(severities) if isinstance(severities, (str, Path)) else severities or {},
        "images": read_list(images) if isinstance(images, (str, Path)) else images or (),
        "allow_missing_classes": allow_missing_classes,
    }
    try:
        return ExportOptions.model_validate(given)
    except ValidationError as e:
        lines = error_lines(e)
        raise ParameterError(f"The export options are invalid:\n{format_list(lines)}") from None


def _chosen_sets(layout: Layout, data: Dataset, sets: Sequence[str] | None, options: ExportOptions) -> ExportContents:
    """Return the contents with the chosen sets. Clean images are omitted if the layout has no place for them."""
    patterns = [] if sets is None else set_patterns(sets)
    contents = _matching(data, patterns)
    named = [*patterns, *(name for names in options.severities.values() for name in names)]
    return contents.only(one.id for one in place_sets(layout, contents.sets, named))


def _matching(data: Dataset, patterns: Sequence[str]) -> ExportContents:
    """Return the contents with the sets that match a pattern, or with all sets if there are no patterns."""
    contents = ExportContents.of(data.manifest, data.samples)
    refs, problems = match_sets(contents.sets, patterns or ["*"])
    if problems:
        raise BuildError(f"These values of --sets cannot be used for this dataset:\n{format_list(problems)}")
    return contents.only(ref.id for ref in refs)


def _shape_message(layout: Layout, contents: ExportContents, data: Dataset) -> str | None:
    """Return a message if the loaders of a layout do not expect images of the shapes in a dataset, or None."""
    preprocessing = parse_preprocessing(data.manifest.preprocessing)
    # All images have the same number of channels, so the first one is read.
    channels = data[contents.sets[0].id].single(0).shape[2] if contents.sets else 3
    return shape_message(layout, [(s.id, (*preprocessing.size(s.width, s.height), channels)) for s in data.samples])


def _record(placement: Placement, options: ExportOptions, written: Writer) -> ExportRecord:
    manifest = placement.contents.manifest
    digests = {s.id: s.pixel_digest for s in manifest.sets if placement.contents.format == "png"}
    count = len(placement.contents.samples)
    sets = [
        ExportSetRecord(
            id=images.set_id,
            path=images.path,
            row=images.row,
            count=len(images.samples),
            # The recorded digest is that of the complete set, so it does not apply if only some images are exported.
            pixel_digest=None if images.row is None or len(images.samples) < count else digests.get(images.set_id),
        )
        for images in sorted(placement.slices, key=lambda s: (s.set_id, s.path, s.row or 0))
    ]
    return ExportRecord(
        schema_version=1,
        layout=placement.layout.name,
        top=placement.top,
        name=manifest.name,
        version=manifest.version,
        digest=manifest.digest,
        options=options.model_dump(mode="json", exclude_defaults=True),
        notes=placement.notes,
        sets=sets,
        files=sorted(written.files, key=lambda f: f.path),
        folders=sorted(written.folders, key=lambda f: f.path),
    )
