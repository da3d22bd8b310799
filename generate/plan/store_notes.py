"""What a user should know of a build that goes to an object store."""

from __future__ import annotations

from collections.abc import Sequence

from ..sinks.sink import Sink


def store_notes(sinks: Sequence[Sink], images: int) -> tuple[str, ...]:
    """Return the notes on where the images of a build go."""
    if not any(sink.single_files for sink in sinks):
        return ()
    return (
        f"{images:,} single images are as many objects in a store, each a request to write and one to read, and a listing of a thousand is "
        "one more. A shard holds hundreds of images: build with --format hdf5 there, and export or pack tars from that.",
    )
