"""What frost is drawn with: coherent noise, fern-like crystals, blades, droplets. Integers, + - * / and sqrt only.

All of it draws into float32 layers (H, W). Randomness comes from one Philox stream per texture: `cursor` (uint64, 3)
holds the next element, the texture's key and the stream, so that a picture is a pure function of its seed and size.
"""

from __future__ import annotations

import math

import numpy as np

from ..arithmetic import sine_cosine
from ..kernels import inlined, inner, kernel
from ..random.philox import draw_word

_RENDERER = np.uint64(0x66726F7374)  # the stage key of everything drawn here: "frost" in ASCII


@inner
def chance(cursor):  # type: ignore[no-untyped-def]
    """Return the next uniform number on [0, 1)."""
    word = draw_word(np.int64(cursor[0]), _RENDERER, cursor[1], np.uint32(cursor[2]))
    cursor[0] += np.uint64(1)
    return np.float64(word) * 2.0**-32


@inlined
def between(cursor, low, high):  # type: ignore[no-untyped-def]
    """Return the next uniform number on [low, high)."""
    return low + (high - low) * chance(cursor)


@inlined
def _mixed(x, y, seed):  # type: ignore[no-untyped-def]
    """Hash a lattice point to 32 bits."""
    h = np.uint32(x) * np.uint32(0x9E3779B1) ^ np.uint32(y) * np.uint32(0x85EBCA77) ^ np.uint32(seed) * np.uint32(0xC2B2AE3D)
    h = np.uint32(h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
    h = np.uint32(h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39)
    return np.uint32(h ^ (h >> np.uint32(15)))


@inlined
def _slope(x, y, seed, dx, dy):  # type: ignore[no-untyped-def]
    h = _mixed(x, y, seed)
    gx = np.float64(h & np.uint32(0xFFFF)) * (2.0 / 65535.0) - 1.0
    gy = np.float64(h >> np.uint32(16)) * (2.0 / 65535.0) - 1.0
    return gx * dx + gy * dy


@inner
def gradient_noise(x, y, seed):  # type: ignore[no-untyped-def]
    """Return Perlin's gradient noise (about -1..1) at a point of the unit lattice."""
    fx = np.floor(x)
    fy = np.floor(y)
    ix = np.int64(fx)
    iy = np.int64(fy)
    u = x - fx
    v = y - fy
    su = u * u * u * (u * (u * 6.0 - 15.0) + 10.0)
    sv = v * v * v * (v * (v * 6.0 - 15.0) + 10.0)
    top = _slope(ix, iy, seed, u, v) * (1.0 - su) + _slope(ix + 1, iy, seed, u - 1.0, v) * su
    bottom = _slope(ix, iy + 1, seed, u, v - 1.0) * (1.0 - su) + _slope(ix + 1, iy + 1, seed, u - 1.0, v - 1.0) * su
    return top * (1.0 - sv) + bottom * sv


@kernel
def clouds(layer, cell_x, cell_y, octaves, gain, seed):  # type: ignore[no-untyped-def]
    """Add octaves of gradient noise; the coarsest has cells of cell_x by cell_y pixels, each next half of that."""
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            total = 0.0
            weight = 1.0
            frequency = 1.0
            for k in range(octaves):
                total += weight * gradient_noise(x * frequency / cell_x + 7.3 * k, y * frequency / cell_y + 3.1 * k, seed + k)
                weight *= gain
                frequency *= 2.0
            layer[y, x] += np.float32(total)


@kernel
def creases(layer, cell, octaves, gain, warp, seed):  # type: ignore[no-untyped-def]
    """Add folds: ridges of gradient noise (1 - |n|), bent by a slower noise of `warp` cells."""
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            bx = gradient_noise(x / (2.5 * cell), y / (2.5 * cell), seed + 101) * warp
            by = gradient_noise(x / (2.5 * cell), y / (2.5 * cell), seed + 202) * warp
            total = 0.0
            weight = 1.0
            frequency = 1.0
            for k in range(octaves):
                n = gradient_noise((x / cell + bx) * frequency + 5.7 * k, (y / cell + by) * frequency * 1.25 + 1.9 * k, seed + k)
                ridge = 1.0 - 2.0 * abs(n)
                total += weight * ridge * abs(ridge)
                weight *= gain
                frequency *= 2.0
            layer[y, x] += np.float32(total)


@inlined
def _within(value, low, high):  # type: ignore[no-untyped-def]
    return np.int64(min(max(value, low), high))


@inlined
def _over(layer, y, x, value, cover):  # type: ignore[no-untyped-def]
    if 0 <= y < layer.shape[0] and 0 <= x < layer.shape[1]:
        layer[y, x] += np.float32((value - layer[y, x]) * cover)


@inner
def line(layer, x, y, dx, dy, length, width, value, tip, opacity):  # type: ignore[no-untyped-def]
    """Draw a soft line from (x, y) along the unit vector (dx, dy); its value and width go from base to tip."""
    steep = abs(dy) > abs(dx)
    run = max(abs(dx), abs(dy))
    steps = np.int64(length * run) + 1
    for k in range(steps + 1):
        t = min(k / steps, 1.0)
        px = x + dx * length * t
        py = y + dy * length * t
        shade = value + (tip - value) * t
        half = width * (1.0 - 0.6 * t)
        along = px if steep else py
        middle = np.int64(np.floor(along + 0.5))
        reach = np.int64(half / run) + 1
        for o in range(-reach, reach + 1):
            away = abs(along - (middle + o)) * run
            cover = min(max(half + 0.5 - away, 0.0), 1.0) * opacity
            if cover > 0.0:
                if steep:
                    _over(layer, np.int64(np.floor(py + 0.5)), middle + o, shade, cover)
                else:
                    _over(layer, middle + o, np.int64(np.floor(px + 0.5)), shade, cover)


@inner
def blade(layer, x, y, angle, length, width, value, bevel, opacity):  # type: ignore[no-untyped-def]
    """Draw a shard: a pointed sliver, one flank lighter than the other, with fine stripes along it."""
    s, c = sine_cosine(angle)
    ex, ey = x + c * length, y + s * length
    left = _within(min(x, ex) - width - 1.0, 0, layer.shape[1])
    right = _within(max(x, ex) + width + 2.0, 0, layer.shape[1])
    top = _within(min(y, ey) - width - 1.0, 0, layer.shape[0])
    bottom = _within(max(y, ey) + width + 2.0, 0, layer.shape[0])
    stripe = np.int64(x * 8.0) + np.int64(y * 8.0) * 8191
    for py in range(top, bottom):
        for px in range(left, right):
            u = ((px - x) * c + (py - y) * s) / length
            if u < 0.0 or u > 1.0:
                continue
            v = (py - y) * c - (px - x) * s
            half = width * 4.0 * u * (1.0 - u) if u < 0.5 else width * (1.0 - u) * 2.0
            cover = min(max(half + 0.5 - abs(v), 0.0), 1.0)
            if cover > 0.0:
                grain = np.float64(_mixed(np.int64(np.floor(v * 1.4)), stripe, 77) >> np.uint32(8)) * 2.0**-24 - 0.5
                shade = value + (bevel if v > 0.0 else -bevel) * (1.0 - 0.5 * u) + 0.5 * grain
                layer[py, px] += np.float32((shade - layer[py, px]) * cover * opacity)


@inner
def hollow(layer, x, y, radius, value, opacity):  # type: ignore[no-untyped-def]
    """Shade a soft disc: the clear glass from which a crystal took its water."""
    for py in range(_within(y - radius, 0, layer.shape[0]), _within(y + radius + 1.0, 0, layer.shape[0])):
        for px in range(_within(x - radius, 0, layer.shape[1]), _within(x + radius + 1.0, 0, layer.shape[1])):
            dx, dy = (px - x) / radius, (py - y) / radius
            inside = 1.0 - dx * dx - dy * dy
            if inside > 0.0:
                layer[py, px] += np.float32((value - layer[py, px]) * inside * inside * opacity)


@inner
def dendrite(layer, cursor, x, y, angle, length, light):  # type: ignore[no-untyped-def]
    """Grow one arm: a wavering spine with barbs on both sides, and twigs on the long ones.

    No two barbs are alike in place, angle, length or light, and some are missing: even ones look like a leaf's veins.
    """
    bend = between(cursor, -0.015, 0.015)
    slant = between(cursor, 0.75, 1.15)
    spacing = between(cursor, 1.4, 2.2)
    broad = between(cursor, 0.35, 0.75)
    grown = 0.0
    while grown < length:
        step = spacing * between(cursor, 0.6, 1.5)
        t = grown / length
        angle += bend * step + between(cursor, -0.04, 0.04)
        s, c = sine_cosine(angle)
        shade = light * between(cursor, 0.6, 1.3)
        line(layer, x, y, c, s, step, 0.6 - 0.3 * t, shade, shade, 0.8)
        for side in range(-1, 2, 2):
            reach = broad * length * min(1.0, 0.4 + 2.0 * t) * (1.0 - t) * between(cursor, 0.4, 1.1)
            if reach < 1.2 or chance(cursor) < 0.12:
                continue
            bs, bc = sine_cosine(angle + side * (slant + between(cursor, -0.18, 0.18)))
            tone = shade * between(cursor, 0.5, 1.0)
            # The clear glass beside a barb sets it off from the ice under it.
            line(layer, x + 0.8, y + 1.1, bc, bs, reach, 0.6, -0.8, -0.4, 0.4)
            line(layer, x, y, bc, bs, reach, 0.5, tone, 0.4 * tone, 0.8)
            twig = between(cursor, 1.5, 4.0)
            while reach > 6.0 and twig < 0.85 * reach:
                # Twigs run with the spine: crystals branch at one angle only.
                line(layer, x + bc * twig, y + bs * twig, c, s, (reach - twig) * between(cursor, 0.2, 0.5), 0.4, tone, 0.3 * tone, 0.5)
                twig += between(cursor, 1.8, 4.5)
        x, y = x + c * step, y + s * step
        grown += step


@kernel
def dendrites(layer, cursor, count, least, most, cell, crowding, seed):  # type: ignore[no-untyped-def]
    """Grow `count` stars, each of a few arms from one nucleus; where a slow noise is low there are fewer and fainter ones."""
    rows, columns = layer.shape
    for _ in range(count):
        x = between(cursor, -most, columns + most)
        y = between(cursor, -most, rows + most)
        crowd = crowding * gradient_noise(x / cell, y / cell, seed)
        arms = 2 + np.int64(4.0 * chance(cursor))
        heading = 2.0 * math.pi * chance(cursor)
        length = least + (most - least) * chance(cursor) * chance(cursor)
        light = between(cursor, 0.3, 1.2) * min(max(1.0 + 0.8 * crowd, 0.25), 1.8)
        if chance(cursor) > 0.6 + crowd:
            continue
        hollow(layer, x, y, length, -0.8, 0.45)
        for _ in range(arms):
            dendrite(layer, cursor, x, y, heading, length * between(cursor, 0.5, 1.0), light * between(cursor, 0.7, 1.2))
            # The angles of a hexagon, about
            heading += math.pi / 3.0 * (1 + np.int64(2.2 * chance(cursor))) + between(cursor, -0.2, 0.2)


@inner
def splinter(layer, cursor, x, y, angle, length, width, light):  # type: ignore[no-untyped-def]
    """Draw a rough shard: streaks side by side, light and dark, each in short pieces that waver and break."""
    blade(layer, x, y, angle, length, width, 0.4 * light, 0.1, 0.5)
    for _ in range(np.int64(2.0 + 0.9 * width)):
        s, c = sine_cosine(angle + between(cursor, -0.05, 0.05))
        across = width * between(cursor, -0.9, 0.9)
        along = length * between(cursor, 0.0, 0.4)
        end = along + length * between(cursor, 0.2, 0.6)
        tone = light * between(cursor, 0.4, 1.2) if chance(cursor) < 0.6 else -light * between(cursor, 0.1, 0.9)
        half = between(cursor, 0.2, 0.9)
        while along < end:
            piece = between(cursor, 2.0, 7.0)
            across += between(cursor, -0.7, 0.7)
            if chance(cursor) > 0.1:
                shade = tone + between(cursor, -0.3, 0.3)
                line(layer, x + c * along - s * across, y + s * along + c * across, c, s, piece, half, shade, shade, 0.8)
            along += piece


@kernel
def splinters(layer, cursor, count, least, most, cell, seed):  # type: ignore[no-untyped-def]
    """Throw `count` sheaves of shards; their heading follows a slow noise, as that of crystals that grew together does."""
    rows, columns = layer.shape
    for _ in range(count):
        x = between(cursor, -0.5 * most, columns + 0.5 * most)
        y = between(cursor, -0.5 * most, rows + 0.5 * most)
        heading = 6.0 * gradient_noise(x / cell, y / cell, seed) + between(cursor, -1.2, 1.2)
        length = least + (most - least) * chance(cursor) * chance(cursor)
        for _ in range(1 + np.int64(4.0 * chance(cursor))):
            x += length * between(cursor, -0.15, 0.15)
            y += length * between(cursor, -0.15, 0.15)
            angle = heading + between(cursor, -0.25, 0.25)
            splinter(layer, cursor, x, y, angle, length, 0.8 + 0.045 * length * between(cursor, 0.4, 1.4), between(cursor, 0.5, 1.3))


@kernel
def blades(layer, cursor, count, least, most, slim, spread, opacity, seed):  # type: ignore[no-untyped-def]
    """Throw `count` fans of shards; their heading follows a slow noise, as crystals that grew together do."""
    rows, columns = layer.shape
    for _ in range(count):
        x = between(cursor, -0.5 * most, columns + 0.5 * most)
        y = between(cursor, -0.5 * most, rows + 0.5 * most)
        heading = 7.0 * gradient_noise(x / 190.0, y / 190.0, seed) + math.pi * chance(cursor)
        length = least + (most - least) * chance(cursor) * chance(cursor)
        shards = 2 + np.int64(5.0 * chance(cursor))
        tone = between(cursor, -0.8, 0.9)
        for _ in range(shards):
            blade(
                layer,
                x,
                y,
                heading + between(cursor, -spread, spread),
                length * between(cursor, 0.5, 1.0),
                length * slim * between(cursor, 0.5, 1.2) + 0.8,
                tone + between(cursor, -0.5, 0.5),
                between(cursor, 0.2, 0.9),
                opacity,
            )


@kernel
def droplets(layer, cursor, count, least, most, column, seed):  # type: ignore[no-untyped-def]
    """Freeze `count` droplets, light above and dark below, thicker along vertical runs `column` pixels apart."""
    rows, columns = layer.shape
    for _ in range(count):
        x = between(cursor, 0.0, columns * 1.0)
        y = between(cursor, 0.0, rows * 1.0)
        run = gradient_noise(x / column, y / (14.0 * column), seed)
        if chance(cursor) > 0.45 + 1.2 * run:
            continue
        radius = least + (most - least) * chance(cursor) * chance(cursor)
        light = between(cursor, 0.4, 1.5)
        reach = np.int64(radius + 1.5)
        cx, cy = np.int64(x), np.int64(y)
        for py in range(_within(cy - reach, 0, rows), _within(cy + reach + 1, 0, rows)):
            for px in range(_within(cx - reach, 0, columns), _within(cx + reach + 1, 0, columns)):
                dx, dy = px - x, (py - y) * 0.8
                away = math.sqrt(dx * dx + dy * dy)
                cover = min(max(radius + 0.5 - away, 0.0), 1.0) * 0.8
                if cover > 0.0:
                    shade = -light * (0.6 * dx + dy) / radius + 0.25 * light
                    layer[py, px] += np.float32((shade - layer[py, px]) * cover)


@kernel
def grain(layer, cursor, strength, cell):  # type: ignore[no-untyped-def]
    """Add fine independent grain (a triangular distribution of about the given half width), in patches of `cell` pixels."""
    seed = np.uint32(cursor[1])
    for y in range(layer.shape[0]):
        for x in range(layer.shape[1]):
            h = _mixed(x, y, seed)
            pair = np.float64(h & np.uint32(0xFFFF)) + np.float64(h >> np.uint32(16))
            patch = max(1.0 + 2.0 * gradient_noise(x / cell, y / cell, seed), 0.0)
            layer[y, x] += np.float32((pair / 65536.0 - 1.0) * strength * patch)
