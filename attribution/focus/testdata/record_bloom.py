"""Records what a BLOOM model's attention is made of, by PyTorch alone.

    internal/bench/peers/python attribution/focus/testdata/record_bloom.py \
        models/testdata/goldens/bloom 5,6,7,8,9,10,11,12,40,41 \
        attribution/focus/testdata/bloom.safetensors

The tensors have the names that headwater focus --input reads. A second run gives the same bytes.
"""

import json
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

path, given, out_path = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager")
ids = torch.tensor([[int(x) for x in given.split(",")]])
T, H, D = ids.shape[1], model.config.n_head, model.config.hidden_size
E, seen = D // H, []
for block in model.transformer.h:
    block.self_attention.query_key_value.register_forward_hook(
        lambda m, args, out: seen.append((m, out[0].view(T, H, 3, E))))
with torch.no_grad():
    out = model(ids, output_attentions=True, output_hidden_states=True)
    alibi = build_alibi_tensor(torch.ones_like(ids), H, torch.float32).view(H, 1, T)
    terms, value = [], []
    for m, fused in seen:
        q, k, v = fused.transpose(0, 1).unbind(2)  # [H,T,E] each
        bias = m.bias.view(H, 3, E)[:, :1]  # of the query, [H,1,E]
        content, query_bias = [x @ k.transpose(1, 2) / E**0.5 for x in (q - bias, bias)]
        terms.append(torch.stack([x.expand(H, T, T) for x in (content, query_bias, alibi)], 1))
        value.append(v)
weight = [b.self_attention.dense.weight.detach().T.reshape(H, E, D) for b in model.transformer.h]
tensors = {
    "terms": torch.stack(terms),  # [L,H,3,T,T]
    "value": torch.stack(value),  # [L,H,T,E]
    "attention": torch.stack(out.attentions)[:, 0],  # [L,H,T,T]
    "output-weight": torch.stack(weight),  # [L,H,E,D]
    "hidden": torch.stack(out.hidden_states[:-1])[:, 0],  # [L,T,D]; the last one is after ln_f
}
about = {"ids": ids[0].tolist(), "torch": torch.__version__,
         "transformers": transformers.__version__}
save_file({k: x.float().contiguous() for k, x in tensors.items()}, out_path,
          {"recorded": json.dumps(about)})  # one key, since the order of several is not fixed
