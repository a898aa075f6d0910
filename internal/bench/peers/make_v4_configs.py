"""make_v4_configs.py: writes config.v4.json beside every golden and computes the golden again from it, with transformers 4.

Run it with internal/bench/peers/python --v4. It ends with an error if any logits or attention are not those that version 5 recorded.
"""

import json
import os
import sys

GOLDENS_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "testdata", "goldens")
sys.path.insert(0, GOLDENS_DIR)

import torch
import transformers
from make_goldens import GOLDENS
from recording import forward, two_stacks, without_second_alibi
from safetensors.torch import load_file

TOLERANCE = 1e-5  # float32; both versions are within 5e-6 of float64

# Goldens that version 4 computes otherwise: it ties BERT's two biases of the head even where the head is not tied.
# Its last hidden state of ModernBERT is not normed. Its windows of Qwen2-MoE are in all layers.
DIFFERENT = {"bert_untied", "modernbert", "modernbert_cls", "modernbert_mean", "modernbert_tokens", "qwen2_moe"}

# T5 of version 4 has a head of its own where version 5 has none but does not scale; its mT5 scales.
# It gives source and target as many tokens if their vocabularies are separate, and one embedding always.
RESPELLED = {"t5_v1_1", "mt5", "marian_separate", "marian_separate_tied", "plbart"}


def old_words(options, family):
    """The options of a config of version 5 in the words of version 4."""
    options = dict(options)
    if family == "granitemoehybrid":
        options["layer_types"] = ["attention"] * len(options["layer_types"])
    rope = options.pop("rope_parameters", None)
    if rope is None:
        return options
    if "full_attention" in rope:
        if family == "gemma3_text":
            options["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    rope = dict(rope)
    theta, part = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
    options["rotary_emb_base" if family == "gpt_neox" else "rope_theta"] = theta
    if part is not None:
        options["rotary_pct" if family == "gpt_neox" else "partial_rotary_factor"] = part
    if family == "phi3":
        rope = {"type": rope["rope_type"], **{k: rope[k] for k in ("short_factor", "long_factor")}}
    if rope != {"rope_type": "default"}:
        options["rope_scaling"] = rope
    return options


def write(name):
    """Writes config.v4.json and returns the worst difference of what is computed from it."""
    config_class, model_class, options = GOLDENS[name]
    folder = os.path.join(GOLDENS_DIR, name)
    if config_class is None or "text_config" in options or name in RESPELLED:
        return respell(folder)
    config = config_class(**old_words(options, config_class.model_type))
    config.architectures = [model_class.__name__]
    config.torch_dtype = torch.float32
    path = os.path.join(folder, "config.v4.json")
    with open(path, "w") as f:
        f.write(config.to_json_string(use_diff=True))
    with open(path) as f:
        config = config_class.from_dict(json.load(f))
    model = model_class.from_pretrained(folder, config=config, attn_implementation="eager").eval()
    without_second_alibi(model)
    golden = load_file(os.path.join(folder, "golden.safetensors"))
    ids = golden["input_ids"].long()
    if two_stacks(model):
        got = {}
        forward(model, ids, torch.ones_like(ids), got, "")
        return max((golden[k] - got[k]).abs().max().item() for k in got)
    with torch.no_grad():
        result = model(
            input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True, output_hidden_states=True)
    got = {f"attn.{l}": a for l, a in enumerate(result.attentions)}
    got[f"hidden.{len(result.attentions)}"] = result.hidden_states[-1]
    if result.get("logits") is not None:
        got["logits"] = result.logits
    return max((golden[k] - got[k]).abs().max().item() for k in got)


def respell(folder):
    """Writes config.v4.json of a class that this version does not have or writes otherwise, from config.json. Nothing is computed."""
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    config["torch_dtype"] = config.pop("dtype")
    if "text_config" in config:
        config["text_config"] = old_words(config["text_config"], config["text_config"]["model_type"])
    with open(os.path.join(folder, "config.v4.json"), "w") as f:
        json.dump(old_words(config, config["model_type"]), f, indent=2, sort_keys=True)
        f.write("\n")
    return 0.0


def main():
    if not transformers.__version__.startswith("4."):
        sys.exit("run it with internal/bench/peers/python --v4")
    wrong = []
    for name in sys.argv[1:] or GOLDENS:
        worst = write(name)
        print(f"{name}  {worst:.1e}")
        if not worst <= TOLERANCE and name not in DIFFERENT:
            wrong.append(name)
    if wrong:
        sys.exit(f"not the same with transformers {transformers.__version__}: {' '.join(wrong)}")


if __name__ == "__main__":
    main()
