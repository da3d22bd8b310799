"""The wrong variants: where the edit is, what is right, what is wrong, and which tests must notice."""

from __future__ import annotations

from typing import NamedTuple


class Variant(NamedTuple):
    """An edit of the package that makes its output wrong."""

    of: str
    """The corruption, or what all of them rest on: ``words``, ``keys``, ``stages``, ``tables``."""
    name: str
    file: str
    """Below `corruptions`."""
    right: str
    wrong: str
    tests: str
    """Files of tests/corruptions, without ``test_``; one test as ``file::test``."""
    times: int = 1
    """How many occurrences are edited, from the first; -1 is all."""

    @property
    def id(self) -> str:
        return f"{self.of}: {self.name}"


NOISE = "noise/noise.py"
UNIFORM = NOISE
TABLES = "noise/tables.py"
PHILOX = "random/philox.py"
STAGES = "stages.py"
GLASS = "blur/glass.py"
MOTION = "blur/motion.py"
ZOOM = "blur/zoom.py"
SEPARABLE = "separable.py"
SNOW = "weather/snow.py"
FROST = "weather/frost.py"
FOG = "weather/fog.py"
WATER = "weather/water.py"
CONTRAST = "digital/contrast.py"
ELASTIC = "digital/elastic.py"
PIXELATE = "digital/pixelate.py"
JPEG = "digital/jpeg.py"
SATURATE = "digital/saturate.py"
LEVELS = "digital/pixelate.py"
AFFINE = "shape/affine.py"
WARP = "shape/warp.py"
CANVAS = WARP
STROKE = "shape/stroke.py"
FISHEYE = "shape/fisheye.py"
LINES = "gradual/lines.py"
GRADUAL_BLUR = RECTANGLES = "gradual/blur.py"
PIXELS = "gradual/pixels.py"
SWAP = PIXELS
FADE = "gradual/fade.py"
GREY = FADE
CLEAN = FADE
EVALUATED = "tables/ladder_evaluated.toml"
PGD = "adversarial/pgd.py"
MODEL_GRADIENT = "adversarial/model_gradient.py"

