"""Create the sets of a recipe with the parameters of all stages, and collect all mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from ...canonical import canonical
from ...corruptions.calibrations import Calibration
from ...corruptions.registry import corruption_names, get_corruption, is_corruption
from ...corruptions.stages import Stage, check_length, is_unchanged, parse_chain, resolve_number, resolve_stage, set_id
from ...errors import CorruptsetError, RecipeError, suggest
from ...manifests.records.fields import MAX_NAME_LENGTH
from .file_models import PairEntry, SetEntry, StageEntry
from .set_count import MAX_SETS, Links, count_listed, count_pairs, too_many_sets
from .set_spec import Role, SetSpec, merge_sets

Link = tuple[str, tuple[Stage, ...]]
"""The name of a stage in a pair, and a tuple that contains the stage. At severity 0, the tuple is empty."""


def resolve_sets(
    entries: Iterable[tuple[int, SetEntry]],
    table: Calibration,
    *,
    stages: Mapping[str, StageEntry | None] | None = None,
    pairs: Iterable[tuple[int, PairEntry]] = (),
) -> tuple[list[SetSpec], list[str]]:
    """Return the sets of a recipe and the mistakes in its entries.

    If several entries have the same chain under different ids, they become one set. The set has the first id, and the
    other ids become its aliases. Sets are counted before they are created, because too many sets are a mistake.

    Parameters
    ----------
    entries : iterable of (int, SetEntry)
        The entries of ``[[sets]]``, with their numbers in the file.
    table : Calibration
        The parameters of severities and levels.
    stages : mapping of str to StageEntry or None, optional
        The named stages of the recipe. None stands for a malformed stage, which has already been reported.
    pairs : iterable of (int, PairEntry)
        The entries of ``[[pairs]]``, with their numbers in the file.
    """
    entries, paired, named = list(entries), list(pairs), stages or {}
    listed, count = count_listed([entry for _, entry in entries], [pair for _, pair in paired], named)
    if listed > 2 * MAX_SETS:  # there are certainly too many sets, and resolving the lists would take a long time
        return [], [too_many_sets(count)]
    resolver = _Resolver(table)
    for name, stage in named.items():
        resolver.add_stage(name, stage)
    for number, entry in entries:
        resolver.add_entry(f"[[sets]] {number}", entry)
    sides = [(f"[[pairs]] {n}", pair, *resolver.sides(f"[[pairs]] {n}", pair)) for n, pair in paired]
    count = len(resolver.specs) + sum(count_pairs(pair, first, second) for _, pair, first, second in sides)
    if count > MAX_SETS:
        return [], [*dict.fromkeys(resolver.problems), too_many_sets(count)]
    for where, pair, before, after in sides:
        resolver.add_pairs(where, pair, before, after)
    specs = resolver.specs
    if paired and not specs and not resolver.problems:
        resolver.problems.append(
            "[[pairs]] gives no sets, because it pairs each corruption only with itself. Name other corruptions, or "
            "set same = true"
        )
    problems = resolver.problems + _name_problems(specs)
    firsts: dict[bytes, SetSpec] = {}
    for spec in specs:
        first = firsts.setdefault(_chain_json(spec), spec)
        if first.role != spec.role:
            problems.append(
                f"the sets {first.id!r} and {spec.id!r} have the same chain of stages but different roles, "
                f"{first.role} and {spec.role}; give them the same role"
            )
    return merge_sets(specs, _chain_json), list(dict.fromkeys(problems))


def _chain_json(spec: SetSpec) -> bytes:
    return canonical([stage.as_json() for stage in spec.stages])


class _Resolver:
    """A resolver that creates sets from recipe entries, with the parameters of a calibration, and collects mistakes."""

    def __init__(self, table: Calibration) -> None:
        self.specs: list[SetSpec] = []
        self.problems: list[str] = []
        self._table = table
        self._named: dict[str, Stage | None] = {}
        """The named stages of the recipe, or None for a stage with a mistake."""

    def add_stage(self, name: str, entry: StageEntry | None) -> None:
        """Add a named stage of the recipe."""
        self._named[name] = None
        where = f"[stages] {name}"
        if entry is None:
            return
        if name in corruption_names() or name == "clean":
            kind = "the clean set" if name == "clean" else "a corruption"
            self.problems.append(f"{where}: is also the name of {kind}; choose another name")
        elif (stages := self._table_stage(where, entry)) is not None:
            (self._named[name],) = stages
            self._check_id(where, name, stages)

    def add_entry(self, where: str, entry: SetEntry) -> None:
        """Add the sets of an entry of ``[[sets]]``."""
        for chain, name in self._chains(where, entry):
            try:
                self.specs.append(
                    SetSpec(name or set_id(chain), chain, self._role(where, chain, entry.role), entry.aliases)
                )
            except CorruptsetError as e:
                self.problems.append(f'{where}: {e} Add id = "..." to the chain')
            if name is not None:
                self._check_id(where, name, chain)

    def sides(self, where: str, pair: PairEntry) -> tuple[Links, Links]:
        """Return the stages of the two sides of an entry of ``[[pairs]]``."""
        return dict(self._side(where, pair, "first")), dict(self._side(where, pair, "second"))

    def add_pairs(self, where: str, pair: PairEntry, first_links: Links, second_links: Links) -> None:
        """Add the sets of an entry of ``[[pairs]]``, in one order or in both."""
        firsts, seconds = list(first_links.items()), list(second_links.items())
        orders = [(firsts, seconds), (seconds, firsts)] if pair.orders == "both" else [(firsts, seconds)]
        # If a stage is in both lists, some pairs occur twice.
        names = {name for spec in self.specs for name in spec.names}
        for before, after in orders:
            for (first_name, first), (second_name, second) in product(before, after):
                chain, name = (*first, *second), f"{first_name}+{second_name}"
                if name in names or not (pair.same or len({stage.corruption for stage in chain}) == len(chain)):
                    continue
                # If a stage has severity 0, the set consists of the other stage alone, or of the clean images, and the
                # name of the pair is its alias.
                if len(chain) == 2:
                    alone = name
                elif all(stage.number for stage in chain):
                    alone = set_id(chain)
                else:
                    alone = first_name if first else second_name
                called = [name] if alone in names else list(dict.fromkeys([alone, name]))
                names.update(called)
                self.specs.append(SetSpec(called[0], chain, self._role(where, chain, pair.role), tuple(called[1:])))

    def _report(self, where: str, error: CorruptsetError, hint: str = "") -> None:
        """Report an error in an entry. A broken severity table of a plugin is reported once, not for each entry."""
        self.problems.append(str(error) if isinstance(error, RecipeError) else f"{where}: {error}{hint}")

    def _role(self, where: str, chain: Sequence[Stage], given: Role | None) -> Role:
        """Return the given role of a set, or by default the role that follows from its corruptions."""
        role_of: dict[str, Role] = {stage.corruption: get_corruption(stage.corruption).role for stage in chain}
        training = [name for name, role in role_of.items() if role == "train"]
        if training and given not in (None, "train"):
            problem = (
                f"{where}: role is {given!r}, but {training[0]} is a corruption for training; expected role 'train', "
                "or no role"
            )
            self.problems += [problem] * (problem not in self.problems)
        return given or ("train" if training else "validation" if "validation" in role_of.values() else "test")

    def _table_stage(self, where: str, entry: StageEntry) -> tuple[Stage, ...] | None:
        """Return the stage that a table describes. If the table has a mistake, report the mistake and return None."""
        severity, level, parameters = entry.severity, entry.level, entry.parameters
        try:
            stage = resolve_stage(entry.corruption, self._table, severity=severity, level=level, parameters=parameters)
            return (stage,)
        except CorruptsetError as e:
            self._report(where, e)
            return None

    def _text_stages(self, where: str, text: str) -> tuple[Stage, ...] | None:
        """Return the stages that a string names. If the string has a mistake, report the mistake and return None."""
        if text in self._named:
            named = self._named[text]
            return None if named is None else (named,)
        try:
            return tuple(parse_chain(text, self._table))
        except CorruptsetError as e:
            self._report(where, e, suggest(text, self._named))
            return None

    def _chains(self, where: str, entry: SetEntry) -> Iterator[tuple[tuple[Stage, ...], str | None]]:
        """Yield the chains of an entry, each with its id. The id is None if it follows from the stages."""
        if entry.clean:
            yield (), None
        for name in entry.corruptions or ():
            if entry.levels is not None and get_corruption(name).gradual is None:
                self.problems.append(
                    f"{where}: {name} has severities instead of levels; give for example severities = [1, 3, 5]"
                )
                continue
            for _, chain in self._corruption_stages(where, name, entry.severities, entry.levels):
                if chain or not any(spec.id == "clean" for spec in self.specs):
                    yield chain, None
        if entry.chain is None:
            return
        found = [
            self._text_stages(where, item) if isinstance(item, str) else self._table_stage(where, item)
            for item in entry.chain
        ]
        stages = tuple(stage for part in found for stage in part or ())
        try:
            check_length(len(stages))
        except CorruptsetError as e:
            self.problems.append(f"{where}: {e}")
            return
        if None not in found:
            # The id of a chain with a named stage consists of the names of its stages.
            names = [item for item in entry.chain if isinstance(item, str)]
            called = len(names) == len(entry.chain) and any(name in self._named for name in names)
            yield stages, entry.id or ("+".join(names) if called else None)

    def _corruption_stages(
        self, where: str, name: str, severities: Sequence[float], levels: Sequence[int] | None
    ) -> Iterator[Link]:
        """Yield the stages of a corruption at severities or levels. At 0 there is no stage."""
        gradual = get_corruption(name).gradual is not None
        if gradual and levels is None:
            self.problems.append(f"{where}: {name} has levels instead of severities; give for example levels = 30")
            return
        numbers: Sequence[float] = levels if gradual and levels is not None else severities
        for number in numbers:
            try:
                if is_unchanged(name, number):
                    yield f"{name}-0", ()
                else:
                    stage = resolve_number(name, self._table, number)
                    yield stage.name, (stage,)
            except CorruptsetError as e:
                self._report(where, e)

    def _side(self, where: str, pair: PairEntry, side: str) -> Iterator[Link]:
        """Yield the stages on one side of a pair, each with its name as used in set ids."""
        severities = getattr(pair, f"{side}_severities") or pair.severities
        levels = getattr(pair, f"{side}_levels") or pair.levels
        for item in getattr(pair, side):
            if item not in self._named and is_corruption(item):
                yield from self._corruption_stages(where, item, severities, levels)
            elif (link := self._text_stages(f"{where}, {side}", item)) is not None:
                if len(link) > 1:
                    self.problems.append(f"{where}, {side}: {item!r} has several stages; expected a single stage")
                else:
                    yield item if item in self._named or not link else link[0].name, link

    def _check_id(self, where: str, name: str, stages: tuple[Stage, ...]) -> None:
        """Report an id that would mean a different chain if it were read as a chain of stages."""
        try:
            if parse_chain(name, self._table) == stages:
                return
        except CorruptsetError:
            return
        self.problems.append(f"{where}: the id {name!r} means another chain of stages; choose another id")


def _name_problems(specs: Sequence[SetSpec]) -> list[str]:
    """Return messages about duplicate set names, ids that are too long, and ids that are folders of other sets."""
    problems: list[str] = []
    names: set[str] = set()
    for spec in specs:
        for name in spec.names:
            if name in names:
                problems.append(f"the set name {name!r} is given twice; every id and alias must be unique")
            names.add(name)
    ids = {s.id for s in specs}
    for set_name in sorted(ids):
        folders = set_name.split("/")
        longest = max(folders, key=len)
        if len(longest) > MAX_NAME_LENGTH:
            problems.append(
                f"the set id {set_name[:40]!r}... needs a file name of {len(longest)} characters; expected at most "
                f"{MAX_NAME_LENGTH}: give the chain a short id with "
                'id = "..."'
            )
        parents = ("/".join(folders[:depth]) for depth in range(1, len(folders)))
        problems += [
            f"the set id {p!r} is a folder of the set {set_name!r}; rename one of them" for p in parents if p in ids
        ]
    return problems
