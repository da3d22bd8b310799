"""`corruptset predict DIR`: what a model says of every image of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from ..quantities import duration
from .options import AsJson, FinishedBuild, Sets, option, split_globs
from .output import progress_of, put, put_json, put_rows

Device = Annotated[str, option("--device NAME", "Where the model computes: cpu, cuda, cuda:1.")]


def predict(
    directory: FinishedBuild,
    model: Annotated[Path, option("--model FILE", "The model file (TOML); docs/models.md describes it.")],
    out: Annotated[Path, option("--out -o FOLDER", "Receives predictions.json and <set id>.npz for each set; the same resumes.")],
    sets: Sets = None,
    device: Device = "cpu",
    batch: Annotated[int, option("--batch N", "Images that go through the model at once.", min=1)] = 64,
    kind: Annotated[
        Literal["logits", "probs", "top", "rank"],
        option(
            "--kind", "What is kept of an image: logits or probs of all classes, the top 5, or the rank and probability of the true class."
        ),
    ] = "logits",
    as_json: AsJson = False,
) -> None:
    """Ask a model about every image of a data set, and write what it says.

    Needs PyTorch: the extra 'torch'. Images are given to the model as they are stored: they must have its size. The same
    command resumes one that was stopped.
    """
    with progress_of("predict") as progress:
        from ..scores.predict import predict as run

        done = run(directory, model, out, sets=split_globs(sets), device=device, batch=batch, kind=kind, progress=progress)
    if as_json:
        return put_json({"ok": True, **vars(done), "directory": str(done.directory), "seconds": round(done.seconds, 3)})
    put_rows(["set", "accuracy"], [[name, f"{accuracy:.1%}"] for name, accuracy in done.accuracy.items()])
    kept = f"; {len(done.kept)} set{'s were' if len(done.kept) > 1 else ' was'} there already" if done.kept else ""
    put(f"{len(done.accuracy)} sets; {done.images} images in {duration(done.seconds)}{kept}")
    put(f"Model:     {done.model}")
    put(f"Digest:    {done.digest}")
    put(f"Directory: {done.directory}")
