"""activations.py OUT: writes OUT/activations.json, what transformers computes with each activation that it knows by name.

For each name of ACT2FN without weights: values and derivatives at some points, in float64, and the logits of the last token of
row 0 of the golden gpt2 whose activation_function it is, in float32. A second run gives the same bytes.
"""

import json
import os
import sys

import torch
from safetensors.torch import load_file
from transformers.activations import ACT2FN

import recording
from transformers import AutoConfig, GPT2LMHeadModel

POINTS = [-40.0, -9.5, -3.25, -2.0, -0.75, -0.011, -1e-5, 1e-30, 0.3, 0.009, 1.5, 2.75, 5.5, 6.5, 9.75, 12.0, 300.0]
WEIGHTS = ("prelu", "xielu")


def main(out):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpt2")
    ids = load_file(os.path.join(folder, "golden.safetensors"))["input_ids"][:1].long()
    activations = {}
    for name in sorted(set(ACT2FN) - set(WEIGHTS)):
        x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
        y = ACT2FN[name](x)
        y.sum().backward()
        config = AutoConfig.from_pretrained(folder, activation_function=name, attn_implementation="eager")
        model = GPT2LMHeadModel.from_pretrained(folder, config=config, dtype=torch.float32).eval()
        with torch.no_grad():
            logits = model(ids).logits[0, -1]
        activations[name] = dict(
            values=y.tolist(), derivatives=x.grad.tolist(), logits=[round(v, 7) for v in logits.tolist()])
    with open(os.path.join(out, "activations.json"), "w") as f:
        f.write('{"points": %s' % json.dumps(POINTS))
        for name, one in activations.items():
            f.write(',\n"%s": %s' % (name, json.dumps(one)))
        f.write("}\n")


if __name__ == "__main__":
    main(sys.argv[1])
