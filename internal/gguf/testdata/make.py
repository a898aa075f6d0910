"""Records blocks of every quantised type and the float32 numbers that the Python package gguf makes
of them, for TestBlocks.

    python3 -m pip install gguf==0.19.0
    python3 internal/gguf/testdata/make.py

It writes blocks.json beside itself. The bytes of the blocks are pseudo-random, so that every bit
of a block counts; the scales are finite float16 numbers of all sizes, both signs and some of them
subnormal or 0. For types that the package can also write, quantised numbers come first.
"""

import base64
import json
import pathlib
from importlib.metadata import version

import gguf
import numpy as np

# Where a block has float16 numbers, in bytes.
SCALES = {
    "F32": [], "F16": [], "BF16": [],
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "MXFP4": [],
}
NUMBERS = 1024  # of each type


def scales(rng, count):
    """Returns float16 numbers as bytes, [count,2]."""
    x = (rng.standard_normal(count) * 10.0 ** rng.integers(-8, 1, count)).astype(np.float16)
    x[::7] = 0
    return x.view(np.uint8).reshape(count, 2)


def record(name, rng):
    kind = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[kind]
    values = rng.standard_normal((1, NUMBERS)).astype(np.float32)
    if name == "F32":
        raw = values.view(np.uint8).reshape(-1, size)
    elif name == "F16":
        raw = values.astype(np.float16).view(np.uint8).reshape(-1, size)
    else:
        raw = rng.integers(0, 256, (NUMBERS // block, size), dtype=np.uint8)
        for at in SCALES[name]:
            raw[:, at:at + 2] = scales(rng, len(raw))
        try:
            written = gguf.quants.quantize(values, kind).reshape(-1, size)
            raw[:len(raw) // 2] = written[:len(raw) // 2]
        except NotImplementedError:
            pass
        if name == "MXFP4":  # half of the blocks were written; exponents of finite numbers
            raw[:, 0] = raw[:, 0] // 2 + 64
        if name == "BF16":  # without NaN and infinity
            raw[:, 1] &= 0xBF
    got = gguf.quants.dequantize(np.ascontiguousarray(raw).reshape(1, -1), kind)
    assert got.dtype == np.float32 and got.size == NUMBERS and np.isfinite(got).all()
    return {
        "type": int(kind),
        "raw": base64.b64encode(raw.tobytes()).decode(),
        "float32": base64.b64encode(got.astype("<f4").tobytes()).decode(),
    }


def main():
    rng = np.random.default_rng(12)
    out = {"versions": {"gguf": version("gguf"), "numpy": version("numpy")}}
    out["types"] = {name: record(name, rng) for name in SCALES}
    path = pathlib.Path(__file__).parent / "blocks.json"
    path.write_text(json.dumps(out, indent=0) + "\n")


if __name__ == "__main__":
    main()
