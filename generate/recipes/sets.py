"""From what a recipe says of its sets to the sets: every stage resolved, every mistake found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from ...canonical import canonical
from ...corruptions.calibrations import Calibration
from ...corruptions.registry import corruption_names, get_corruption
from ...corruptions.stages import Stage, parse_chain, resolve_stage, set_id
from ...errors import CorruptsetError, suggest
from .file_models import LONGEST_NAME, PairEntry, SetEntry, StageEntry
from .set_spec import Role, SetSpec, merge_sets

Named = tuple[str, Stage]
"""What a stage is called in the id of a chain, and the stage."""


def resolve_sets(
    entries: Iterable[tuple[int, SetEntry]],
    table: Calibration,
    *,
    stages: Mapping[str, StageEntry | None] | None = None,
    pairs: Iterable[tuple[int, PairEntry]] = (),
) -> tuple[list[SetSpec], list[str]]:
    """Return the sets of a recipe's entries, each with its number in the file, and every mistake in them.

    Entries that name one chain twice under different ids are one set: the first id stays, the others become aliases.
    A stage that is None has a mistake of form, which was said before.
    """
    problems: list[str] = []
    named = _stages(stages or {}, table, problems)
    specs: list[SetSpec] = []
    for number, entry in entries:
        where = f"[[sets]] {number}"
        for chain, name in _chains(entry, table, named, where, problems):
            try:
                specs.append(SetSpec(name or set_id(chain), chain, entry.role or _role(chain), entry.aliases))
            except CorruptsetError as e:
                problems.append(f'{where}: {e} Expected id = "..." beside chain')
            if name is not None:
                problems += [f"{where}: {p}" for p in _id_problem(name, chain, table)]
    for number, pair in pairs:
        specs += _paired(pair, table, named, f"[[pairs]] {number}", problems, {s.id for s in specs})
    problems += _clashes(specs)
    firsts: dict[bytes, SetSpec] = {}
    for spec in specs:
        first = firsts.setdefault(_chain_json(spec), spec)
        if first.role != spec.role:
            problems.append(f"the sets {first.id!r} and {spec.id!r} are one chain of stages with two roles, {first.role} and {spec.role}")
    return merge_sets(specs, _chain_json), problems


def _chain_json(spec: SetSpec) -> bytes:
    return canonical([stage.as_json() for stage in spec.stages])


def _role(chain: Sequence[Stage]) -> Role:
    return "validation" if any(get_corruption(s.corruption).role == "validation" for s in chain) else "test"


def _stage(entry: StageEntry, table: Calibration) -> Stage:
    return resolve_stage(entry.corruption, table, severity=entry.severity, level=entry.level, parameters=entry.parameters)


def _stages(entries: Mapping[str, StageEntry | None], table: Calibration, problems: list[str]) -> dict[str, Stage | None]:
    """Return the recipe's own stages by name; None for one with a mistake, which has been said."""
    named: dict[str, Stage | None] = {}
    for name, entry in entries.items():
        named[name] = None
        if entry is None:
            continue
        if name in corruption_names() or name == "clean":
            problems.append(
                f"[stages] {name}: is also the name of {'the clean set' if name == 'clean' else 'a corruption'}; choose another"
            )
            continue
        try:
            stage = _stage(entry, table)
        except CorruptsetError as e:
            problems.append(f"[stages] {name}: {e}")
            continue
        named[name] = stage
        problems += [f"[stages] {name}: {p}" for p in _id_problem(name, (stage,), table)]
    return named


def _chains(
    entry: SetEntry, table: Calibration, named: Mapping[str, Stage | None], where: str, problems: list[str]
) -> Iterator[tuple[tuple[Stage, ...], str | None]]:
    """Yield chains, each with the id it is given, if it is given one."""
    if entry.clean:
        yield (), None
    for name in entry.corruptions or ():
        if entry.levels is not None and get_corruption(name).gradual is None:
            problems.append(f"{where}: {name} has severities in place of levels; give them, as in severities = [1, 3, 5]")
            continue
        for stage in _of_corruption(name, entry.severities, entry.levels, table, where, problems):
            yield (stage,), None
    if entry.chain is not None:
        stages: list[Stage] = []
        names: list[str] = []
        failed = False
        for item in entry.chain:
            try:
                if isinstance(item, str) and item in named:
                    own = named[item]
                    failed = failed or own is None
                    stages += [] if own is None else [own]
                    names.append(item)
                elif isinstance(item, str):
                    stages += parse_chain(item, table)
                    names.append(item)
                else:
                    stages.append(_stage(item, table))
            except CorruptsetError as e:
                failed = True
                hint = suggest(item, named) if isinstance(item, str) and named else ""
                problems.append(f"{where}: {e}{hint}")
        if not failed:
            # A chain with a stage of the recipe's own is called by the names of its stages.
            spoken = len(names) == len(entry.chain) and any(n in named for n in names)
            yield tuple(stages), entry.id or ("+".join(names) if spoken else None)


