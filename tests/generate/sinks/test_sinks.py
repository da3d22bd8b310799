"""Test how image files are written."""

from corruptset.generate.sinks.set_writer import write_file


def test_rewritten_image_keeps_nothing_of_longer_one(tmp_path):
    for value in (b"one", b"2"):
        write_file(str(tmp_path / "image"), value)
        assert (tmp_path / "image").read_bytes() == value


def test_link_in_place_of_file_is_replaced_and_not_followed(tmp_path):
    outside, image = tmp_path / "outside", tmp_path / "image"
    outside.write_bytes(b"mine")
    image.symlink_to(outside)
    write_file(str(image), b"new")
    assert (outside.read_bytes(), image.read_bytes()) == (b"mine", b"new")
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    write_file(str(dangling), b"new")
    assert not (tmp_path / "nowhere").exists()