VARIANTS = [
    # noise
    Variant(
        "gaussian_noise",
        "the same in R, G and B",
        NOISE,
        "word = words[i]",
        "word = words[i - i % np.uint32(3)]",
        "independence",
    ),
    Variant("gaussian_noise", "tiled", NOISE, "word = words[i]", "word = words[i & np.uint32(511)]", "independence"),
    Variant(
        "gaussian_noise",
        "each 4096 elements the same",
        NOISE,
        "start >> 2, stage_key",
        "0, stage_key",
        "independence noise",
    ),
    Variant("gaussian_noise", "one image's for all", NOISE, "sample_keys[n]", "sample_keys[0]", "independence"),
    Variant(
        "gaussian_noise", "rounded", NOISE, "+ offsets[i] - np.int16(256)", "+ offsets[i] - np.int16(255)", "noise"
    ),
    Variant(
        "gaussian_noise",
        "one per cent too strong",
        NOISE,
        "gaussian_table(sigma,",
        "gaussian_table(sigma * 1.01,",
        "noise",
    ),
    Variant(
        "gaussian_noise", "sigma 0.18 is 0.19 at 224", "tables/imagenet.toml", "sigma = 0.18", "sigma = 0.19", "noise"
    ),
    Variant(
        "shot_noise", "two per cent more photons", NOISE, "shot_table(photons,", "shot_table(photons * 1.02,", "noise"
    ),
    Variant("shot_noise", "white is 254", TABLES, "/ photons, 1.0) * 255.0", "/ photons, 1.0) * 254.0", "noise"),
    Variant(
        "speckle_noise",
        "one per cent too strong",
        NOISE,
        "speckle_table(sigma,",
        "speckle_table(sigma * 1.01,",
        "noise",
    ),
    Variant(
        "speckle_noise",
        "the same at every level",
        TABLES,
        "np.broadcast_to(level * sigma, (LEVELS, LEVELS))",
        "np.full((LEVELS, LEVELS), 255.0 * sigma)",
        "noise",
    ),
    Variant(
        "impulse_noise",
        "on whole pixels",
        NOISE,
        "word = words[i]\n                    kept",
        "word = words[i - i % np.uint32(3)]\n                    kept",
        "noise",
    ),
    Variant("impulse_noise", "all salt", NOISE, "kept = np.uint8(0) if", "kept = np.uint8(255) if", "noise"),
    Variant("impulse_noise", "half as much", NOISE, "int(share * 2.0**31", "int(share * 2.0**30", "noise"),
    Variant("uniform_noise", "rounded", UNIFORM, "- 1.0) + half)", "- 1.0) + half + 0.5)", "uniform_noise"),
    Variant("uniform_noise", "only brighter", UNIFORM, "* 2.0**-31 - 1.0)", "* 2.0**-32)", "uniform_noise"),
    Variant("uniform_noise", "one image's for all", UNIFORM, "sample_keys[n]", "sample_keys[0]", "uniform_noise"),
    Variant("uniform_noise", "each 4096 elements the same", UNIFORM, "start >> 2", "0", "uniform_noise"),
    Variant("uniform_noise", "wraps around", UNIFORM, "min(max(spread, 0.0), 255.0)", "spread", "uniform_noise"),
    Variant(
        "fisheye", "rounded", FISHEYE, "* 257.0 + 0.5) // np.int32(257)", "* 257.0 + 128.5) // np.int32(257)", "fisheye"
    ),
    Variant(
        "fisheye",
        "half a pixel off",
        FISHEYE,
        "centre_x, centre_y = 0.5 * (width - 1)",
        "centre_x, centre_y = 0.5 * width",
        "fisheye",
    ),
    Variant(
        "fisheye",
        "as wide as the long side",
        FISHEYE,
        "2.0 / min(height, width)",
        "2.0 / max(height, width)",
        "fisheye",
    ),
    Variant(
        "fisheye", "grows at its edge", FISHEYE, "rest = 1.0 - cubic - quadratic - linear", "rest = 1.0", "fisheye"
    ),
    Variant(
        "fisheye",
        "cubic and linear exchanged",
        FISHEYE,
        "((cubic * r + quadratic) * r + linear)",
        "((linear * r + quadratic) * r + cubic)",
        "fisheye",
    ),
    Variant("fisheye", "the first image's for all", FISHEYE, "plain[n * height * line :]", "plain[0:]", "fisheye"),
    Variant(
        "salt_pepper",
        "on whole pixels",
        NOISE,
        "word = words[i]\n                    kept",
        "word = words[i - i % np.uint32(3)]\n                    kept",
        "salt_pepper",
    ),
    Variant(
        "salt_pepper",
        "the density of each of the two",
        NOISE,
        "int(share * 2.0**31",
        "int(share * 2.0**32",
        "salt_pepper",
    ),
    Variant(
        "salt_pepper",
        "salt for pepper",
        NOISE,
        "np.uint8(0) if word < share else source[i]\n                    target[i] = np.uint8(255)",
        "np.uint8(255) if word < share else source[i]\n                    target[i] = np.uint8(0)",
        "salt_pepper",
    ),
    Variant(
        "salt_pepper",
        "more salt than pepper",
        NOISE,
        "np.uint32(~word) < share",
        "np.uint32(~word) < share + (share >> np.uint32(5))",
        "salt_pepper",
    ),
    Variant("gaussian_noise", "a mean is floored", NOISE, "half(rounding), mean)", "0.0, mean)", "gaussian_mean"),
    Variant("gaussian_noise", "the mean doubled", TABLES, "- 255.0 * mean", "- 510.0 * mean", "gaussian_mean"),
    Variant(
        "gaussian_noise", "no mean without spread", NOISE, "255.0 * mean + half", "0.0 * mean + half", "gaussian_mean"
    ),
    Variant(
        "gaussian_noise", "means share their noise", NOISE, "shapes_draws=True", "shapes_draws=False", "gaussian_mean"
    ),
    # words, keys, stages, tables
    Variant(
        "words",
        "the sample key ignored",
        PHILOX,
        "c2 = low_word(sample_key)\n    c3 = high_word(sample_key)",
        "c2 = c3 = np.uint32(0)",
        "philox",
    ),
    Variant("words", "the stage key ignored", PHILOX, "k0 = low_word(stage_key)", "k0 = np.uint32(0)", "philox"),
    Variant(
        "words",
        "the stream ignored",
        PHILOX,
        "c1 = np.uint32(stream)\n    first",
        "c1 = np.uint32(0)\n    first",
        "philox",
    ),
    Variant(
        "words",
        "nine rounds of Philox",
        PHILOX,
        "np.uint32(k0 + _W0[8]), np.uint32(k1 + _W1[8]))",
        "k0, k1) if False else (c0, c1, c2, c3)",
        "philox",
    ),
    Variant("keys", "the seed ignored", "keys.py", "hash64([RNG_VERSION, seed,", "hash64([RNG_VERSION, 0,", "keys"),
    Variant(
        "keys",
        "of the chain's last stage alone",
        STAGES,
        "[*above[:i], key_entry(s, coupling)]",
        "[key_entry(s, coupling)]",
        "keys",
    ),
    Variant("keys", "severities always coupled", STAGES, 'shared = coupling == "severity" and', "shared =", "keys"),
    Variant(
        "stages",
        "lengths never scaled",
        STAGES,
        "ratio = min(shape) / side",
        "ratio = 1.0",
        "properties::test_scale_side_is_the_table_at_its_own_size_and_grows_lengths",
    ),
    Variant(
        "stages",
        "the row's values are not overridden",
        STAGES,
        "values[key] = known[key].checked(value, name)",
        "values.setdefault(key, value)",
        "properties",
    ),
    Variant(
        "tables",
        "a cell of fog at 32",
        "tables/cifar.toml",
        "wibble_decay = 1.75",
        "wibble_decay = 1.7",
        "published_tables",
    ),
    Variant(
        "tables",
        "an unknown source is taken",
        "calibrations.py",
        "or source not in self.sources:",
        "or False:",
        "rows calibrations",
    ),
    Variant(
        "tables",
        "a mistake breaks its whole table",
        "calibrations.py",
        "    table = _table(file",
        "    parse_table(file.read_text(), name)\n    table = _table(file",
        "rows",
    ),
    Variant(
        "tables",
        "a cell of motion blur at 299",
        "tables/inception.toml",
        "radius = 22",
        "radius = 20",
        "published_tables",
    ),
    # blur
    Variant(
        "glass_blur",
        "a true exchange",
        GLASS,
        "packed[np.uint64(place)] = packed[np.uint64(place + offsets[pick])]",
        "there = np.uint64(place + offsets[pick])\n                        "
        "packed[np.uint64(place)], packed[there] = packed[there], packed[np.uint64(place)]",
        "glass_blur",
    ),
    Variant(
        "glass_blur",
        "the greatest displacement included",
        GLASS,
        "    side = 2 * reach\n",
        "    side = 2 * reach + 1\n",
        "glass_blur",
    ),
    Variant(
        "glass_blur",
        "no blur before",
        GLASS,
        "out = gaussian_filter(images, sigma, axes)",
        "out = images.copy()",
        "glass_blur",
    ),
    Variant(
        "glass_blur",
        "no blur after",
        GLASS,
        "return gaussian_filter(out, sigma, axes, half(rounding))",
        "return out",
        "glass_blur",
    ),
    Variant(
        "glass_blur",
        "given displacements as (dy, dx)",
        GLASS,
        "*keys, deltas, swaps)",
        "*keys, np.ascontiguousarray(deltas[..., ::-1]), swaps)",
        "glass_blur",
    ),
    Variant(
        "gaussian_blur",
        "rounded",
        SEPARABLE,
        "min(value, 1.0) * 255.0 + half)",
        "min(value, 1.0) * 255.0 + 0.5)",
        "gaussian_blur",
    ),
    Variant("gaussian_blur", "cut at three sigma", SEPARABLE, "TRUNCATE = 4.0", "TRUNCATE = 3.0", "gaussian_blur"),
    Variant(
        "gaussian_blur",
        "the left edge reflected",
        SEPARABLE,
        "line[pad - 1 - x] = line[pad - 1 - x + channels]",
        "line[pad - 1 - x] = line[pad + min(x // channels, width - 1) * channels + channels - 1 - x % channels]",
        "gaussian_blur",
    ),
    Variant(
        "defocus_blur", "the disk sums to one", "blur/disk.py", "published / ideal)", "1.0 / ideal)", "defocus_blur"
    ),
    Variant(
        "defocus_blur", "the disk is open at its rim", "blur/disk.py", "<= radius**2", "< radius**2", "defocus_blur", -1
    ),
    Variant("defocus_blur", "rounded", "blur/defocus.py", "_TIE = 1e-9", "_TIE = 0.5", "defocus_blur"),
    Variant(
        "defocus_blur",
        "columns never leave the sums",
        "blur/defocus.py",
        "np.int32(enters[j]) - np.int32(leaves[j])",
        "np.int32(enters[j])",
        "defocus_blur",
    ),
    Variant("motion_blur", "centred, not one-sided", MOTION, "float(i) *", "float(i - size // 2) *", "motion_blur", -1),
    Variant("motion_blur", "upside down", MOTION, "radians = math.pi *", "radians = -math.pi *", "motion_blur"),
    Variant(
        "motion_blur", "at any angle up to 90", MOTION, "GREATEST_ANGLE = 45.0", "GREATEST_ANGLE = 90.0", "motion_blur"
    ),
    Variant(
        "motion_blur",
        "half the streak",
        MOTION,
        "width = 2 * math.ceil(radius) + 1",
        "width = math.ceil(radius) + 1",
        "motion_blur",
    ),
    Variant(
        "zoom_blur",
        "no factor of overshoot",
        ZOOM,
        "math.ceil((stop - 1.0) / step)",
        "round((stop - 1.0) / step)",
        "zoom_blur",
    ),
    Variant(
        "zoom_blur",
        "divided by the count of factors",
        ZOOM,
        "np.float32(factors + 1)",
        "np.float32(factors)",
        "zoom_blur",
        -1,
    ),
    Variant(
        "zoom_blur",
        "runs that begin a pixel late",
        ZOOM,
        "* channels - begin",
        "* channels - begin + channels",
        "zoom_blur",
    ),
    Variant("zoom_blur", "into the upper left corner", ZOOM, "first = (side - crop) // 2", "first = 0", "zoom_blur"),
    # weather
    Variant("fog", "without its octaves", FOG, "wibble /= wibble_decay", "wibble = 0.0", "fog"),
    Variant("fog", "decays not squared", FOG, "first, wibble * wibble,", "first, wibble,", "fog"),
    Variant(
        "fog",
        "not scaled to the image's maximum",
        FOG,
        "factor = top / (top + weight)",
        "factor = 1.0 / (1.0 + weight)",
        "fog",
    ),
    Variant(
        "fog",
        "the same for every image",
        FOG,
        "sample_keys[m]",
        "sample_keys[0]",
        "fog properties::test_batch_is_one_by_one",
    ),
    Variant("snow", "angles of -45 to 45", SNOW, "low=-135.0, high=-45.0", "low=-45.0, high=45.0", "snow"),
    Variant("snow", "the second layer not turned", SNOW, "inverted[np.uint64(size - 1) - x]", "upright[x]", "snow"),
    Variant("snow", "without whitening", SNOW, "rest * max(value, pale)", "rest * value", "snow"),
    Variant(
        "snow",
        "grey is the mean of the channels",
        SNOW,
        "np.float32(0.299), np.float32(0.587), np.float32(0.114)",
        "np.float32(1 / 3), np.float32(1 / 3), np.float32(1 / 3)",
        "snow",
    ),
    Variant(
        "frost",
        "weights exchanged",
        FROST,
        "weights = float(image_weight), float(frost_weight)",
        "weights = float(frost_weight), float(image_weight)",
        "frost",
    ),
    Variant("frost", "always from the upper edge", FROST, "spans[texture, 0]) >> 32", "np.int64(0)) >> 32", "frost"),
    Variant(
        "frost", "textures equally likely", "weather/textures.py", "(0, 1, 1, 2, 3)", "(0, 1, 2, 3)", "frost textures"
    ),
    Variant(
        "frost",
        "resized textures rounded once",
        FROST,
        "((((a >> 4) * upper) >> 16) + (((b >> 4) * lower) >> 16) + 2) >> 2",
        "(a * upper + b * lower + (1 << 21)) >> 22",
        "frost",
    ),
    Variant("frost", "no room for crops of enlarged textures", FROST, "_MARGIN = 64", "_MARGIN = 1", "frost"),
    Variant(
        "frost",
        "the sixth picture too",
        "weather/textures.py",
        "tuple(range(5)) if",
        "tuple(range(6)) if",
        "frost textures",
    ),
    Variant(
        "brightness", "rounded", "weather/brightness.py", ", rounding).ravel()", ', "round").ravel()', "brightness"
    ),
    Variant(
        "brightness",
        "added to R, G and B",
        "weather/brightness.py",
        "shifted * (1.0 - saturation)",
        "np.maximum(level / 255.0 + shift, 0.0)",
        "brightness",
    ),
    Variant(
        "spatter",
        "distances capped too early",
        WATER,
        "cap = np.int32(reach * ONE)",
        "cap = np.int32(reach * ONE * 0.9)",
        "spatter",
    ),
    Variant(
        "spatter",
        "mud in BGR",
        "weather/spatter.py",
        "(63 / 255.0, 42 / 255.0, 20 / 255.0)",
        "(20 / 255.0, 42 / 255.0, 63 / 255.0)",
        "spatter",
    ),
    Variant(
        "spatter",
        "mud where it should be dry",
        "weather/spatter.py",
        "np.uint8(value > threshold)",
        "np.uint8(value < threshold)",
        "spatter",
    ),
    Variant(
        "spatter",
        "distances along the axes",
        WATER,
        "_DIAGONAL = np.int32(91750)",
        "_DIAGONAL = np.int32(131072)",
        "spatter",
    ),
    # digital
    Variant(
        "contrast",
        "about mid grey",
        CONTRAST,
        "mean = np.float64(sums[c]) / np.float64(height * width) / 255.0",
        "mean = 0.5",
        "contrast",
    ),
    Variant(
        "contrast",
        "about the mean of all channels",
        CONTRAST,
        "mean = np.float64(sums[c]) / np.float64(height * width) / 255.0",
        "mean = np.float64(sums.sum()) / np.float64(height * width * channels) / 255.0",
        "contrast",
    ),
    Variant("contrast", "rounded", CONTRAST, "level + _TIE", "level + 0.5", "contrast"),
    Variant(
        "elastic_transform",
        "without the affine map",
        ELASTIC,
        "    side = np.float32(min(height, width) // 3)",
        "    affine = 0.0\n    side = np.float32(min(height, width) // 3)",
        "elastic",
    ),
    Variant(
        "elastic_transform",
        "without the displacement across",
        ELASTIC,
        "np.float32(move_x[p] * alpha)",
        "np.float32(move_x[p] * 0.0)",
        "elastic",
    ),
    Variant(
        "elastic_transform",
        "moved across by the field down",
        ELASTIC,
        "np.float32(move_x[p] * alpha)",
        "np.float32(move_y[p] * alpha)",
        "elastic",
    ),
    Variant(
        "elastic_transform",
        "fields cut at four sigma",
        "digital/fields.py",
        "_TRUNCATE = 3.0",
        "_TRUNCATE = 4.0",
        "elastic",
    ),
    Variant(
        "pixelate",
        "sizes rounded",
        PIXELATE,
        "max(int(height * fraction), 1), max(int(width * fraction), 1)",
        "max(round(height * fraction), 1), max(round(width * fraction), 1)",
        "pixelate",
    ),
    Variant(
        "pixelate",
        "one pixel in place of a box's mean",
        PIXELATE,
        "spans[i] = inside[0], len(inside)",
        "inside = inside[:1]\n        spans[i] = inside[0], 1",
        "pixelate",
    ),
    Variant("pixelate", "floored", PIXELATE, "_HALF = np.uint32(1 << (_BITS - 1))", "_HALF = np.uint32(0)", "pixelate"),
    Variant(
        "jpeg_compression",
        "RGB taken for BGR",
        JPEG,
        "luma_steps, chroma_steps = quantisers(int(quality))",
        "swapped = not swapped\n    luma_steps, chroma_steps = quantisers(int(quality))",
        "jpeg",
    ),
    Variant(
        "jpeg_compression",
        "quality off by one",
        JPEG,
        "quantisers(int(quality))",
        "quantisers(max(int(quality) - 1, 1))",
        "jpeg",
    ),
    Variant(
        "jpeg_compression",
        "chroma enlarged without smoothing down",
        JPEG,
        "np.int32(3) * np.int32(near[x]) + np.int32(far[x])",
        "np.int32(4) * np.int32(near[x])",
        "jpeg",
    ),
    Variant(
        "jpeg_compression",
        "coefficients cut, not rounded",
        "digital/dct.py",
        "more = np.float32(4 * step) + np.float32(0.5)",
        "more = np.float32(0.5)",
        "jpeg",
    ),
    Variant(
        "jpeg_compression",
        "quality 58 is 57 at 64",
        "tables/tiny.toml",
        "quality = 58",
        "quality = 57",
        "published_tables",
    ),
    Variant("saturate", "grey stays grey", SATURATE, "tint = min(max(shift, 0.0), 1.0)", "tint = 0.0", "saturate"),
    Variant(
        "saturate",
        "clipped before the shift",
        SATURATE,
        "* gain + shift, 0.0, 1.0)",
        "* gain, 0.0, 1.0) + shift",
        "saturate",
    ),
    Variant("saturate", "rounded", SATURATE, "_TIE = 1e-9", "_TIE = 0.5", "saturate"),
    # MNIST-C
    Variant(
        "shear",
        "today's meaning of a shear",
        AFFINE,
        "matrices[:, 1, 1] = 1.0, cosine",
        "matrices[:, 1, 1] = 1.0, 1.0",
        "shape",
    ),
    Variant("scale", "enlarged", AFFINE, "1.0 / factor", "1.0 * factor", "shape"),
    Variant("rotate", "clockwise", AFFINE, "-sine * sign, sine * sign", "sine * sign, -sine * sign", "shape"),
    Variant(
        "rotate",
        "clockwise turns left",
        AFFINE,
        '-1.0 if direction == "clockwise"',
        '1.0 if direction == "clockwise"',
        "rotate",
    ),
    Variant("rotate", "crop for loose", AFFINE, 'if canvas == "crop":', "if canvas:", "rotate"),
    Variant(
        "rotate",
        "bilinear for nearest",
        WARP,
        'if interpolation == "nearest":',
        'if interpolation == "none":',
        "rotate",
    ),
    Variant(
        "rotate",
        "half a pixel off",
        WARP,
        "centres[n, 0] + 0.5, centres[n, 1] + 0.5",
        "centres[n, 0], centres[n, 1]",
        "rotate",
    ),
    Variant("rotate", "always in black corners", AFFINE, "fill=fill)", "fill=0)", "rotate", -1),
    Variant(
        "rotate",
        "the canvas one pixel short",
        CANVAS,
        "to_integral_value(ROUND_CEILING)",
        'to_integral_value("ROUND_FLOOR")',
        "rotate",
    ),
    Variant(
        "rotate",
        "the canvas of the corner pixels' centres",
        CANVAS,
        "(height * cosine + width * sine, ",
        "((height - 1) * cosine + (width - 1) * sine, ",
        "rotate",
    ),
    Variant("rotate", "brought back pixel by pixel", AFFINE, "out, resize)", 'out, "nearest")', "rotate"),
    Variant("rotate", "halves go down on the way back", CANVAS, "0.5 * total + 0.25", "0.5 * total - 0.25", "rotate"),
    Variant("rotate", "left and right have one key", AFFINE, "shapes_draws=True", "shapes_draws=False", "rotate"),
    Variant(
        "rotate",
        "a cell at 224",
        "tables/imagenet.toml",
        "angle_deg = 11.459155902616466",
        "angle_deg = 11.46",
        "rotate",
    ),
    Variant(
        "translate",
        "both axes one way",
        AFFINE,
        "return signs if count > 1",
        "return signs[:, :1].repeat(2, 1) if count > 1",
        "shape",
    ),
    Variant("translate", "about the middle of 28 pixels", "shape/warp.py", "(width - 1) / 2", "width / 2", "shape"),
    Variant("scale", "floored", WARP, "np.rint(sums[p])", "np.floor(sums[p])", "shape"),
    Variant(
        "line",
        "one more row",
        STROKE,
        "(0, 0), (shape[0] - 1, shape[0] - 1)",
        "(0, 0), (shape[0], shape[0])",
        "shape",
    ),
    Variant("line", "fading evenly", STROKE, "_logarithm(left) + 1.0", "left", "shape"),
    Variant("dotted_line", "gaps for dots", STROKE, "x // dot % 2 == 0", "x // dot % 2 == 1", "shape"),
    Variant(
        "zigzag",
        "not turned with its middle line",
        STROKE,
        "along * cosine - side * sine + left",
        "along * cosine + left",
        "shape",
    ),
    Variant(
        "zigzag",
        "ends five apart at most, both ways",
        STROKE,
        "(shape[0] - 1, high - low)",
        "(shape[0] - 1, high - low + 4)",
        "shape",
    ),
    Variant("stripe", "on the left only", STROKE, "out[:, :, -width:] = 255 - out[:, :, -width:]", "pass", "shape"),
    Variant(
        "canny_edges", "no edge goes on", "shape/canny.py", "if ridge[j, i] == 1:", "if ridge[j, i] == 3:", "shape"
    ),
    Variant(
        "canny_edges",
        "black outside counts",
        "shape/canny.py",
        "smooth[y, x] /= inside[y, x] + _EPSILON",
        "smooth[y, x] /= 1.0",
        "shape",
    ),
    Variant(
        "canny_edges",
        "pairs added from the inside out",
        "shape/canny.py",
        "weigh(down, radius, 1, weights, True, across)",
        "weigh(down, radius, 1, weights, False, across)",
        "shape",
    ),
    Variant("quantize", "floored", LEVELS, "* steps + 255) // 510", "* steps) // 510", "shape"),
    Variant(
        "inverse", "of 256", LEVELS, "np.asarray(255 - images, np.uint8)", "np.asarray(0 - images, np.uint8)", "shape"
    ),
    Variant(
        "gaussian_blur",
        "across columns in mnist",
        SEPARABLE,
        'axes == "both", float(half)',
        "True, float(half)",
        "mnist",
    ),
    Variant("glass_blur", "copies in mnist", GLASS, "packed[other] = kept", "packed[place] = packed[other]", "mnist"),
    Variant(
        "glass_blur", "swaps every pixel in mnist", GLASS, ">> np.uint32(31)) == 1", ">> np.uint32(31)) <= 1", "mnist"
    ),
    Variant("fog", "a map of its own size in mnist", FOG, 'parameters.get("map_side") or 1', "1", "mnist"),
    Variant(
        "spatter",
        "mud's luma in mnist",
        "weather/spatter.py",
        "1: (grey_mud / 255.0,)",
        "1: (45.771 / 255.0,)",
        "mnist",
    ),
    Variant(
        "saturate",
        "the hue is left alone in mnist",
        SATURATE,
        "min(max(hue * gain + shift, 0.0), 1.0) * 6.0",
        "hue * 6.0",
        "mnist",
    ),
    Variant(
        "elastic_transform",
        "reflected in mnist",
        ELASTIC,
        "if black and not inside:",
        "if black and not inside and width < 0:",
        "mnist",
        -1,
    ),
    Variant(
        "brightness",
        "halves go up in mnist",
        "levels.py",
        "np.rint(levels.astype(np.float32))",
        "np.floor(levels + 0.5)",
        "mnist",
    ),
    Variant(
        "tables",
        "mnist floors its snow",
        "tables/mnist.toml",
        'mix = 0.8\nrounding = "round"',
        "mix = 0.8",
        "mnist calibrations",
    ),
    # gradual degradations
    Variant(
        "keys",
        "the level not in the stream",
        "keys.py",
        "STREAMS_A_LEVEL * level + draw",
        "STREAMS_A_LEVEL + draw",
        "gradual",
    ),
    Variant(
        "black_lines",
        "the same line at every level",
        LINES,
        'level_stream(parameters["level"], ENDS)',
        "level_stream(1, ENDS)",
        "gradual",
    ),
    Variant(
        "black_lines",
        "from the left edge only",
        LINES,
        "words[:, 0::3] == 0",
        "words[:, 0::3] >= 0",
        "gradual_definitions",
    ),
    Variant("black_lines", "not anti-aliased", LINES, "cv2.LINE_AA)", "cv2.LINE_8)", "gradual_definitions"),
    Variant("white_lines", "not quite white", LINES, "images, 255, ends)", "images, 250, ends)", "gradual_definitions"),
    Variant(
        "random_boxes",
        "sides of 2 to 5",
        EVALUATED,
        "least = 3\nmost = 6",
        "least = 2\nmost = 5",
        "gradual_definitions",
    ),
    Variant(
        "random_boxes",
        "the longest side left out",
        RECTANGLES,
        "(most - least + 1)",
        "(most - least)",
        "gradual_definitions",
        -1,
    ),
    Variant(
        "random_boxes",
        "squares",
        RECTANGLES,
        "words[4 * k + 1]) * (most",
        "words[4 * k]) * (most",
        "gradual_definitions",
    ),
    Variant(
        "random_boxes",
        "never at the right edge",
        RECTANGLES,
        "(width - wide + 1)",
        "(width - wide)",
        "gradual_definitions",
    ),
    Variant(
        "global_blur",
        "from the clean image at every level",
        GRADUAL_BLUR,
        "gradual=Gradual(_times),",
        "gradual=Gradual(_times, accumulates=False),",
        "gradual_definitions",
    ),
    Variant(
        "global_blur",
        "floored",
        GRADUAL_BLUR,
        "half = area // np.uint32(2)",
        "half = np.uint32(0)",
        "gradual_definitions",
    ),
    Variant(
        "local_blur",
        "the outermost pixel mirrored too",
        GRADUAL_BLUR,
        "max(2 * (size - 1), 1)",
        "max(2 * size - 1, 1)",
        "gradual_definitions",
    ),
    Variant(
        "local_blur",
        "its mean in place of the filter",
        GRADUAL_BLUR,
        'inside == "mean")',
        'inside != "mean")',
        "gradual_definitions",
    ),
    Variant(
        "random_noise",
        "the same in R, G and B",
        PIXELS,
        "np.uint32(24 - 8 * c)",
        "np.uint32(24 - 0 * c)",
        "gradual_definitions",
    ),
    Variant("random_noise", "a quarter more", EVALUATED, "share = 0.02\n", "share = 0.025\n", "gradual_figures"),
    Variant(
        "white_fog",
        "around from 255 to 0",
        PIXELS,
        "np.uint8(min(np.int64(pixels[place, c]) + added, 255))",
        "np.uint8(np.int64(pixels[place, c]) + added)",
        "gradual_definitions",
    ),
    Variant(
        "pixel_swap",
        "a true exchange",
        EVALUATED,
        "exchange = false",
        "exchange = true",
        "gradual_figures gradual_definitions",
    ),
    Variant("pixel_swap", "one image's for all", SWAP, "sample_keys[n], stream)", "sample_keys[0], stream)", "gradual"),
    Variant(
        "adjacent_pixel_swap",
        "itself among its neighbours",
        SWAP,
        "i = k + k // 4",
        "i = k + k // 5",
        "gradual_definitions",
    ),
    Variant(
        "adjacent_pixel_swap",
        "four neighbours",
        SWAP,
        "around[word >> np.uint32(29)]",
        "around[np.array([1, 3, 4, 6])[word >> np.uint32(30)]]",
        "gradual_definitions",
    ),
    Variant("adjacent_pixel_swap", "the margin counted", EVALUATED, "margin = 1", "margin = 0", "gradual"),
    Variant("fade_black", "floored", FADE, "np.rint(product)", "np.floor(product)", "gradual_definitions"),
    Variant(
        "fade_white",
        "halves go up",
        FADE,
        "np.rint(product)",
        "np.floor(product + np.float32(0.5))",
        "gradual_definitions",
    ),
    Variant("fade_grey", "saturation rounded", GREY, "int(s * factor)", "round(s * factor)", "gradual_definitions"),
    Variant(
        "fade_grey", "colours rounded", GREY, "np.uint8(middle)", "np.uint8(np.rint(middle))", "gradual_definitions"
    ),
    Variant(
        "posterize",
        "33 less the level",
        CLEAN,
        "bin_values(start - level,",
        "bin_values(start + 1 - level,",
        "gradual_definitions",
    ),
    Variant(
        "posterize",
        "upper ends of bins",
        CLEAN,
        'if values == "even" else',
        'if values != "even" else',
        "gradual_figures",
    ),
    Variant(
        "jpeg",
        "33 less the level",
        CLEAN,
        "through_jpeg(images, start - level,",
        "through_jpeg(images, start + 1 - level,",
        "gradual_definitions",
    ),
    Variant("jpeg", "on what was compressed before", CLEAN, "accumulates=False, most=31", "most=31", "gradual_figures"),
    Variant(
        "jpeg", "in the right order", EVALUATED, 'channel_order = "bgr"', 'channel_order = "rgb"', "gradual_figures"
    ),
    Variant(
        "pgd",
        "towards the label",
        PGD,
        "np.float32(-step if targeted else step)",
        "np.float32(step if targeted else -step)",
        "pgd",
    ),
    Variant("pgd", "not kept in the ball", PGD, "yield ball.projected(images)", "yield images", "pgd"),
    Variant("pgd", "rounded out of the ball", PGD, "*self._bounds(self._whole)", "0, 255", "pgd"),
    Variant("pgd", "a pass too many", PGD, "for _ in range(steps):", "for _ in range(steps + 1):", "pgd"),
    Variant(
        "pgd",
        "not kept in 0..255",
        PGD,
        "self._clean + reach, np.float32(255)",
        "self._clean + reach, np.float32(1e4)",
        "pgd",
    ),
    Variant(
        "pgd",
        "L2 steps of the whole gradient",
        PGD,
        "gradient /= np.maximum(_norms(gradient)",
        "gradient /= 1e-9 + 0 * (_norms(gradient)",
        "pgd",
    ),
    Variant(
        "pgd",
        "a start of the first image for all",
        PGD,
        "keys.stage, sample, np.uint32(_PLACES), -eps",
        "keys.stage, keys.samples[0], np.uint32(_PLACES), -eps",
        "pgd",
    ),
    Variant("pgd", "a start in half the ball", PGD, "-eps, eps)", "0.0, eps)", "pgd"),
    Variant(
        "model_gradient",
        "towards the label",
        MODEL_GRADIENT,
        "images + np.int16(step)",
        "images - np.int16(step)",
        "model_gradient",
    ),
    Variant("model_gradient", "a step of one", MODEL_GRADIENT, "np.int16(step) * signs", "signs", "model_gradient"),
    Variant(
        "model_gradient",
        "every value moves",
        MODEL_GRADIENT,
        "np.sign(gradient)",
        "np.where(gradient < 0, -1, 1)",
        "model_gradient",
    ),
    Variant(
        "transforms",
        "an epoch draws the same",
        "transforms.py",
        'return int(hash64(["epoch", seed, int(epoch)])) & MAX_SEED if epoch else seed',
        "return seed",
        "transforms",
    ),
    Variant(
        "transforms",
        "the share is of those that stay",
        "transforms.py",
        "if whether >= self._below:",
        "if whether < self._below:",
        "transforms",
    ),
    Variant(
        "transforms",
        "severity and name from one draw",
        "transforms.py",
        "return choices[strength * len(choices) >> 64]",
        "return choices[which * len(choices) >> 64]",
        "transforms",
    ),
    Variant(
        "transforms",
        "a pickle without its epoch",
        "transforms.py",
        "return _made_again, (type(self), self._made_with, loaded_plugins())",
        'return _made_again, (type(self), {**self._made_with, **({"epoch": 0} if "epoch" in self._made_with else '
        "{})}, loaded_plugins())",
        "transforms",
    ),
    Variant(
        "plugins",
        "a package's hash is of its first file",
        "plugins.py",
        'sorted(folder.rglob("*.py"), key',
        'sorted(folder.glob("__init__.py"), key',
        "plugins",
    ),
    Variant(
        "plugins",
        "a function may write into its input",
        "plugins.py",
        "images.flags.writeable = False",
        "images.flags.writeable = True",
        "plugin_calls",
    ),
    Variant(
        "transforms",
        "the first calibration for every size",
        "transforms.py",
        'calibration = for_shape(*shape) if self._options["calibration"] is None else None',
        "calibration = None",
        "transforms",
    ),
    Variant(
        "resolution",
        "equal values of other types are one",
        "call.py",
        "functools.lru_cache(maxsize=1024, typed=True)",
        "functools.lru_cache(maxsize=1024, typed=False)",
        "resolution",
    ),
    Variant(
        "resolution",
        "a table file is remembered",
        "call.py",
        'and not str(named).endswith(".toml")',
        "and True",
        "resolution",
    ),
    Variant(
        "resolution",
        "pixels are hashed where nothing is drawn",
        "call.py",
        "if self.draws_nothing",
        "if False",
        "resolution",
    ),
    Variant(
        "image_types",
        "a mode is taken as it comes",
        "image_types.py",
        'if picture.mode not in ("RGB", "L"):',
        'if picture.mode not in ("RGB", "L", "LA", "RGBA"):',
        "image_types",
    ),
    Variant(
        "image_mistakes",
        "floats from 0 to 1 are converted as those from 0 to 255",
        "image_mistakes.py",
        "{'image * 255' if high <= 1 else 'image'}",
        "{'image'}",
        "image_mistakes",
    ),
    Variant(
        "image_mistakes",
        "a batch is turned as one image",
        "image_mistakes.py",
        'order = "1, 2, 0" if len(shape) == 3 else "0, 2, 3, 1"',
        'order = "1, 2, 0" if len(shape) == 3 else "1, 2, 3, 0"',
        "image_mistakes",
    ),
    Variant(
        "fractional",
        "photons themselves are interpolated",
        "rows.py",
        'INVERSE = frozenset({"photons"})',
        "INVERSE = frozenset[str]()",
        "fractional",
    ),
    Variant(
        "fractional",
        "counts are cut",
        "rows.py",
        "round(value) if p.kind is int",
        "int(value) if p.kind is int",
        "fractional",
    ),
    Variant("fractional", "snow has no threshold at 0", "rows.py", '"threshold": 1.0, "mix"', '"mix"', "fractional"),
    Variant("fractional", "elastic's sigma at 0 is that at 1", "rows.py", '{"sigma": 999.0}', "{}", "fractional"),
    Variant(
        "fractional", "from the row above", "rows.py", "(at - below) * (ends", "(1 - at + below) * (ends", "fractional"
    ),
    Variant(
        "fractional", "nothing above the last row", "rows.py", "min(int(at), max(rows) - 1)", "int(at)", "fractional"
    ),
    Variant(
        "fractional",
        "a stage of severity 0 is refused",
        "stages.py",
        "severity_number(number) == 0",
        "False",
        "fractional",
    ),
]
