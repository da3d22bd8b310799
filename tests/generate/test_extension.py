"""More sets extend a finished build to what one build of all would be; anything else that differs is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import corruptset
from corruptset.errors import BuildError, Interrupted
from corruptset.generate import committing, finishing
from corruptset.generate.build import Built, build


def test_an_extension_equals_the_union(whole: Built, make: Callable[..., Built], files: Any) -> None:
    first = make(sets=["contrast/*"])
    assert first.images == 16
    second = make(sets=["contrast/1", "gaussian_noise/*"])
    assert second.images == 16
    assert {s.id for s in second.manifest.sets} == {"contrast/1", "contrast/3", "gaussian_noise/1", "gaussian_noise/3"}
    assert corruptset.verify(second.directory, jobs=1).ok
    third = make()
    assert third.digest == whole.digest
    assert files(third.directory) == files(whole.directory)


def test_what_is_there_is_not_made_again(make: Callable[..., Built]) -> None:
    first = make(sets=["contrast/*"])
    before = {p: p.stat().st_mtime_ns for p in first.directory.rglob("*") if p.is_file()}
    again = make(sets=["contrast/3"])
    assert (again.images, again.digest) == (0, first.digest)
    assert {p: p.stat().st_mtime_ns for p in first.directory.rglob("*") if p.is_file()} == before
    make(sets=["brightness/1"])
    kept = [p for p in before if "images" in p.parts or "hdf5" in p.parts]
    assert len(kept) == 18
    assert all(p.stat().st_mtime_ns == before[p] for p in kept)


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ({"seed": 7}, "seed: here 0, asked for 7"),
        ({"coupling": "severity"}, "coupling: here 'independent', asked for 'severity'"),
        ({"scale": "side"}, "scale: here 'none', asked for 'side'"),
        ({"samples": 3}, r"source\.digest: here 'sha256:"),
        ({"format": "folder"}, r"encoding\.containers"),
        ({"optimize": True}, r"encoding\.optimize: here False, asked for True"),
        ({"metrics": 2}, "metrics: here 8, asked for 2"),
        ({"calibration": "cifar"}, r"recipe\.calibration: here 'tiny', asked for 'cifar'"),
    ],
)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_another_build_is_refused_with_the_difference(
    make: Callable[..., Built], files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: dict[str, Any], field: str, state: str
) -> None:
    directory = tmp_path / "small-1.0.0"
    if state == "finished":
        make(sets=["contrast/1"])
    else:
        with monkeypatch.context() as patch:
            patch.setattr("corruptset.generate.build.finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(Interrupted):
                make(sets=["contrast/1"])
    before = files(directory)
    for sets in (["contrast/1"], ["contrast/*"]):
        with pytest.raises(BuildError, match=field) as caught:
            make(sets=sets, **option)
        assert caught.value.exit_code == 2
    assert files(directory) == before


def test_another_recipe_and_another_revision_are_refused(
    small_recipe: Path, make: Callable[..., Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(sets=["contrast/1"])
    other = tmp_path / "other.toml"
    other.write_text(small_recipe.read_text().replace("crop = 64", "crop = 48"))
    with pytest.raises(BuildError, match=r"preprocessing\.crop: here 64, asked for 48"):
        build(other, "sample", tmp_path, sets=["contrast/3"], jobs=1)
    real = committing.identity_of

    def older(manifest: Any) -> Any:
        record = real(manifest)
        record["recipe"]["sets"][0]["stages"][0]["revision"] = 99
        return record

    monkeypatch.setattr("corruptset.generate.build.identity_of", older)
    with pytest.raises(BuildError, match=r"recipe\.sets\[gaussian_noise/1\]\.stages\[0\]\.revision: here 99, asked for 1"):
        make(sets=["contrast/3"])


@pytest.mark.parametrize("moment", ["manifest moved", "sums written", "manifest written"])
def test_an_extension_killed_at_its_ends_goes_on(
    whole: Built, make: Callable[..., Built], files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moment: str
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: Any, **__: Any) -> Any:
        raise Killed

    make(sets=["contrast/*"])
    with monkeypatch.context() as patch:
        if moment == "manifest moved":
            patch.setattr(committing, "remove_strays", kill)
        elif moment == "sums written":
            real = finishing.write_atomic
            patch.setattr(finishing, "write_atomic", lambda path, data: kill() if path.name == "manifest.json" else real(path, data))
        else:
            patch.setattr(committing, "clean_up", kill)
        with pytest.raises(Killed):
            make()
    directory = tmp_path / "small-1.0.0"
    assert (directory / ".corruptset").is_dir()
    assert (directory / "manifest.json").exists() == (moment == "manifest written")
    assert files(make().directory) == files(whole.directory)


def test_textures_count_only_where_sets_have_them(tmp_path: Path, files: Any) -> None:
    options: dict[str, Any] = {"jobs": 1, "samples": 1, "metrics": 0}
    build("imagenet-c", "sample", tmp_path / "a", sets=["contrast/1"], **options)
    grown = build("imagenet-c", "sample", tmp_path / "a", sets=["frost/1"], **options)
    assert grown.manifest.textures
    at_once = build("imagenet-c", "sample", tmp_path / "b", sets=["frost/1", "contrast/1"], **options)
    assert files(grown.directory) == files(at_once.directory)
    from PIL import Image

    mine = tmp_path / "mine"
    mine.mkdir()
    Image.new("RGB", (600, 600), (200, 210, 220)).save(mine / "ice.png")
    with pytest.raises(BuildError, match="textures"):
        build("imagenet-c", "sample", tmp_path / "a", sets=["frost/2"], frost_textures=mine, **options)
    with pytest.raises(BuildError, match="textures"):
        build("imagenet-c", "sample", tmp_path / "a", sets=["fog/2"], frost_textures=mine, **options)
    own = build("imagenet-c", "sample", tmp_path / "c", sets=["frost/1"], frost_textures=mine, **options)
    assert [t.name for t in own.manifest.textures] == ["ice.png"] or len(own.manifest.textures) == 1
    assert own.digest != at_once.digest
    shutil.rmtree(mine)
