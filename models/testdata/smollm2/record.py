"""record.py [gemma3]: writes texts.json, ids.json and reference.safetensors; see README.md.

Run internal/bench/peers/setup.sh and make smollm2, then internal/bench/peers/python --gguf models/testdata/smollm2/record.py, which
writes beside itself. With gemma3, after internal/bench/peers/gemma3.sh, it writes into .cache/gemma3/recorded.
"""

import gzip
import hashlib
import importlib.metadata
import json
import os
import sys

os.environ.update(TRANSFORMERS_VERBOSITY="error", TQDM_DISABLE="1")

import torch
import transformers
from gguf import GGUFReader, TokenType
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(HERE, "..", "..", "..", ".cache")
STRINGS = os.path.join(HERE, "..", "..", "tokenizer", "testdata", "ref.json.gz")

TEXTS = [
    "The Eiffel Tower is in Paris. The Colosseum is in",
    "The keys to the old cabinet near the window were lost last winter, so the farmer asked his neighbour for a hammer. The"
    " neighbour came in the evening and",
    "def area(r):\n    return 3.14159 * r ** 2  # Fläche in m², 面积\n\nprint(area(10))",
]
GREEDY = 16  # tokens of each continuation, or fewer if the turn ends
EVERY = 1024  # logits are recorded of every so manieth token of the vocabulary
MARGIN = 0.01  # between the two largest logits where a greedy token is chosen: a smaller one could fall to rounding


class SmolLM2:
    folder, file, out = os.path.join(CACHE, "models", "smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf", HERE
    layers = [0, 14, 29]  # whose attention is recorded for all targets of the first text; the rest is for the last target only

    @staticmethod
    def tokenizer(reader):
        return smollm2_tokenizer(reader)


class Gemma3:
    folder, file = os.path.join(CACHE, "gemma3"), "gemma-3-270m-q4_k_m.gguf"
    out = os.path.join(folder, "recorded")
    layers = [0, 8, 17]

    @staticmethod
    def tokenizer(reader):
        return gemma3_tokenizer(reader)


def smollm2_tokenizer(reader):
    """Returns the published tokenizer of SmolLM2 with the vocabulary and the merges of the GGUF file. The conversion of transformers
    is not used: it leaves out the splitting of digits."""
    words = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in reader.fields["tokenizer.ggml.merges"].contents()]
    t = Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, merges))
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    t.decoder = decoders.ByteLevel()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    t.add_special_tokens([AddedToken(w, special=True, normalized=False) for w, k in zip(words, types) if k == TokenType.CONTROL])
    return t


def gemma3_tokenizer(reader):
    """Returns a SentencePiece BPE of the pieces and scores of the GGUF file. Of two pieces side by side whose join is a piece, the
    join with the highest score comes first, as SentencePiece does it; the merges of tokenizers are all such pairs in that order."""
    words = reader.fields["tokenizer.ggml.tokens"].contents()
    scores = reader.fields["tokenizer.ggml.scores"].contents()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    vocab = {w: i for i, w in enumerate(words)}
    normal = [TokenType.NORMAL, TokenType.USER_DEFINED]
    merges = []
    for i, w in enumerate(words):
        if types[i] == TokenType.NORMAL:
            pairs = [(w[:k], w[k:]) for k in range(1, len(w))]
            merges += [(-scores[i], i, vocab[a], a, b) for a, b in pairs if a in vocab and b in vocab and types[vocab[a]] in normal and types[vocab[b]] in normal]
    merges.sort()
    t = Tokenizer(models.BPE(vocab, [(a, b) for *_, a, b in merges], byte_fallback=True, fuse_unk=True, unk_token=words[3]))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.add_special_tokens([AddedToken(w, special=True, normalized=False) for w, k in zip(words, types) if k == TokenType.CONTROL])
    t.add_tokens([AddedToken(w, special=False, normalized=False) for w, k in zip(words, types) if k == TokenType.USER_DEFINED])
    bos = reader.fields["tokenizer.ggml.bos_token_id"].contents()
    t.post_processor = processors.TemplateProcessing(single=f"{words[bos]} $A", special_tokens=[(words[bos], bos)])
    return t


def load(m, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(m.folder, gguf_file=m.file, attn_implementation="eager", dtype=torch.float32)
    return model.to(dtype).eval()


def forward(model, ids):
    """Returns the logits [T,V] and the attention [L,H,T,S]."""
    with torch.no_grad():
        out = model(input_ids=torch.tensor([ids]), output_attentions=True)
    return out.logits[0], torch.stack(out.attentions)[:, 0]


def continuation(model, ids):
    """Returns the ids of the greedy text up to the end of the turn, one pass over the whole text for each."""
    new = []
    while len(new) < GREEDY and model.config.eos_token_id not in new:
        two = forward(model, ids + new)[0][-1].topk(2)
        assert two.values[0] - two.values[1] > MARGIN, f"{two} is too near after {ids + new}: take another text"
        new.append(two.indices[0].item())
    return new


def recorded(model, ids, layers):
    """Returns the tensors of a text by their names, as README.md describes them."""
    logits, attention = forward(model, ids)
    tensors = {"logits": logits[:, ::EVERY], "largest": logits.max(dim=1).values, "scale": logits.abs().max().reshape(1)}
    tensors["attention"] = attention[:, :, -1]
    return tensors | {f"attention.{layer}": attention[layer] for layer in layers}


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text)


def main():
    m = {"": SmolLM2, "gemma3": Gemma3}[" ".join(sys.argv[1:])]
    torch.set_num_threads(1)
    os.makedirs(m.out, exist_ok=True)
    path = os.path.join(m.folder, m.file)
    with open(path, "rb") as f:
        digest = hashlib.file_digest(f, "sha256").hexdigest()
    tokenizer = m.tokenizer(GGUFReader(path))
    with gzip.open(STRINGS) as f:
        strings = [case["text"] for case in json.load(f)]
    rows = ",\n ".join(json.dumps(tokenizer.encode(s).ids, separators=(",", ":")) for s in strings)
    write(m.out, "ids.json", f"[\n {rows}\n]\n")

    model, exact = load(m, torch.float32), load(m, torch.float64)
    tensors, texts, worst = {}, [], {"logits": 0.0, "attention": 0.0}
    for i, text in enumerate(TEXTS):
        ids = tokenizer.encode(text).ids
        greedy = continuation(model, ids)
        texts.append({"text": text, "ids": ids, "greedy": greedy, "continuation": tokenizer.decode(greedy, skip_special_tokens=False)})
        layers = m.layers if i == 0 else []
        got, want = recorded(model, ids, layers), recorded(exact, ids, layers)
        for name, x in got.items():
            tensors[f"{i}.{name}"] = x.contiguous()
            kind, scale = ("attention", 1) if name.startswith("attention") else ("logits", want["scale"])
            worst[kind] = max(worst[kind], ((x - want[name]).abs().max() / scale).item())
    save_file(tensors, os.path.join(m.out, "reference.safetensors"))
    versions = {p: importlib.metadata.version(p) for p in ("transformers", "torch", "tokenizers", "gguf", "accelerate")}
    head = {"versions": versions, "file": m.file, "sha256": digest}
    rows = ",\n  ".join(json.dumps(t, ensure_ascii=False) for t in texts)
    write(m.out, "texts.json", json.dumps(head, indent=1)[:-2] + f',\n "texts": [\n  {rows}\n ]\n}}\n')
    print({k: f"{v:.1e}" for k, v in worst.items()}, "from sums in float64, as a part of the largest;", versions)


main()
