"""Parts: runs from image size and number of samples alone; groups that fit into memory."""

from itertools import product

from corruptset.generate.plan.parts import ROWS_BYTES, RUN_BYTES, groups, parts, runs
from corruptset.generate.sinks.sink import Run


def test_runs_cover_all_samples_once_and_fit_into_memory() -> None:
    for count, image_bytes in product((1, 7, 8, 9, 100, 50000), (784, 3072, 150528, 3 * 6000 * 4000)):
        found = runs(count, image_bytes)
        assert [i for r in found for i in range(r.first, r.stop)] == list(range(count))
        assert [r.number for r in found] == list(range(len(found)))
        assert max(r.count for r in found) * image_bytes <= max(RUN_BYTES, image_bytes)


def test_where_runs_begin_is_pinned() -> None:
    """Shards are cut there: another number of runs is other files for the same build."""
    assert [len(runs(n, 224 * 224 * 3)) for n in (1, 8, 9, 64, 65, 1000, 1001, 50_000)] == [1, 1, 2, 8, 8, 8, 8, 113]
    assert [(r.first, r.stop) for r in runs(65, 3072)] == [(i, min(i + 9, 65)) for i in range(0, 65, 9)]
    assert [r.count for r in runs(20_000, 784)] == [2048] * 9 + [1568]


def test_groups_keep_order_and_fit_into_memory() -> None:
    names = [f"s{i:03d}" for i in range(95)]
    for run_count, length, stored in ((1, 8, 15000), (113, 445, 30000), (113, 445, 150528), (8, 1250, 3072)):
        cut = groups(names, run_count=run_count, run_length=length, stored_bytes=stored)
        assert [n for g in cut for n in g] == names
        assert all(len(g) * length * stored <= ROWS_BYTES or len(g) == 1 for g in cut)
        assert max(map(len, cut)) - min(map(len, cut)) <= 1
    assert groups(["a"], run_count=1, run_length=8, stored_bytes=1) == [("a",)]


def test_cuts_move_to_where_a_branch_begins() -> None:
    names = [f"s{i:03d}" for i in range(100)]
    cut = groups(names, run_count=8, run_length=10, stored_bytes=1000, branches=[0, 30, 60, 90])
    assert [len(g) for g in cut] == [30, 30, 30, 10]
    small = groups(names, run_count=8, run_length=10, stored_bytes=ROWS_BYTES // 10 // 25, branches=[0, 30, 60, 90])
    assert [n for g in small for n in g] == names
    assert max(map(len, small)) <= 25
    # for the sake of workers alone no branch is cut
    assert [len(g) for g in groups(names, run_count=1, run_length=10, stored_bytes=1000, branches=[0, 2])] == [2, 98]


def test_committed_sets_are_left_out_and_names_tell_parts_apart() -> None:
    all_runs = [Run(0, 0, 8), Run(1, 8, 16)]
    todo = parts(all_runs, [("a", "b"), ("c",)], committed={("a", 0), ("c", 1)})
    assert [(p.run.number, p.sets) for p in todo] == [(0, ("b",)), (0, ("c",)), (1, ("a", "b"))]
    assert len({p.name for p in todo}) == 3
    assert [p.images for p in todo] == [8, 8, 16]
