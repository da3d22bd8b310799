"""Mutated files of every format that is read: right values or a listed error, in ten seconds and a gigabyte.

The full count: ``python tests/faults/fuzzing.py run --count 5000``.
"""

from __future__ import annotations

import random

import fuzzing
import mutating
import pytest
import targets


def check(target: str, count: int, *, seed: int = 0) -> None:
    counts = fuzzing.run(target, count, seed=seed)
    print(counts)
    assert counts.tried == count
    # the HDF5 library loops for ever on some damaged files (docs/reliability.md)
    failed = [one for one in counts.failed if not (target == "hdf5" and one[1].startswith("hang"))]
    assert not failed, f"{len(failed)} of {target}, the first: {failed[0]}"
    # Both must come, or it is not the reader that is tried.
    assert counts.refused
    assert counts.right or count < 300
    assert counts.memory < fuzzing.MEMORY


@pytest.mark.parametrize("target", ["cifar-pickle", "manifest"])
def test_a_few_mutations(target: str) -> None:
    check(target, 30)


@pytest.mark.ci
@pytest.mark.parametrize("target", targets.TARGETS)
def test_some_mutations_of_every_format(target: str) -> None:
    check(target, 300, seed=1)


def test_a_mutation_is_the_same_each_time_and_differs_from_what_it_was_made_of() -> None:
    data = bytes(range(256)) * 4
    made = [mutating.mutate(data, random.Random(f"x/0/{i}"), others=[data[::-1]], text=True) for i in range(200)]
    again = [mutating.mutate(data, random.Random(f"x/0/{i}"), others=[data[::-1]], text=True) for i in range(200)]
    assert made == again
    assert data not in made
    assert len(set(made)) > 190


def test_the_harness_finds_exceptions_memory_crashes_and_hangs() -> None:
    counts = fuzzing.run("broken", 5, hang=0.5)
    said = dict(counts.failed)
    assert (counts.right, counts.tried) == (1, 5)
    assert "IndexError" in said[1]
    assert "MemoryError" in said[2]
    assert "worker ended with -11" in said[3]
    assert said[4].startswith("hang")
