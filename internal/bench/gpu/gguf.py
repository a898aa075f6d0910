"""gguf.py SHAPE [TYPE] FILE: writes a GGUF file of the shape of a published Llama with random weights, quantised as llama.cpp's Q4_K_M, or in one type.

SHAPE is one of 0.1b, 0.5b, qwen, 1b, 3b and 8b, or moe, a Mixtral of 1.7 billion parameters of which a token reads 0.3. It needs Python alone and writes what it has at once, so 8 billion parameters take no memory. Every byte is the
same on every run. The tokenizer has the 256 bytes as tokens, so a text has as many tokens as letters; the other tokens are never read from a text.
"""

import math
import pathlib
import random
import struct
import sys

# width, feed-forward width, layers, heads, key-value heads, vocabulary, tied head, and how many experts and chosen ones, if any: SmolLM2 135M, Qwen2.5 0.5B (rounded to blocks of 256), Llama 3.2 1B,
# Llama 3.2 3B and Llama 3.1 8B; qwen is Qwen2.5 0.5B as it is, with a head of its own: 491 MB
SHAPES = {
    "0.1b": (768, 1536, 24, 12, 4, 49152, True),
    "qwen": (896, 4864, 24, 14, 2, 151936, False),
    "0.5b": (1024, 4864, 24, 16, 2, 151936, True),
    "1b": (2048, 8192, 16, 32, 8, 128256, True),
    "3b": (3072, 8192, 28, 24, 8, 128256, True),
    "8b": (4096, 14336, 32, 32, 8, 128256, False),
    "moe": (1024, 512, 16, 16, 8, 49152, True, 64, 8),
    "small": (256, 512, 4, 8, 2, 1024, True),
}


def half(x):
    return struct.pack("<e", x)


BLOCKS = 262139

# Type: its number in a file, numbers a block, and what a block has. A number in brackets is so many random bytes. Scales are such that the weights have
# a mean of about 0 and a deviation of about 0.02.
TYPES = {
    "F32": (0, 1, None),
    "Q4_0": (2, 32, [half(0.0043), 16]),
    "Q5_0": (6, 32, [half(0.0021), 20]),
    "Q8_0": (8, 32, [half(0.00027), 32]),
    "Q4_K": (12, 256, [half(7.7e-5), half(7.7e-5 * 7.5), 12, 128]),
    "Q5_K": (13, 256, [half(3.7e-5), half(3.7e-5 * 15.5), 12, 32, 128]),
    "Q6_K": (14, 256, [128, 64, 16, half(1.46e-5)]),
}


def ring(kind):
    """So many blocks one after another: a prime number, more than any table has rows, so that no two rows are equal."""
    parts = TYPES[kind][2]
    room, at, step = bytearray(random.Random(kind).randbytes(size(kind, TYPES[kind][1]) * BLOCKS)), 0, size(kind, TYPES[kind][1])
    for part in parts:
        if not isinstance(part, int):
            for i, byte in enumerate(part):
                room[at + i::step] = bytes([byte]) * BLOCKS
        at += part if isinstance(part, int) else len(part)
    return memoryview(room)


def size(kind, numbers):
    parts = TYPES[kind][2]
    return 4 * numbers if parts is None else numbers // TYPES[kind][1] * sum(p if isinstance(p, int) else len(p) for p in parts)


def text(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(x):
    """A value with its kind."""
    if isinstance(x, str):
        return struct.pack("<I", 8) + text(x)
    if isinstance(x, float):
        return struct.pack("<If", 6, x)
    if isinstance(x, int):
        return struct.pack("<II", 4, x)
    if not x or isinstance(x[0], str):
        return struct.pack("<IIQ", 9, 8, len(x)) + b"".join(map(text, x))
    return struct.pack("<IIQ", 9, 5, len(x)) + struct.pack(f"<{len(x)}i", *x)


def letters():
    """How byte-level tokens write the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def tensors(shape, one):
    """Name, axes with the inner one first, and type of each."""
    width, inner, layers, heads, groups, vocabulary, tied, *experts = shape
    narrow = width // heads * groups
    better = one or "Q6_K"
    plain = one or "Q4_K"
    yield "token_embd.weight", (width, vocabulary), better if tied else plain
    yield "output_norm.weight", (width,), "F32"
    if not tied:
        yield "output.weight", (width, vocabulary), better
    for layer in range(layers):
        # llama.cpp takes more bits for these in the first and last eighth of the layers, and in each third one between.
        more = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
        for name, axes, kind in (
            ("attn_norm", (width,), "F32"), ("ffn_norm", (width,), "F32"),
            ("attn_q", (width, width), plain), ("attn_k", (width, narrow), plain), ("attn_v", (width, narrow), better if more else plain),
            ("attn_output", (width, width), plain), ("ffn_gate", (width, inner), plain), ("ffn_up", (width, inner), plain),
            ("ffn_down", (inner, width), better if more else plain), ("ffn_gate_inp", (width, *experts[:1]), one or "Q8_0"),
        ):
            if experts and name in ("ffn_gate", "ffn_up", "ffn_down"):
                name, axes = name + "_exps", (*axes, experts[0])
            if experts or name != "ffn_gate_inp":
                yield f"blk.{layer}.{name}.weight", axes, kind


def write(path, name, one=None):
    width, inner, layers, heads, groups, vocabulary, _, *experts = shape = SHAPES[name]
    keys = {
        "general.architecture": "llama", "general.name": f"random {name}", "llama.block_count": layers, "llama.context_length": 8192,
        "llama.embedding_length": width, "llama.feed_forward_length": inner, "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": groups, "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 500000.0,
        "llama.rope.dimension_count": width // heads, "llama.vocab_size": vocabulary, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": letters() + [f"word{i}" for i in range(256, vocabulary)], "tokenizer.ggml.token_type": [1] * vocabulary,
        "tokenizer.ggml.merges": [],
    }
    if experts:
        keys |= {"llama.expert_count": experts[0], "llama.expert_used_count": experts[1]}
    # llama.cpp takes blocks of 32 for rows that have no whole number of blocks of 256.
    smaller = {"Q4_K": "Q5_0", "Q5_K": "Q5_0", "Q6_K": "Q8_0"}
    all_tensors = [(t, axes, kind if axes[0] % 256 == 0 else smaller.get(kind, kind)) for t, axes, kind in tensors(shape, one)]
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(keys)))
    for key, x in keys.items():
        head += text(key) + value(x)
    place = 0
    for tensor, axes, kind in all_tensors:
        head += text(tensor) + struct.pack("<I", len(axes)) + struct.pack(f"<{len(axes)}Q", *axes) + struct.pack("<IQ", TYPES[kind][0], place)
        place += -(-size(kind, math.prod(axes)) // 32) * 32
    rings = {kind: ring(kind) for kind in sorted({kind for _, _, kind in all_tensors} - {"F32"})}
    at = dict.fromkeys(rings, 0)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for _, axes, kind in all_tensors:
            left = length = size(kind, math.prod(axes))
            if kind == "F32":
                file.write(struct.pack("<f", 1) * math.prod(axes))
            else:
                while left:
                    piece = rings[kind][at[kind]:][:left]
                    file.write(piece)
                    at[kind], left = (at[kind] + len(piece)) % len(rings[kind]), left - len(piece)
            file.write(bytes(-length % 32))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in SHAPES or len(sys.argv) == 4 and sys.argv[2] not in TYPES:
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[-1]), sys.argv[1], sys.argv[2] if len(sys.argv) == 4 else None)
