"""`export`: a finished data set in the layout that a third-party loader opens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ...arguments import set_patterns
from ...error_lines import mistake_lines
from ...errors import BuildError, ParameterError, listed
from ...manifests.disk.atomic import write_large
from ...manifests.disk.remote import local_folder
from ...manifests.reader import DataSet
from ...manifests.records.report import Progress
from ...progress import progress_function, shows_progress
from ..pixels.preprocessing import parse_preprocessing
from ..recipes.choice import matching_sets
from .class_folders import read_list
from .contents import ViewContents, ViewOptions, placed, unexpected
from .export_check import VIEW, ViewRecord, ViewSetRecord
from .layouts import LAYOUTS, get_layout, read_layout
from .placement import View
from .set_names import read_severities
from .writer import Writer, finished_at_once


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<Exported {self.view} in {self.top}: {self.images:,} images, {self.linked:,} of them hard links>"


@shows_progress("export")
def export(
    view: str | Path,
    directory: str | Path,
    out: str | Path,
    *,
    sets: Sequence[str] | None = None,
    severities: str | Path | Mapping[str, Sequence[str]] | None = None,
    images: str | Path | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    any_shape: bool = False,
    progress: Progress | bool | None = None,
) -> Exported:
    """Export a data set as a view.

    Parameters
    ----------
    view : str or Path
        The name of a view, or a layout of one's own: a TOML file.
    directory : path
        The finished build.
    out : path
        Receives the loader's top folder and VIEW.json; new or empty. The whole appears there at once, or not at all.
    sets : sequence of str, optional
        Globs over set ids and aliases; by default all sets, without ``clean`` where the view has no place for it.
    severities : path or mapping, optional
        For sets that are not one corruption at severities 1 to 5: name -> five set ids (mnist-c: one).
    images : path or sequence of str, optional
        The list of imagenet-c-5k.
    allow_missing_classes : bool
        Export folders by class even though classes have no image, so that labels found by listing differ.
    any_shape : bool
        Export images of any size and channels, also where the view's loaders expect others.
    progress : callable or bool, optional
        Called with the step, what is done and the total. By default a bar is shown in a terminal and in a notebook;
        False shows none.

    Returns
    -------
    Exported

    Raises
    ------
    BuildError
        The data set does not fit into the view, or `out` is in the way; nothing was written.
    """
    # an unknown view is named before the data set is opened
    layout = read_layout(view) if isinstance(view, Path) or view.endswith(".toml") else get_layout(view)
    out = local_folder(out, "views are written to")
    data = DataSet(directory)
    if Path(directory).resolve() in (out.resolve(), *out.resolve().parents):
        raise BuildError(f"{out} lies in the data set itself, which would no longer verify. Choose another --out.")
    if not data.samples:
        raise BuildError(f"{directory} has no samples to export.")
    given = {
        "severities": read_severities(severities) if isinstance(severities, (str, Path)) else severities or {},
        "images": read_list(images) if isinstance(images, (str, Path)) else images or (),
        "allow_missing_classes": allow_missing_classes,
    }
    try:
        options = ViewOptions.model_validate(given)
    except ValidationError as e:
        raise ParameterError(
            f"The options of the export cannot be used:\n{listed(mistake_lines(e, ViewOptions))}"
        ) from None
    contents = ViewContents.of(data.manifest, data.samples)
    globs = [] if sets is None else set_patterns(sets)
    refs, problems = matching_sets(contents.sets, globs or ["*"])
    if problems:
        raise BuildError(f"--sets of this data set:\n{listed(problems)}")
    named = [*globs, *(name for names in options.severities.values() for name in names)]
    contents = contents.only(ref.id for ref in placed(layout, refs, named))
    preprocessing = parse_preprocessing(data.manifest.preprocessing)
    channels = data[contents.sets[0].id].single(0).shape[2] if contents.sets else 3  # those of the first image
    shapes = [(s.id, (*preprocessing.size(s.width, s.height), channels)) for s in data.samples]
    problem = unexpected(layout, shapes)
    try:
        made = View(layout, contents, options)
    except BuildError as e:
        raise e if problem is None or any_shape else BuildError(f"{e}\n{problem}") from None
    if problem is not None:
        if not any_shape:
            raise BuildError(f"{problem} Nothing was written.")
        made.notes.append(problem.partition(" Of the images looked at:")[0])
    with finished_at_once(out) as part:
        written = Writer(part)
        written.view(made, data, progress_function(progress))
        record = _record(made, data, options, written).as_json()
        text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        write_large(part / VIEW, [text.encode()])
    return Exported(
        out,
        out / made.top,
        layout.name,
        data.digest,
        sum(len(images.samples) for images in made.slices),
        written.bytes,
        written.linked,
        tuple(made.notes),
    )


def _record(view: View, data: DataSet, options: ViewOptions, written: Writer) -> ViewRecord:
    """Return what VIEW.json says."""
    manifest, layout = data.manifest, view.layout
    digests = {s.id: s.pixel_digest for s in manifest.sets if view.contents.format == "png"}
    whole = len(data.samples)
    sets = [
        ViewSetRecord(
            id=images.set_id,
            path=images.path,
            row=images.row,
            count=len(images.samples),
            # the very pixels of a whole set
            pixel_digest=None if images.row is None or len(images.samples) < whole else digests.get(images.set_id),
        )
        for images in sorted(view.slices, key=lambda s: (s.set_id, s.path, s.row or 0))
    ]
    return ViewRecord(
        schema_version=1,
        view=layout.name,
        top=view.top,
        name=manifest.name,
        version=manifest.version,
        digest=manifest.digest,
        layout=None if layout.name in LAYOUTS else layout.model_dump(mode="json", exclude_defaults=True),
        options=options.model_dump(mode="json", exclude_defaults=True),
        notes=view.notes,
        sets=sets,
        files=sorted(written.files, key=lambda f: f.path),
        folders=sorted(written.folders, key=lambda f: f.path),
    )
