"""make_edits.py OUT: writes OUT/edits.json and OUT/edits.safetensors: edits of taps, and what transformers computes under them.

The checkpoints are those of ../goldens, the text is row 0 of their ids. PyTorch hooks make the edits. edits.json has for each golden
a list of cases, each a list of edits as headwater trace --edit reads them; edits.safetensors has the logits at the last position,
[cases,V]. A second run gives the same bytes:

    internal/bench/peers/python models/testdata/edits/make_edits.py models/testdata/edits
"""

import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.join(HERE, "..", "goldens")
sys.path.insert(0, GOLDENS)

import recording  # noqa: E402  it sets what transformers prints
import torch  # noqa: E402
import transformers as T  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

MODELS = {
    "gpt2": T.GPT2LMHeadModel, "llama": T.LlamaForCausalLM, "qwen3": T.Qwen3ForCausalLM, "gemma3": T.Gemma3ForCausalLM,
    "bloom": T.BloomForCausalLM, "bert": T.BertForMaskedLM, "mixtral": T.MixtralForCausalLM,
}
HEADED = ["attention", "query", "key", "value", "context", "head-output"]
STREAM = ["attention-output", "hidden-after-attention", "feed-forward-output", "hidden", "router"]
CHANGES = ["zero", "value", "mean", "scale", "add"]
softmax = torch.nn.functional.softmax


class Model:
    """A checkpoint, and where its taps are."""

    def __init__(self, name):
        self.m = recording.load(MODELS[name], os.path.join(GOLDENS, name))
        self.name, c = name, self.m.config
        self.heads = c.num_attention_heads
        self.groups = getattr(c, "num_key_value_heads", None) or self.heads
        self.width = c.hidden_size
        self.vocab = c.vocab_size
        self.experts = getattr(c, "num_local_experts", 0)
        if name == "gpt2":
            self.blocks, self.norm = self.m.transformer.h, self.m.transformer.ln_f
            self.attn = [b.attn for b in self.blocks]
            self.out = [a.c_proj for a in self.attn]
            self.mlp = [b.mlp for b in self.blocks]
        elif name == "bloom":
            self.blocks, self.norm = self.m.transformer.h, self.m.transformer.ln_f
            self.attn = [b.self_attention for b in self.blocks]
            self.out = [a.dense for a in self.attn]
            self.mlp = [b.mlp.dense_4h_to_h for b in self.blocks]
        elif name == "bert":
            self.blocks, self.norm = self.m.bert.encoder.layer, None
            self.attn = [b.attention.self for b in self.blocks]
            self.out = [b.attention.output.dense for b in self.blocks]
            self.mlp = [b.output.dense for b in self.blocks]
        else:
            self.blocks, self.norm = self.m.model.layers, self.m.model.norm
            self.attn = [b.self_attn for b in self.blocks]
            self.out = [a.o_proj for a in self.attn]
            self.mlp = [b.mlp for b in self.blocks]
        self.layers = len(self.blocks)
        weight = self.out[0].weight
        self.head_width = (weight.shape[0] if name == "gpt2" else weight.shape[1]) // self.heads

    def size(self, tap, tokens):
        """How many numbers the tap has for one head and token."""
        return {
            "attention": tokens, "query": self.head_width, "key": self.head_width, "value": self.head_width,
            "context": self.head_width, "router": self.experts,
        }.get(tap, self.width)


