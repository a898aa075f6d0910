"""check_published.py [--write]: builds every checkpoint of models/testdata/published_configs.json without memory.

Parameters and tensors (the layer 0 of each stack only) are compared with the file, or written into it. Run with both versions
of transformers: internal/bench/peers/python and internal/bench/peers/python --v4. Version 4, whose names are those in published files,
writes.
"""

import json
import os
import re
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
import transformers

FILE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "models", "testdata", "published_configs.json")
V4 = transformers.__version__.startswith("4.")

# Parameters in millions that the model cards and papers give: what was written down from memory is right in its sizes.
KNOWN = {
    "openai-community/gpt2": 124.4, "distilbert/distilgpt2": 81.9, "bigscience/bloom-560m": 559.2, "tiiuae/falcon-rw-1b": 1311.6,
    "tiiuae/falcon-7b": 6921.7, "tiiuae/falcon-40b": 41303.3, "EleutherAI/pythia-70m": 70.4, "EleutherAI/pythia-1b": 1011.8,
    "EleutherAI/gpt-neox-20b": 20554.6, "facebook/opt-125m": 125.2, "facebook/opt-350m": 331.2, "meta-llama/Llama-2-7b-hf": 6738.4,
    "meta-llama/Meta-Llama-3-8B": 8030.3, "meta-llama/Llama-3.1-8B": 8030.3, "meta-llama/Llama-3.2-1B": 1235.8,
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": 1100.0, "mistralai/Mistral-7B-v0.1": 7241.7, "mistralai/Mistral-7B-v0.3": 7248.0,
    "Qwen/Qwen2-0.5B": 494.0, "Qwen/Qwen2.5-0.5B": 494.0, "Qwen/Qwen3-0.6B": 596.0, "google/gemma-2-2b": 2614.3,
    "google/gemma-3-1b-pt": 999.9, "google/gemma-3-270m": 268.1, "microsoft/Phi-3-mini-4k-instruct": 3821.1,
    "microsoft/Phi-3-mini-128k-instruct": 3821.1, "microsoft/Phi-4-mini-instruct": 3836.0, "google-bert/bert-base-uncased": 109.5,
    "FacebookAI/roberta-base": 124.7, "distilbert/distilbert-base-uncased-finetuned-sst-2-english": 67.0,
    "google/electra-small-discriminator": 13.5, "sentence-transformers/all-MiniLM-L6-v2": 22.7,
}


def built(config):
    """The model of a config on no device."""
    options = dict(config)
    model_type = options.pop("model_type")
    parsed = transformers.AutoConfig.for_model(model_type, **options)
    with torch.device("meta"):
        return getattr(transformers, config["architectures"][0])(parsed)


def describe(model):
    """How many parameters a model has, and the shapes of its tensors outside layers and in layer 0, tied heads left out."""
    tied = set()
    seen = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in seen:
            tied.add(name)
        seen[id(p)] = name
    tensors = {
        name: list(p.shape)
        for name, p in sorted(model.named_parameters())
        if name not in tied and not re.search(r"\.[1-9]\d*\.", name)
    }
    return sum(p.numel() for p in model.parameters()), tensors


def text(value):
    """JSON with one line for each key of a checkpoint's config and each tensor."""
    lines = json.dumps(value, indent=1)
    return re.sub(r"\[[^\[\]{}]*?\]", lambda m: re.sub(r"\s+", " ", m.group()).replace("[ ", "[").replace(" ]", "]"), lines)


def main():
    with open(FILE) as f:
        file = json.load(f)
    wrong = []
    for c in file["checkpoints"]:
        name = c["name"]
        if "refuse" in c:
            print(f"{name}: not built, {c['refuse']}")
            continue
        parameters, tensors = describe(built(c["config"]))
        if "--write" in sys.argv:
            c["parameters"], c["tensors"] = parameters, tensors
        if c["parameters"] != parameters or (V4 and c["tensors"] != tensors):
            wrong.append(f"{name}: {parameters} parameters, the file has {c['parameters']}")
        millions = KNOWN.get(name)
        if millions and abs(parameters / 1e6 - millions) > 0.005 * millions:
            wrong.append(f"{name}: {parameters / 1e6:.1f} million parameters, known to have {millions}")
        print(f"{name}: {parameters / 1e6:.1f} million")
    if "--write" in sys.argv:
        with open(FILE, "w") as f:
            f.write(text(file) + "\n")
    sys.exit("\n".join(wrong) or 0)


main()
