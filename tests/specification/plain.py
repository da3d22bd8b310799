"""The specification, executable: key, Philox, tables and pixels in plain Python, without numba, OpenCV or the package
itself.

It is slow and says in the fewest words what the bytes are: whole numbers, IEEE doubles one operation at a time, and
decimals of sixty digits where the package has its own exact procedures. `test_specification` holds the package to it,
byte for byte. Pictures are nested lists: rows of pixels of channels.
"""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal, getcontext
from typing import Any

Picture = list[list[list[int]]]
getcontext().prec = 60
WHOLE = 2**32
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


# -- keys and words


def canonical(value: Any) -> bytes:
    """RFC 8785 for what stands in keys: a whole double has no point."""

    def plain(v: Any) -> Any:
        if isinstance(v, dict):
            return {k: plain(x) for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            return [plain(x) for x in v]
        return int(v) if isinstance(v, float) and v == int(v) else v

    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def key64(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(canonical(value), digest_size=8).digest(), "little")


def stage_key(seed: int, chain: list[tuple[str, dict[str, Any]]]) -> int:
    """Of the last stage of a chain of (name@revision, columns)."""
    return key64([1, seed, [[name, parameters] for name, parameters in chain]])


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 (Salmon et al., SC'11)."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ k0, second % WHOLE, (first >> 32) ^ d ^ k1, first % WHOLE
        k0, k1 = (k0 + 0x9E3779B9) % WHOLE, (k1 + 0xBB67AE85) % WHOLE
    return [a, b, c, d]


def words(count: int, stage: int, sample: str, stream: int = 0) -> list[int]:
    """Words 0, 1, 2, ... of a stream of one sample."""
    name = key64(sample)
    key = [stage % WHOLE, stage >> 32]
    out: list[int] = []
    for block in range(-(-count // 4)):
        out += philox([block, stream, name % WHOLE, name >> 32], key)
    return out[:count]


# -- distributions of whole numbers, in 2**-32


def normal_below(x: Decimal) -> Decimal:
    """The probability that a standard normal is below x: by its series, or beyond 7 by its continued fraction."""
    if abs(x) > 7:
        tail, n = Decimal(0), 400
        for k in range(n, 0, -1):
            tail = k / (abs(x) + tail)
        upper = (-x * x / 2).exp() / (2 * PI).sqrt() / (abs(x) + tail)
        return upper if x < 0 else 1 - upper
    term = total = x
    k = 0
    while abs(term) > Decimal(10) ** -55:
        k += 1
        term = term * -x * x * (2 * k - 1) / (2 * k * (2 * k + 1))
        total += term
    return Decimal("0.5") + total / (2 * PI).sqrt()


def in_words(probability: Decimal) -> int:
    return int(probability * WHOLE + Decimal("0.5"))


def gaussian_offsets(sigma: float) -> list[int]:
    """Cumulative weights of floor(255 sigma z), at most s - 256 in slot s of 512."""
    scale = Decimal(255.0 * sigma)
    out = [in_words(normal_below(Decimal(s - 255) / scale)) for s in range(512)]
    return [0, *out[1:511], WHOLE]


def speckle_levels(sigma: float, level: int) -> list[int]:
    """Cumulative weights of floor(x + x sigma z), clipped to 0..255."""
    if level == 0:
        return [WHOLE] * 256
    scale = Decimal(level * sigma)
    return [in_words(normal_below(Decimal(y + 1 - level) / scale)) for y in range(255)] + [WHOLE]


def shot_levels(photons: float, level: int) -> list[int]:
    """Cumulative weights of floor(255 min(k / photons, 1)), k Poisson of mean photons x / 255."""
    mean = Decimal(level / 255.0 * photons)
    weights = [Decimal(0)] * 256
    probability, k, cumulative = (-mean).exp(), 0, Decimal(0)
    while cumulative < 1 - Decimal(10) ** -40 and k < 10000:
        weights[int(min(k / photons, 1.0) * 255.0)] += probability
        cumulative += probability
        k += 1
        probability = probability * mean / k
    out, total = [], Decimal(0)
    for weight in weights[:255]:
        total += weight
        out.append(in_words(total))
    return [*out, WHOLE]


def alias(cumulative: list[int], bits: int) -> list[tuple[int, int]]:
    """Walker's table: (threshold, alias) of each slot. Short slots are served last come first, by the last that has too
    much.
    """
    capacity = 1 << (32 - bits)
    left = [c - (cumulative[i - 1] if i else 0) for i, c in enumerate(cumulative)]
    small = [i for i, w in enumerate(left) if w < capacity]
    large = [i for i, w in enumerate(left) if w >= capacity]
    table = [(0, i) for i in range(len(left))]
    while small:
        slot, donor = small.pop(), large[-1]
        table[slot] = (left[slot], donor)
        left[donor] -= capacity - left[slot]
        if left[donor] < capacity:
            small.append(large.pop())
    return table


def outcome(word: int, table: list[tuple[int, int]], bits: int) -> int:
    slot = word >> (32 - bits)
    threshold, other = table[slot]
    return slot if word % (1 << (32 - bits)) < threshold else other


# -- pictures


def elements(image: Picture) -> list[int]:
    return [v for row in image for pixel in row for v in pixel]


def like(values: list[int], image: Picture) -> Picture:
    """Put elements back into rows, pixels and channels."""
    channels, width = len(image[0][0]), len(image[0])
    pixels = [values[i : i + channels] for i in range(0, len(values), channels)]
    return [pixels[y : y + width] for y in range(0, len(pixels), width)]


def clip(value: int) -> int:
    return min(max(value, 0), 255)


def gaussian_noise(image: Picture, key: int, sample: str, *, sigma: float) -> Picture:
    table = alias(gaussian_offsets(sigma), 9)
    source = elements(image)
    draws = words(len(source), key, sample)
    return like([clip(v + outcome(w, table, 9) - 256) for v, w in zip(source, draws, strict=True)], image)


def _by_level(image: Picture, key: int, sample: str, cumulative: Any) -> Picture:
    source = elements(image)
    tables = {level: alias(cumulative(level), 8) for level in set(source)}
    draws = words(len(source), key, sample)
    return like([outcome(w, tables[v], 8) for v, w in zip(source, draws, strict=True)], image)


def speckle_noise(image: Picture, key: int, sample: str, *, sigma: float) -> Picture:
    return _by_level(image, key, sample, lambda level: speckle_levels(sigma, level))


def shot_noise(image: Picture, key: int, sample: str, *, photons: float) -> Picture:
    return _by_level(image, key, sample, lambda level: shot_levels(photons, level))


def impulse_noise(image: Picture, key: int, sample: str, *, amount: float) -> Picture:
    share = int(amount * 2.0**31 + 0.5)
    source = elements(image)
    draws = words(len(source), key, sample)
    struck = [255 if WHOLE - 1 - w < share else 0 if w < share else v for v, w in zip(source, draws, strict=True)]
    return like(struck, image)


def contrast(image: Picture, key: int, sample: str, *, factor: float) -> Picture:
    count = len(image) * len(image[0])
    means = [sum(pixel[c] for row in image for pixel in row) / count / 255.0 for c in range(len(image[0][0]))]

    def moved(v: int, mean: float) -> int:
        # what is a whole number but for the last bit is not floored to the one below
        return int(min(max((v / 255.0 - mean) * factor + mean, 0.0), 1.0) * 255.0 + 1e-9)

    return [[[moved(v, means[c]) for c, v in enumerate(pixel)] for pixel in row] for row in image]


def brightness(image: Picture, key: int, sample: str, *, shift: float) -> Picture:
    def lifted(v: int, largest: int) -> int:
        value = largest / 255.0
        saturation = (value - v / 255.0) / value if largest else 0.0
        return int(min(min(max(value + shift, 0.0), 1.0) * (1.0 - saturation), 1.0) * 255.0)

    return [[[lifted(v, max(pixel)) for v in pixel] for pixel in row] for row in image]


def pixelate(image: Picture, key: int, sample: str, *, fraction: float) -> Picture:
    """Shrunk by Pillow's box filter, rows first, and enlarged by the pixel under each centre."""
    height, width = len(image), len(image[0])

    def boxes(size: int, small: int) -> list[range]:
        scale = size / small
        results = []
        for i in range(small):
            centre = (i + 0.5) * scale
            reach = range(max(int(centre - 0.5 * scale + 0.5), 0), min(int(centre + 0.5 * scale + 0.5), size))
            inside = [x for x in reach if -0.5 < (x - centre + 0.5) * (1.0 / scale) <= 0.5]
            results.append(range(inside[0], inside[-1] + 1))
        return results

    def mean(values: list[int]) -> int:
        weight = int(0.5 + 1.0 / len(values) * 2**22)
        return min((sum(values) * weight + 2**21) >> 22, 255)

    def under(size: int, small: int) -> list[int]:
        return [min(int((i + 0.5) * (small / size)), small - 1) for i in range(size)]

    across, down = boxes(width, max(int(width * fraction), 1)), boxes(height, max(int(height * fraction), 1))
    channels = range(len(image[0][0]))
    narrow = [[[mean([row[x][c] for x in box]) for c in channels] for box in across] for row in image]
    small = [[[mean([narrow[y][x][c] for y in box]) for c in channels] for x in range(len(across))] for box in down]
    return [[small[y][x] for x in under(width, len(across))] for y in under(height, len(down))]


def sine(x: Decimal) -> Decimal:
    term = total = x
    k = 1
    while abs(term) > Decimal(10) ** -50:
        term = -term * x * x / ((k + 1) * (k + 2))
        total += term
        k += 2
    return total


def motion_blur(image: Picture, key: int, sample: str, *, radius: float, sigma: float) -> Picture:
    """ImageMagick's: one-sided, on 16 bits a channel, in doubles from the first tap to the last."""
    angle = -45.0 + 90.0 * (words(1, key, sample)[0] * 2.0**-32)
    radians = Decimal(math.pi * angle / 180.0)
    height, width, taps = len(image), len(image[0]), 2 * math.ceil(radius) + 1
    weights = [
        float(Decimal(-float(i * i) / (2.0 * sigma * sigma)).exp()) / (2.5066282746310002 * sigma) for i in range(taps)
    ]
    total = 0.0
    for weight in weights:
        total += weight
    weights = [weight / total for weight in weights]
    across, along = taps * float(sine(radians)), taps * float(sine(PI / 2 - radians))
    length = float((Decimal(across) ** 2 + Decimal(along) ** 2).sqrt())
    offsets = [(math.ceil(i * along / length - 0.5), math.ceil(i * across / length - 0.5)) for i in range(taps)]

    def value(y: int, x: int, c: int) -> int:
        total = 0.0
        for weight, (dx, dy) in zip(weights, offsets, strict=True):
            total += weight * (257.0 * image[min(max(y + dy, 0), height - 1)][min(max(x + dx, 0), width - 1)][c])
        return int(math.floor(total + 0.5) // 257.0)

    return [[[value(y, x, c) for c in range(len(image[0][0]))] for x in range(width)] for y in range(height)]
