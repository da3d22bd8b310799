"""Audits of copies of published benchmarks, through the function and the command."""

from __future__ import annotations

import json
import shutil

import corrupted_copies
import numpy as np
import pytest
from PIL import Image

import corruptset
from corruptset.generate.sources.source import open_source

NAMES = ("gaussian_noise", "motion_blur", "fog", "brightness")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return corrupted_copies.write_source(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    return corrupted_copies.write_cifar(tmp_path_factory.mktemp("copy") / "CIFAR-10-C", NAMES)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    return corrupted_copies.write_folder_source(tmp_path_factory.mktemp("photographs"))


def verdicts(audit):
    return {set_id: set_audit.verdict for set_id, set_audit in audit.sets.items()}


def codes(set_audit):
    return [finding.code for finding in set_audit.findings]


def test_audit_confirms_names_of_cifar_copy_with_own_draws(cifar, source):
    audit = corruptset.audit(cifar, source)
    expected = {"gaussian_noise": "same_parameters", "fog": "same_parameters"}
    for set_id, verdict in verdicts(audit).items():
        assert verdict == expected.get(set_id.partition("/")[0], "same_pixels"), set_id
    assert audit.benchmark == "cifar10-c"
    assert all(set_audit.good for set_audit in audit.sets.values())
    assert audit.sets["fog/3"].found.as_json() == {"corruption": "fog", "severity": 3, "calibration": "cifar"}
    assert audit.sets["fog/3"].checked == corrupted_copies.COUNT


def test_audit_names_reversed_severities(cifar, source, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    rows = np.load(copy / "brightness.npy").reshape(5, corrupted_copies.COUNT, 32, 32, 3)
    np.save(copy / "brightness.npy", rows[::-1].reshape(-1, 32, 32, 3))
    audit = corruptset.audit(copy, source, sets=["brightness/*"])
    assert verdicts(audit) == {
        "brightness/1": "other_severity",
        "brightness/2": "other_severity",
        "brightness/3": "same_pixels",
        "brightness/4": "other_severity",
        "brightness/5": "other_severity",
    }
    assert audit.sets["brightness/1"].found.severity == 5


@pytest.mark.ci
def test_audit_detects_interleaved_order(cifar, source, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    rows = np.load(copy / "brightness.npy").reshape(5, corrupted_copies.COUNT, 32, 32, 3)
    np.save(copy / "brightness.npy", rows.swapaxes(0, 1).reshape(-1, 32, 32, 3))
    audit = corruptset.audit(copy, source, sets=["brightness/[345]"])
    assert set(verdicts(audit).values()) == {"other_order"}


def test_audit_counts_rotated_labels(cifar, source, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    np.save(copy / "labels.npy", (np.load(copy / "labels.npy") + 1) % 4)
    set_audit = corruptset.audit(copy, source, sets=["fog/1"]).sets["fog/1"]
    assert codes(set_audit) == ["other_labels"]
    assert "shifted by +1" in set_audit.findings[0].text
    assert "100%" in set_audit.findings[0].text


def test_audit_detects_non_repeating_labels_without_source(cifar, tmp_path):
    copy = shutil.copytree(cifar, tmp_path / "copy")
    labels = np.load(copy / "labels.npy")
    labels[-3:] = 0
    np.save(copy / "labels.npy", labels)
    audit = corruptset.audit(copy)
    assert "other_labels" in codes(audit.sets["fog/5"])
    assert "other_labels" not in codes(audit.sets["fog/4"])
    assert audit.sets["fog/1"].verdict == "not_checked"


@pytest.mark.parametrize(
    ("error", "set_id", "verdict", "code"),
    [
        ("always brightness 1", "fog/3", "other_corruption", "duplicate_set"),
        ("the first severity for all", "gaussian_noise/4", "other_severity", "duplicate_set"),
        pytest.param("sorted as text", "brightness/2", "other_order", "other_labels", marks=pytest.mark.ci),
        ("all severities at once", "brightness", "other_severity", "extra_images"),
    ],
)
def test_audit_detects_loader_errors(error, set_id, verdict, code, tmp_path):
    # twelve images, because "10" comes before "2" in text
    clean = np.concatenate([corrupted_copies.photographs(32), corrupted_copies.photographs(48)[:4, 8:40, 8:40]])
    labels = np.arange(12) % 4
    np.save(tmp_path / "images.npy", clean)
    np.save(tmp_path / "labels.npy", labels)

    def corrupted(name, severity):
        keys = [f"somebody {i}" for i in range(12)]
        return corruptset.corrupt(clean, name, severity=severity, seed=5, key=keys)

    def returned(name, severity):
        if error == "always brightness 1":
            return list(zip(corrupted("brightness", 1), labels, strict=True))
        if error == "the first severity for all":
            return list(zip(corrupted(name, 1), labels, strict=True))
        images = corrupted(name, severity)[sorted(range(12), key=str)]
        return list(zip(images, labels, strict=True))

    if error == "all severities at once":
        each = [corrupted("brightness", s) for s in range(1, 6)]
        data = {"brightness": [pair for images in each for pair in zip(images, labels, strict=True)]}
    else:
        names = {set_id.partition("/")[0], "brightness"}
        data = {f"{name}/{s}": returned(name, s) for name in sorted(names) for s in (1, int(set_id[-1]))}
    audit = corruptset.audit(data, f"npy:{tmp_path / 'images.npy'},{tmp_path / 'labels.npy'}", benchmark="cifar10-c")
    assert audit.sets[set_id].verdict == verdict
    assert code in codes(audit.sets[set_id])


def test_audit_accepts_correct_loader_and_tensors(source):
    torch = pytest.importorskip("torch")
    data = corrupted_copies.loader(32, ("brightness",), (1, 4))
    data["brightness/4"] = [
        (torch.from_numpy(image.copy()).permute(2, 0, 1).float() / 255, label) for image, label in data["brightness/4"]
    ]
    audit = corruptset.audit(data, source)
    assert audit.good


def test_audit_rejects_normalised_images(source):
    images = corrupted_copies.corrupted_images(32, "fog", 1)
    data = {"fog/1": [((image / 128.0 - 1.0).astype("float32"), i % 4) for i, image in enumerate(images)]}
    set_audit = corruptset.audit(data, source).sets["fog/1"]
    assert set_audit.verdict == "not_checked"
    assert "before they are normalised" in set_audit.findings[0].text


def test_audit_describes_processing_of_jpeg_tree(photographs, tmp_path):
    names = ("gaussian_noise", "defocus_blur", "contrast")
    copy = corrupted_copies.write_tree(tmp_path / "ImageNet-C" / "noise", names, (1, 3))
    audit = corruptset.audit(copy.parent, photographs)
    assert all(set_audit.good for set_audit in audit.sets.values())
    assert {finding.code for finding in audit.findings} == {"missing_sets"}
    for path in copy.glob("*/1/*/*"):
        Image.open(path).save(path, quality=75)
    for path in copy.glob("gaussian_noise/3/*/*"):
        path.unlink() if path.name == "val_0003.JPEG" else path.rename(path.with_name(path.name))
    for path in copy.glob("defocus_blur/3/*/*"):
        image = Image.open(path).resize((146, 146), Image.Resampling.BILINEAR).crop((9, 9, 137, 137))
        image.save(path.with_suffix(".png"))
        path.unlink()
    shutil.rmtree(copy / "contrast" / "3")
    shutil.copytree(copy / "defocus_blur" / "3", copy / "contrast" / "3")
    audit = corruptset.audit(copy.parent, photographs)
    assert audit.sets["gaussian_noise/1"].verdict == "same_parameters"
    assert codes(audit.sets["gaussian_noise/1"]) == ["reencoded"]
    assert audit.sets["defocus_blur/1"].encoding == "JPEG quality 75, 4:2:0"
    assert codes(audit.sets["gaussian_noise/3"]) == ["missing_images"]
    assert audit.sets["defocus_blur/3"].verdict == "same_pixels"
    assert set(codes(audit.sets["defocus_blur/3"])) == {"resized", "reencoded", "duplicate_set"}
    assert audit.sets["contrast/3"].verdict == "other_corruption"


def test_audit_identifies_draws_of_corruptset_export(photographs, tmp_path):
    build = corruptset.build("imagenet-c", photographs, tmp_path / "built", sets=["fog/2"], progress=False)
    audit = corruptset.audit(build.directory, photographs)
    assert verdicts(audit) == {"fog/2": "same_pixels"}
    assert audit.good


def test_audit_recognises_defect_of_tiny_imagenet_c(tmp_path):
    image = Image.fromarray(corrupted_copies.photographs(64)[0])
    for i in range(201):
        path = tmp_path / "Tiny-ImageNet-C" / "frost" / "1" / f"n{i:08d}" / f"test_{i}.JPEG"
        path.parent.mkdir(parents=True)
        image.save(path, quality=85)
    audit = corruptset.audit(tmp_path / "Tiny-ImageNet-C")
    assert "known_defect" in codes(audit.sets["frost/1"])
    assert "8206060" in next(f.text for f in audit.sets["frost/1"].findings if f.code == "known_defect")


def test_audit_identifies_archives_without_unpacking(tmp_path, monkeypatch):
    from corruptset.audits import archives

    file = tmp_path / "blur.tar"
    file.write_bytes(b"an archive")
    audit = corruptset.audit(file)
    assert audit.archive is None
    assert "not that of a published archive" in audit.findings[0].text
    archive = archives.Archive("blur.tar of ImageNet-C", "imagenet-c", "a record", 10, archives.md5_of(file))
    monkeypatch.setattr("corruptset.audits.audit.archives", lambda: [archive])
    audit = corruptset.audit(file)
    assert (audit.archive, audit.benchmark, audit.good) == ("blur.tar of ImageNet-C (a record)", "imagenet-c", True)


@pytest.mark.parametrize("layout", ["arrays", "JPEG files"])
def test_audit_detects_uncorrupted_sets_without_source(layout, cifar, tmp_path):
    if layout == "arrays":
        copy = shutil.copytree(cifar, tmp_path / "copy")
        rows = np.load(copy / "fog.npy")
        rows[: corrupted_copies.COUNT] = corrupted_copies.photographs(32)
        np.save(copy / "fog.npy", rows)
    else:
        copy = corrupted_copies.write_tree(tmp_path / "copy", ("brightness", "spatter"), (1, 2))
        for i, image in enumerate(corrupted_copies.photographs(corrupted_copies.LARGE)):
            path = copy / "fog" / "1" / f"n0000000{i % 4}" / f"val_{i:04d}.JPEG"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path, quality=85)
    result = verdicts(corruptset.audit(copy))
    assert result.pop("fog/1") == "clean"
    assert set(result.values()) == {"not_checked"}


def test_audit_detects_set_equal_to_clean_set_without_source(tmp_path):
    data = corrupted_copies.loader(32, ("fog", "snow"), (3,))
    data["clean"] = [(image, i % 4) for i, image in enumerate(corrupted_copies.photographs(32))]
    data["snow/3"] = data["clean"]
    audit = corruptset.audit(data)
    assert verdicts(audit) == {"fog/3": "not_checked", "snow/3": "clean", "clean": "not_checked"}
    assert codes(audit.sets["snow/3"]) == ["missing_images", "duplicate_set"]


@pytest.mark.ci
def test_audit_with_workers_gives_same_result(cifar, source):
    alone = corruptset.audit(cifar, source)
    assert corruptset.audit(cifar, source, jobs=2).as_json() == alone.as_json()


def test_audit_result_is_json(cifar, source):
    record = json.loads(json.dumps(corruptset.audit(cifar, source, sets=["fog/1"]).as_json()))
    assert set(record) == {"benchmark", "archive", "sets", "findings", "source"}
    assert set(record["sets"]["fog/1"]) == {
        "verdict", "found", "candidates", "images", "checked", "encoding", "findings",
    }  # fmt: skip


@pytest.fixture(scope="module")
def little_texture(tmp_path_factory):
    """Return twenty clean images with little texture, and a source of them."""
    samples = open_source("sample")
    photographs = [samples.load(sample).image for sample in samples.samples]
    clean = np.stack([photographs[i % 8][40 + 9 * i :, 60 + 11 * i :][:32, :32] for i in range(20)])
    folder = tmp_path_factory.mktemp("little_texture")
    np.save(folder / "images.npy", clean)
    np.save(folder / "labels.npy", np.arange(20) % 4)
    return clean, f"npy:{folder / 'images.npy'},{folder / 'labels.npy'}"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["elastic_transform", "fog"])
def test_unmodified_images_with_little_texture_get_no_wrong_verdict(name, little_texture):
    clean, source = little_texture
    keys = [f"somebody {i}" for i in range(20)]
    labels = np.arange(20) % 4
    data = {
        f"{name}/{s}": list(zip(corruptset.corrupt(clean, name, severity=s, seed=5, key=keys), labels, strict=True))
        for s in range(1, 6)
    }
    audit = corruptset.audit(data, source, benchmark="cifar10-c")
    assert not any(audited.findings for audited in audit.sets.values())
    found = set(verdicts(audit).values())
    assert "same_parameters" in found
    assert found <= {"same_parameters", "inconclusive"}


@pytest.mark.ci
def test_frost_is_compared_pixel_by_pixel_with_the_textures_of_its_sets(tmp_path):
    clean = corrupted_copies.photographs(32)
    np.save(tmp_path / "images.npy", clean)
    np.save(tmp_path / "labels.npy", np.arange(corrupted_copies.COUNT) % 4)
    textures = tmp_path / "textures"
    textures.mkdir()
    generator = np.random.default_rng(3)
    for i in range(3):
        coarse = Image.fromarray(generator.integers(60, 256, (30, 40, 3), np.uint8))
        coarse.resize((400, 300), Image.Resampling.BICUBIC).save(textures / f"ice_{i}.png")
    keys = [f"somebody {i}" for i in range(corrupted_copies.COUNT)]
    data = {}
    for severity in (1, 3, 5):
        made = corruptset.corrupt(clean, "frost", severity=severity, seed=5, key=keys, textures=textures)
        data[f"frost/{severity}"] = [(image, i % 4) for i, image in enumerate(made)]
    source = f"npy:{tmp_path / 'images.npy'},{tmp_path / 'labels.npy'}"
    audit = corruptset.audit(data, source, benchmark="cifar10-c", frost_textures=textures)
    assert set(verdicts(audit).values()) == {"same_pixels"}


@pytest.mark.ci
@pytest.mark.parametrize("severity", ["1", "2.35"])
def test_imagenet_c_bar_is_recognised_without_its_corruptions(severity, photographs, tmp_path):
    for name in ("blue_noise_sample", "sparkles"):
        for i, image in enumerate(corrupted_copies.corrupted_images(corrupted_copies.LARGE, "gaussian_noise", 2)):
            path = tmp_path / "imagenet_c_bar" / name / severity / f"n0000000{i % 4}" / f"val_{i:04d}.JPEG"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path, quality=85)
    audit = corruptset.audit(tmp_path / "imagenet_c_bar", photographs)
    assert audit.benchmark == "imagenet-c-bar"
    names = {f"blue_noise_sample/{severity}", f"sparkles/{severity}"}
    assert verdicts(audit) == dict.fromkeys(names, "not_checked")
    assert "An audit cannot compute sparkles" in audit.sets[f"sparkles/{severity}"].findings[0].text
