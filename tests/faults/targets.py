"""What is fuzzed: for each reader valid files, how they are mutated, and an oracle of its own for what is accepted.

`try_one` either raises one of the package's errors (refused) or returns after comparing what was read with what another
reader (Pillow, numpy, tarfile, tomllib, json, a few lines of struct) makes of the same bytes.
"""

from __future__ import annotations

import ctypes

from built_targets import ManifestJson, Recipe, SetRows, Shard, Sums
from image_targets import Jpeg, Others, Png
from row_targets import Cifar, Hdf5, Icons, Idx, Npy, TarFolder
from target import Target


class Broken(Target):
    """A reader with all faults that the harness must find."""

    def make(self):
        return [b"valid"]

    def numbered(self, target, seed, number):
        return b"%d" % number

    def try_one(self, data):
        if data == b"1":
            raise IndexError("not one of ours")
        if data == b"2":
            bytearray(2 << 30)
        if data == b"3":
            ctypes.string_at(0)
        while data == b"4":
            pass


TARGETS: dict[str, type[Target]] = {
    **{"jpeg": Jpeg, "png": Png, "others": Others, "tar": TarFolder, "idx": Idx, "cifar-pickle": Cifar},
    **{"icons50": Icons, "npy": Npy, "hdf5": Hdf5, "recipe": Recipe, "manifest": ManifestJson},
    **{"sets": SetRows, "sums": Sums, "shard": Shard, "broken": Broken},
}