def _of_corruption(
    name: str, severities: Sequence[int], levels: Sequence[int] | None, table: Calibration, where: str, problems: list[str]
) -> Iterator[Stage]:
    """Yield a corruption at severities, or at levels where it has them."""
    gradual = get_corruption(name).gradual is not None
    if gradual and levels is None:
        problems.append(f"{where}: {name} has levels in place of severities; give them, as in levels = 30")
        return
    for number in levels if gradual and levels is not None else severities:
        try:
            yield resolve_stage(name, table, level=number) if gradual else resolve_stage(name, table, severity=number)
        except CorruptsetError as e:
            problems.append(f"{where}: {e}")


def _paired(
    pair: PairEntry,
    table: Calibration,
    named: Mapping[str, Stage | None],
    where: str,
    problems: list[str],
    taken: set[str],
) -> list[SetSpec]:
    """Return the sets of a ``[[pairs]]``, in the order first x second and, where both orders are meant, second x first."""
    firsts = list(_side(pair, "first", table, named, where, problems))
    seconds = list(_side(pair, "second", table, named, where, problems))
    specs: dict[str, SetSpec] = {}
    orders = [(firsts, seconds), (seconds, firsts)] if pair.orders == "both" else [(firsts, seconds)]
    for one, other in orders:
        for (first_name, first), (second_name, second) in product(one, other):
            if first.corruption == second.corruption and not pair.same:
                continue
            chain = (first, second)
            name = f"{first_name}+{second_name}"
            # Lists that have a stage in common name some pairs twice.
            if name not in taken:
                specs.setdefault(name, SetSpec(name, chain, pair.role or _role(chain)))
    return list(specs.values())


def _side(
    pair: PairEntry, side: str, table: Calibration, named: Mapping[str, Stage | None], where: str, problems: list[str]
) -> Iterator[Named]:
    """Yield the stages of one side of a pair."""
    severities = getattr(pair, f"{side}_severities") or pair.severities
    levels = getattr(pair, f"{side}_levels") or pair.levels
    for item in getattr(pair, side):
        if item in named:
            own = named[item]
            if own is not None:
                yield item, own
        elif item in corruption_names():
            for stage in _of_corruption(item, severities, levels, table, where, problems):
                yield stage.name, stage
        else:
            try:
                (stage,) = parse_chain(item, table)
                yield stage.name, stage
            except (CorruptsetError, ValueError) as e:
                said = str(e) if isinstance(e, CorruptsetError) else f"{item!r} is not one stage."
                problems.append(f"{where}, {side}: {said}{suggest(item, named) if named else ''}")


def _id_problem(name: str, stages: tuple[Stage, ...], table: Calibration) -> list[str]:
    """Return what is wrong with a given id: one that reads as a chain of severities must be that chain."""
    try:
        meant = parse_chain(name, table)
    except CorruptsetError:
        return []
    return [] if meant == stages else [f"the id {name!r} is that of another chain of stages; choose another id"]


def _clashes(specs: list[SetSpec]) -> list[str]:
    """Return what is wrong with the ids and aliases of sets, alone and side by side."""
    problems: list[str] = []
    owner: dict[str, SetSpec] = {}
    for spec in specs:
        for name in spec.names:
            if name in owner:
                problems.append(f"the set name {name!r} is given twice; every id and alias must be one set's alone")
            owner.setdefault(name, spec)
    ids = {s.id for s in specs}
    for one in sorted(ids):
        longest = max(one.split("/"), key=len)
        if len(longest) > LONGEST_NAME:
            problems.append(
                f"the set id {one[:40]!r}... needs a file's name of {len(longest)} characters; expected at most {LONGEST_NAME}: "
                'give a chain a short one, id = "..."'
            )
        above = one.split("/")
        for i in range(1, len(above)):
            if "/".join(above[:i]) in ids:
                problems.append(f"the set id {'/'.join(above[:i])!r} is a folder of the set {one!r}; rename one of them")
    return problems
