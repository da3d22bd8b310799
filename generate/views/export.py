"""`export`: a finished data set in the layout that a third-party loader opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ...errors import BuildError, suggest
from ...manifests.disk.atomic import write_atomic
from ...manifests.reader import DataSet
from ...manifests.verify.views import VIEW, ViewRecord, ViewSetRecord
from ..pixels.preprocessing import parse_preprocessing
from ..recipes.expectations import Named
from .imagenet_c_5k import read_list
from .layout import Layout, ViewOptions
from .registry import get_view, make_layout, unexpected
from .severities import read_severities
from .subject import Subject
from .writer import Writer, finished_at_once


@dataclass(frozen=True)
class Exported:
    """A finished export."""

    path: Path
    top: Path
    """The folder that a loader is pointed at, or whose parent is."""
    view: str
    digest: str
    images: int
    bytes: int
    linked: int
    """Images that are hard links to the build's own files."""
    notes: tuple[str, ...]


def export(
    view: str,
    directory: str | Path,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    severities: str | Path | Mapping[str, Sequence[str]] | None = None,
    images: str | Path | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    any_shape: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Exported:
    """Export a data set as a view.

    Parameters
    ----------
    view : str
        One of `VIEWS`.
    directory : path
        The finished build.
    out : path
        Receives the loader's top folder and VIEW.json; new or empty. The whole appears there at once, or not at all.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all sets.
    severities : path or mapping, optional
        For sets that are not one corruption at severities 1 to 5: name -> five set ids (mnist-c: one).
    images : path or sequence of str, optional
        The list of imagenet-c-5k.
    allow_missing_classes : bool
        Export folders by class even though classes have no image, so that labels found by listing differ.
    any_shape : bool
        Export images of any size and channels, also where the view's loaders expect others.
    progress : callable, optional
        Called with the step, what is done and the total.

    Returns
    -------
    Exported

    Raises
    ------
    BuildError
        The data set does not fit into the view, or `out` is in the way; nothing was written.
    """
    get_view(view)
    data = DataSet(directory)
    source, target = Path(directory).resolve(), Path(out).resolve()
    if target == source or source in target.parents:
        raise BuildError(f"{out} lies in the data set itself, which would no longer verify. Choose another --out.")
    if not data.samples:
        raise BuildError(f"{directory} has no samples to export.")
    options = ViewOptions(
        severities=_mapping(severities),
        images=() if images is None else read_list(images) if isinstance(images, (str, Path)) else tuple(images),
        allow_missing_classes=allow_missing_classes,
    )
    subject = Subject.of(data)
    subject = subject.only(_chosen(subject, sets))
    problem = unexpected(view, _shapes(data, subject))
    try:
        layout = make_layout(view, subject, options)
    except BuildError as e:
        raise e if problem is None or any_shape else BuildError(f"{e}\n{problem}") from None
    if problem is not None and not any_shape:
        raise BuildError(f"{problem} Nothing was written.")
    if problem is not None:
        layout.notes.append(problem.partition(" Of the images looked at:")[0])
    with finished_at_once(Path(out)) as part:
        writer = Writer(part, progress)
        writer.total = sum(len(images.samples) for images in layout.slices)
        layout.write(data, writer)
        record = view_record(view, data, layout, options, writer)
        text = json.dumps(record.as_json(), ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"
        write_atomic(part / VIEW, text)
    return Exported(
        Path(out), Path(out) / layout.top, view, data.digest, writer.images, writer.bytes, writer.linked, tuple(layout.notes)
    )  # fmt: skip


def view_record(view: str, data: DataSet, layout: Layout, options: ViewOptions, writer: Writer) -> ViewRecord:
    """Return what VIEW.json says."""
    manifest = data.manifest
    records = {s.id: s for s in manifest.sets}
    lossless = manifest.encoding["format"] == "png"
    sets = []
    for images in sorted(layout.slices, key=lambda s: (s.set_id, s.path, s.row or 0)):
        of, count = records[images.set_id], len(images.samples)
        digest = of.pixel_digest if images.row is not None and lossless and count == of.count else None
        sets.append(ViewSetRecord(id=images.set_id, path=images.path, row=images.row, count=count, pixel_digest=digest))
    return ViewRecord(
        schema_version=1,
        view=view,
        top=layout.top,
        name=manifest.name,
        version=manifest.version,
        digest=manifest.digest,
        options=options.as_json(),
        notes=layout.notes,
        sets=sets,
        files=sorted(writer.files, key=lambda f: f.path),
        folders=sorted(writer.folders, key=lambda f: f.path),
    )


def _shapes(data: DataSet, subject: Subject) -> list[Named]:
    """Return the shape of every image of a set; channels are those of the first."""
    preprocessing = parse_preprocessing(data.manifest.preprocessing)
    channels = next(data[subject.sets[0].id].images()).shape[2] if subject.sets else 3
    return [(s.id, (*preprocessing.size(s.width, s.height), channels)) for s in data.samples]


def _mapping(severities: str | Path | Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    if severities is None:
        return {}
    if isinstance(severities, (str, Path)):
        return read_severities(severities)
    return {name: tuple(ids) for name, ids in severities.items()}


def _chosen(subject: Subject, globs: Sequence[str] | None) -> list[str]:
    """Return the ids of the sets that globs over ids and aliases name."""
    if globs is None:
        return [s.id for s in subject.sets]
    names = {name: s.id for s in subject.sets for name in (s.id, *s.aliases)}
    found: list[str] = []
    for glob in globs:
        hits = [i for name, i in names.items() if fnmatchcase(name, glob)]
        if not hits:
            raise BuildError(f"--sets {glob!r} matches no set of this data set.{suggest(glob, names)}")
        found += hits
    return found
