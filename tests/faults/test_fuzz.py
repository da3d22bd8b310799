"""Mutated files of every format give correct values or a listed error, within ten seconds and a gigabyte.

The full count: ``python tests/faults/fuzzing.py run --count 5000``.
"""

from __future__ import annotations

import random

import fuzzing
import mutating
import pytest
import targets


@pytest.mark.parametrize(
    ("target", "count"),
    [
        ("manifest", 15),
        *(pytest.param(target, 100, marks=pytest.mark.ci) for target in targets.TARGETS if target != "broken"),
    ],
)
def test_mutated_files_cause_only_expected_errors(target, count):
    counts = fuzzing.run(target, count, seed=count)
    print(counts)
    assert counts.outcomes.total() == count
    # HDF5 loops forever on some damaged files (docs/reliability.md)
    failures = [item for item in counts.failed if not (target == "hdf5" and item[1].startswith("hang"))]
    assert not failures, f"{len(failures)} of {target}, the first: {failures[0]}"
    # otherwise the mutations do not test the reader
    assert counts.outcomes["refused"]
    assert counts.outcomes["right"] or count < 100
    assert counts.memory < fuzzing.MEMORY


def test_mutation_is_reproducible_and_differs_from_original():
    data = bytes(range(256)) * 4
    result, repeated = (
        [mutating.mutate(data, random.Random(f"x/0/{i}"), others=[data[::-1]], text=True) for i in range(200)]
        for _ in range(2)
    )
    assert result == repeated
    assert data not in result
    assert len(set(result)) > 190


@pytest.mark.ci
def test_harness_detects_exceptions_memory_crashes_and_hangs():
    counts = fuzzing.run("broken", 5, hang=0.5)
    notes = dict(counts.failed)
    assert counts.outcomes == {"right": 1, "failed": 4}
    assert "IndexError" in notes[1]
    assert "MemoryError" in notes[2]
    assert "worker ended with -11" in notes[3]
    assert notes[4].startswith("hang")
