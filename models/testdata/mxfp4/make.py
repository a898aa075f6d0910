"""make.py: writes a random GPT-OSS whose experts are in MXFP4, as the published ones are, and its logits by transformers, into this folder.

    internal/bench/peers/python models/testdata/mxfp4/make.py

A second run gives the same bytes. transformers unpacks the experts by its own function, in float32.
"""

import json
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "goldens"))

import recording
import torch
import transformers as T
from safetensors.torch import save_file
from transformers.integrations.mxfp4 import _convert_moe_packed_tensors

OPTIONS = dict(
    vocab_size=48, hidden_size=64, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
    num_local_experts=4, num_experts_per_tok=2, sliding_window=5, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    rope_parameters=dict(rope_type="default", rope_theta=10000.0),
)


def main():
    model = recording.build(T.GptOssConfig, T.GptOssForCausalLM, OPTIONS, 9000)
    random = torch.Generator().manual_seed(9001)
    tensors = {}
    for name, p in model.state_dict().items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = p.contiguous()
            continue
        experts, inner, outer = p.shape
        blocks = torch.randint(0, 256, (experts, outer, inner // 32, 16), generator=random, dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, outer, inner // 32), generator=random, dtype=torch.uint8)
        tensors[name + "_blocks"], tensors[name + "_scales"] = blocks, scales
        p.copy_(_convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))
    save_file(tensors, os.path.join(FOLDER, "model.safetensors"))
    config = json.loads(model.config.to_json_string())
    config |= {"architectures": ["GptOssForCausalLM"], "quantization_config": {"quant_method": "mxfp4"}}
    with open(os.path.join(FOLDER, "config.json"), "w") as f:
        json.dump(config, f, indent=2, sort_keys=True)
        f.write("\n")
    ids = recording.token_ids(48)[:1]
    with torch.no_grad():
        logits = model(ids).logits
    save_file({"input_ids": ids.int(), "logits": logits}, os.path.join(FOLDER, "golden.safetensors"))


if __name__ == "__main__":
    main()