def changed(model, e, layer, x):
    """x [rows,T,W] of a tap in a layer after an edit; rows are heads, groups, or 1."""
    x = x.clone()
    tokens = x.shape[1]
    layers = e.get("layers") or list(range(model.layers + (e["tap"] == "hidden")))
    if layer not in layers:
        return x
    heads = e.get("heads") or list(range(model.heads if e["tap"] in HEADED else 1))
    positions = [p % tokens for p in e.get("positions") or range(tokens)]
    sources = e.get("sources") or list(range(x.shape[2]))
    if "value" in e:
        v = torch.tensor(e["value"]).reshape(e.get("shape", []))
        if e["change"] == "mean":
            v = v.mean(0)
        if e["tap"] not in HEADED and v.dim() > 2:
            v = v.unsqueeze(1)  # the axis of heads
        v = v.broadcast_to(len(layers), len(heads), len(positions), len(sources))[layers.index(layer)]
    each = model.heads // x.shape[0] if e["tap"] in HEADED else 1
    seen = x != 0 if e["tap"] == "attention" else torch.ones_like(x, dtype=bool)
    for i, h in enumerate(heads):
        if h % each:
            continue  # it shares the tensor of another head
        for j, p in enumerate(positions):
            old = x[h // each, p, sources]
            new = {
                "zero": lambda: old * 0, "scale": lambda: old * e["factor"], "value": lambda: v[i, j], "mean": lambda: v[i, j],
                "add": lambda: old + e["factor"] * v[i, j],
            }[e["change"]]()
            x[h // each, p, sources] = new * seen[h // each, p, sources]
    return x


def split(x, heads):
    """[1,T,HE] as [H,T,E]."""
    return x[0].unflatten(-1, (heads, -1)).transpose(0, 1)


def joined(x):
    return x.transpose(0, 1).flatten(1)[None]


def run(model, ids, edits):
    """The logits at the last position under edits."""
    undo, inside = [], {}

    def change(tap, layer, x):
        for e in edits:
            if e["tap"] == tap:
                x = changed(model, e, layer, x)
        return x

    def on(module, hook, pre=False):
        undo.append((module.register_forward_pre_hook if pre else module.register_forward_hook)(hook))

    def first(output):
        return output[0] if isinstance(output, tuple) else output

    def again(output, x):
        return (x, *output[1:]) if isinstance(output, tuple) else x

    def hook_layer(l):
        block, attn, out, mlp = model.blocks[l], model.attn[l], model.out[l], model.mlp[l]

        def begin(module, args):
            x = change("hidden", l, args[0])
            inside["x"] = x
            return (x, *args[1:])

        on(block, begin, pre=True)
        on(attn, lambda m, a, kw=None: inside.update(layer=l), pre=True)
        on(mlp, lambda m, a: inside.update(layer=l, mlp=True), pre=True)
        # Queries, keys and values.
        if model.name == "gpt2":
            on(attn.c_attn, lambda m, a, y: torch.cat([
                joined(change(tap, l, split(part, model.heads)))
                for tap, part in zip(("query", "key", "value"), y.chunk(3, -1))], -1))
        elif model.name == "bloom":

            def fused(m, a, y):  # [1,T,H·3·E]
                parts = y[0].unflatten(-1, (model.heads, 3, -1)).permute(2, 1, 0, 3)
                parts = torch.stack([change(t, l, p) for t, p in zip(("query", "key", "value"), parts)])
                return parts.permute(2, 1, 0, 3).flatten(1)[None]

            on(attn.query_key_value, fused)
        elif model.name == "bert":
            for tap in ("query", "key", "value"):
                on(getattr(attn, tap), lambda m, a, y, tap=tap: joined(change(tap, l, split(y, model.heads))))
        else:
            on(attn.v_proj, lambda m, a, y: joined(change("value", l, split(y, model.groups))))
        # Contexts, heads and the attention's output.
        on(out, lambda m, a: (joined(change("context", l, split(a[0], model.heads))),), pre=True)

        def heads(m, args, y):
            if any(e["tap"] == "head-output" for e in edits):
                w = m.weight if model.name == "gpt2" else m.weight.T
                each = torch.stack([z @ w.unflatten(0, (model.heads, -1))[h] for h, z in enumerate(split(args[0], model.heads))])
                y = change("head-output", l, each).sum(0)[None] + (0 if m.bias is None else m.bias)
            y = change("attention-output", l, y)
            if model.name not in ("bert", "gemma3"):  # where a norm follows, its output is hooked
                y = change("hidden-after-attention", l, inside["x"] + y) - inside["x"]
            return y

        on(out, heads)
        if model.name == "bert":
            on(block.attention.output, lambda m, a, y: change("hidden-after-attention", l, y))
        if model.name == "gemma3":
            on(block.post_attention_layernorm,
               lambda m, a, y: change("hidden-after-attention", l, inside["x"] + y) - inside["x"])
        on(mlp, lambda m, a, y: again(y, change("feed-forward-output", l, first(y))))
        if model.norm is None and l == model.layers - 1:
            on(block, lambda m, a, y: again(y, change("hidden", l + 1, first(y))))

    for l in range(model.layers):
        hook_layer(l)
    if model.norm is not None:
        on(model.norm, lambda m, a: (change("hidden", model.layers, a[0]),), pre=True)

    def edited_softmax(x, *args, **kwargs):
        y = softmax(x, *args, **kwargs)
        if y.dim() == 4:
            return change("attention", inside["layer"], y[0])[None]
        if y.shape[-1] == model.experts:
            return change("router", inside["layer"], y[None])[0]
        return y

    torch.nn.functional.softmax = edited_softmax
    rotary = sys.modules[type(model.attn[0]).__module__]
    turn = getattr(rotary, "apply_rotary_pos_emb", None)
    if turn:

        def turned(q, k, *args, **kwargs):
            q, k = turn(q, k, *args, **kwargs)
            return change("query", inside["layer"], q[0])[None], change("key", inside["layer"], k[0])[None]

        rotary.apply_rotary_pos_emb = turned
    try:
        with torch.no_grad():
            return model.m(input_ids=ids[None], attention_mask=torch.ones_like(ids[None])).logits[0, -1].float()
    finally:
        for handle in undo:
            handle.remove()
        torch.nn.functional.softmax = softmax
        if turn:
            rotary.apply_rotary_pos_emb = turn


def cases(model, tokens):
    """Every tap with every change, in other layers, heads and positions each; then all taps at once."""
    rng = random.Random(model.name)

    def numbers(n):
        return [rng.randint(-8, 8) / 8 for _ in range(n)]

    def edit(tap, kind):
        e = {"tap": tap, "change": kind}
        if rng.random() < 0.8:
            e["layers"] = [rng.randrange(model.layers + (tap == "hidden"))]
        if tap in HEADED:
            each = model.heads // model.groups if tap in ("key", "value") else 1
            h = rng.randrange(model.heads // each) * each
            e["heads"] = list(range(h, h + each))
        if rng.random() < 0.8:
            top = e.get("layers", [0])[0] >= model.layers - 1  # only the last position reaches the logits
            e["positions"] = sorted(rng.sample(range(tokens - 1), 2)) + ([-1] if top or rng.random() < 0.5 else [])
        if tap == "attention":
            e["sources"] = sorted(rng.sample(range(5), 2))
        size = len(e["sources"]) if tap == "attention" else model.size(tap, tokens)
        if kind == "value":
            e["shape"] = [len(e.get("positions", [0])), size]
        elif kind == "mean":
            e["shape"] = [3, size]
        elif kind == "add":
            e["shape"] = [size]
        if kind in ("scale", "add"):
            e["factor"] = rng.choice([0.5, 2.0] if tap == "router" else [-1.5, 0.5, 2.0])
        if "shape" in e:
            n = 1
            for s in e["shape"]:
                n *= s
            e["value"] = numbers(n)
            if tap == "router":  # no two experts are equally probable
                e["value"] = [k / 8 for _ in range(n // size) for k in rng.sample(range(1, 16), size)]
        return e

    taps = [t for t in HEADED + STREAM if t != "router" or model.experts]
    all_cases = [[edit(tap, kind)] for tap in taps for kind in CHANGES if (tap, kind) != ("router", "zero")]
    all_cases.append([edit(tap, rng.choice(CHANGES[1:])) for tap in taps])
    return all_cases


if __name__ == "__main__":
    out = sys.argv[1]
    everything, logits = {}, {}
    for name in MODELS:
        model = Model(name)
        ids = recording.token_ids(model.vocab)[0]
        plain = run(model, ids, [])
        everything[name] = cases(model, len(ids))
        got = [run(model, ids, edits) for edits in everything[name]]
        logits[name] = torch.stack(got)
        same = [str(e)[:120] for e, x in zip(everything[name], got) if (x - plain).abs().max() < 1e-4]
        print(name, len(got), "cases; without effect:", same, flush=True)
    with open(os.path.join(out, "edits.json"), "w") as f:
        f.write("{\n" + ",\n".join(
            json.dumps(name) + ": [\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in all_cases) + "\n]"
            for name, all_cases in everything.items()) + "\n}\n")
    save_file(logits, os.path.join(out, "edits.safetensors"))
