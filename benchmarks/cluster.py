"""A discrete-event simulation of array jobs on a cluster: cores, nodes that fail, links, one store.

A job on each core makes its share of the units (runs, or parts where runs are few) one after the other. While a unit is computed, its
bytes go over the node's link and to the store, which serves requests in the order in which they come: so many bytes and so many files a
second. A unit ends when all three have. A node that fails loses the units that its cores are at; they begin them again after a pause.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Store:
    """Where the images go."""

    name: str
    bytes_a_second: float
    files_a_second: float


@dataclass(frozen=True)
class Cluster:
    """Machines of equal kind."""

    cores: int
    cores_a_node: int = 16
    link: float = 1.25e9
    """Bytes a second, of each node."""
    node_hours: float = 6000.0
    """Between two failures of a node."""
    pause: float = 600.0
    """Seconds until the jobs of a failed node run again elsewhere."""
    spread: float = 0.1
    """Standard deviation of the cores' speed."""


@dataclass(frozen=True)
class Work:
    """What is to be made, in equal units."""

    units: int
    parts: int
    seconds: float
    """Of a core, for one unit."""
    bytes: float
    """Of a unit, read and written."""
    files: float
    start: float
    """Seconds before a job's first unit: it lists the source and reads what the check found."""


@dataclass
class Outcome:
    """What a simulation has found."""

    seconds: float = 0.0
    """Until the last unit is committed."""
    computing: float = 0.0
    """Share of the time of all cores."""
    store_busy: float = 0.0
    """Share of the time in which the store's slower side works."""
    files_busy: bool = False
    """Whether that is the files, not the bytes."""
    failures: int = 0
    lost: float = 0.0
    """Seconds of cores."""


def simulate(work: Work, cluster: Cluster, store: Store, seed: int = 0) -> Outcome:
    """Return what becomes of the work."""
    rng = random.Random(seed)
    speeds = [max(0.5, rng.gauss(1.0, cluster.spread)) for _ in range(cluster.cores)]
    left = [(core + 1) * work.units // cluster.cores - core * work.units // cluster.cores for core in range(cluster.cores)]
    nodes = -(-cluster.cores // cluster.cores_a_node)
    fails = [rng.expovariate(1 / (cluster.node_hours * 3600)) for _ in range(nodes)]
    links = [0.0] * nodes
    byte_side = file_side = 0.0
    found = Outcome()
    events = [(work.start / speeds[core], core) for core in range(cluster.cores) if left[core]]
    heapq.heapify(events)
    done = 0
    while events:
        now, core = heapq.heappop(events)
        node = core // cluster.cores_a_node
        computed = now + work.seconds / speeds[core]
        links[node] = max(links[node], now) + work.bytes / cluster.link
        byte_side = max(byte_side, now) + work.bytes / store.bytes_a_second
        file_side = max(file_side, now) + work.files / store.files_a_second
        end = max(computed, links[node], byte_side, file_side)
        if end > fails[node]:  # each core of the node sees it, and the last one draws the next failure
            if now > fails[node]:
                fails[node] = now + rng.expovariate(1 / (cluster.node_hours * 3600))
            else:
                found.lost += fails[node] - now
                found.failures += 1
                heapq.heappush(events, (fails[node] + cluster.pause, core))
                continue
        done += 1
        found.computing += work.seconds / speeds[core]
        found.seconds = max(found.seconds, end)
        left[core] -= 1
        if left[core]:
            heapq.heappush(events, (end, core))
    assert done == work.units
    found.computing /= found.seconds * cluster.cores
    byte_share = work.units * work.bytes / store.bytes_a_second / found.seconds
    file_share = work.units * work.files / store.files_a_second / found.seconds
    found.store_busy, found.files_busy = max(byte_share, file_share), file_share > byte_share
    found.failures = round(found.failures / cluster.cores_a_node)
    return found
