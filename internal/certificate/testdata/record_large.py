"""Records large.safetensors: what transformers computes in float64 of golden qwen2 with large scores.

The change to the checkpoint is what published Qwen2.5 has: a large key bias where rotary positions
turn slowest, which adds about 1,000 to all scores of a target and hardly changes its attention.
largeScores in certificate_test.go makes the same change. Run it in this folder:

    python record_large.py
"""

import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

GOLDEN = "../../../models/testdata/goldens/qwen2"
BIAS, THETA = 1050.0, 1e6

folder = tempfile.mkdtemp()
shutil.copytree(GOLDEN, folder, dirs_exist_ok=True)
with open(os.path.join(folder, "config.json")) as f:
    config = json.load(f)
config["rope_parameters"]["rope_theta"] = THETA
with open(os.path.join(folder, "config.json"), "w") as f:
    json.dump(config, f)
weights = load_file(os.path.join(GOLDEN, "model.safetensors"))
bias = weights["model.layers.0.self_attn.k_proj.bias"]
for group in range(config["num_key_value_heads"]):
    bias[8 * group + 3] = BIAS  # the last of 4 frequencies
save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
ids = load_file(os.path.join(GOLDEN, "golden.safetensors"))["input_ids"]


def run(dtype):
    """The taps of one pass by their names in a golden."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=dtype).eval()
    with torch.no_grad():
        result = model(ids.long(), output_attentions=True, output_hidden_states=True)
    out = {"logits": result.logits}
    out |= {f"attn.{l}": a for l, a in enumerate(result.attentions)}
    return out | {f"hidden.{l}": h for l, h in enumerate(result.hidden_states)}


exact, single = run(torch.float64), run(torch.float32)
worst = max((exact[k] - single[k]).abs().max().item() for k in exact if k.startswith("attn"))
print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, transformers {transformers.__version__}")
print(f"attention in float32 is off by {worst:.1e}")
save_file({"input_ids": ids} | {k: v.float().contiguous() for k, v in exact.items()}, "large.safetensors")
shutil.rmtree(folder)
