"""make_patches.py OUT: writes OUT/patches.json: what activation patching with PyTorch hooks gives, one patch at a time.

The checkpoints are those of ../goldens, the clean prompt is row 0 of their ids, and the corrupted one has other tokens at two places.
For each golden, place and direction there are m of both prompts and of every patched run, row-major.
m is the difference of the logits of two tokens at the last position. A second run gives the same bytes:

    internal/bench/peers/python models/testdata/edits/make_patches.py models/testdata/edits
"""

import json
import os
import sys

import make_edits
import recording
import torch

NAMES = ["gpt2", "llama", "qwen3", "bloom", "bert"]
PLACES = {
    "residual": "hidden", "attention": "attention-output", "feed-forward": "feed-forward-output", "heads": "context", "heads-last": "context",
}
CHANGED = [3, 7]  # positions at which the corrupted prompt differs

edited = make_edits.changed


def changed(model, e, layer, x):
    """As in make_edits; an edit with "into" only records the tap."""
    if "into" in e:
        e["into"][layer] = x.clone()
        return x
    return edited(model, e, layer, x)


make_edits.changed = changed


def recorded(model, ids, tap):
    into = {}
    make_edits.run(model, ids, [{"tap": tap, "into": into}])
    return into


def setting(tap, layer, x, heads=None, positions=None):
    """The edit that sets a tap of a layer, at some heads and positions, to those of x [rows,T,W]."""
    e = {"tap": tap, "change": "value", "layers": [layer]}
    part = x
    if heads is not None:
        e["heads"], part = heads, part[heads]
    if positions is not None:
        e["positions"], part = positions, part[:, positions]
    if tap not in make_edits.HEADED:
        part = part[0]
    e["shape"], e["value"] = list(part.shape), part.flatten().tolist()
    return e


def m_of(model, ids, pair, edits):
    logits = make_edits.run(model, ids, edits)
    return float(logits[pair[0]].double() - logits[pair[1]].double())


def patches(model, place, base, other, pair):
    tap = PLACES[place]
    values, last, out = recorded(model, other, tap), len(base) - 1, []
    for layer in range(model.layers):
        for i in range(model.heads if "heads" in place else len(base)):
            where = {"positions": [i]}
            if "heads" in place:
                where = {"heads": [i]} | ({"positions": [last]} if place == "heads-last" else {})
            out.append(m_of(model, base, pair, [setting(tap, layer, values[layer], **where)]))
    return out


if __name__ == "__main__":
    everything = {}
    for name in NAMES:
        model = make_edits.Model(name)
        make_edits.model = model  # changed reads it
        clean = recording.token_ids(model.vocab)[0]
        corrupted = clean.clone()
        for i in CHANGED:
            corrupted[i] = 5 + (corrupted[i] + 11) % (model.vocab - 5)
        pair = [int(make_edits.run(model, ids, []).argmax()) for ids in (clean, corrupted)]
        if pair[0] == pair[1]:
            pair[1] = int(make_edits.run(model, corrupted, []).topk(2).indices[1])
        one = {
            "clean": clean.tolist(), "corrupted": corrupted.tolist(), "answer": pair[0], "foil": pair[1],
            "clean_difference": m_of(model, clean, pair, []), "corrupted_difference": m_of(model, corrupted, pair, []), "maps": [],
        }
        for place in PLACES:
            for direction, base, other in (("denoising", corrupted, clean), ("noising", clean, corrupted)):
                one["maps"].append({"place": place, "direction": direction, "m": patches(model, place, base, other, pair)})
        everything[name] = one
        print(name, pair, one["clean_difference"], one["corrupted_difference"], flush=True)
    with open(os.path.join(sys.argv[1], "patches.json"), "w") as f:
        json.dump(everything, f, separators=(",", ":"))
        f.write("\n")
