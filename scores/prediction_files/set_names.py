"""Which set a name in predictions means, an id or an alias of the data set, or ``clean``; and the files that have such names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import suggest
from ...manifests.reader import DataSet
from ..outcomes import CLEAN
from ..set_choice import choose
from .findings import Findings, few
from .head import HEAD


class SetNames:
    """The sets that predictions may be of, and those that they must be of: by default all of the data set."""

    def __init__(self, data: DataSet, globs: Sequence[str] | None) -> None:
        without = globs is not None and CLEAN not in data and CLEAN in globs
        chosen = [glob for glob in globs if glob != CLEAN] if globs is not None and without else globs
        self.required = [*([CLEAN] if without else []), *([] if chosen == [] else choose(data, chosen))]
        self.read = sorted({*self.required, CLEAN})
        """Also ``clean``, which a build without a clean set has predictions of too."""
        self._ids = {name: record.id for record in data.manifest.sets for name in (*record.aliases, record.id)} | {CLEAN: CLEAN}

    def id_of(self, name: str) -> str | None:
        """Return the id of the set that has a name; None where no set of the data set has it."""
        return self._ids.get(name)

    def all(self) -> list[str]:
        """Return every name."""
        return list(self._ids)


def files_of_sets(folder: Path, names: SetNames, findings: Findings) -> dict[str | None, Path]:
    """Return the file of each set that is read, by its id; note names of no set, sets that are there twice, and sets that are missing."""
    found: dict[str, list[Path]] = {}
    unknown = []
    for file in sorted(folder.rglob("*.npz")):
        if file.name.startswith("."):
            continue  # what macOS puts beside a file on other disks
        name = file.relative_to(folder).as_posix().removesuffix(".npz")
        set_id = names.id_of(name)
        if set_id is None:
            unknown.append(name)
        else:
            found.setdefault(set_id, []).append(file)
    if not found and not unknown:
        other = sorted({file.suffix for file in folder.rglob("*") if file.is_file() and file.name != HEAD and file.suffix})
        findings.add(f"the folder holds no .npz file{f' (but {few(other)})' if other else ''}: write <set id>.npz for each set")
        return {}
    if unknown:
        near = suggest(unknown[0], names.all())
        are = f"{len(unknown):,} files are" if len(unknown) > 1 else "1 file is"
        names_given = few(f"{name}.npz" for name in unknown)
        findings.add(
            f"{are} of no set of the data set: {names_given}.{near} Rename or delete what is none; a file of many sets "
            "is given itself, in place of its folder"
        )
    for set_id, files in found.items():
        if len(files) > 1:
            findings.add(
                f"the set {set_id} is there {len(files)} times: {few(file.relative_to(folder).as_posix() for file in files)}. Keep one"
            )
    if missing := [name for name in names.required if name not in found]:
        findings.add(
            f"{len(missing):,} of {len(names.required):,} sets {'have' if len(missing) > 1 else 'has'} no file: "
            f"{few(missing)}. Predict them, or choose the sets that are there (sets=, --sets)"
        )
    return {name: files[0] for name, files in found.items() if name in names.read and len(files) == 1}
