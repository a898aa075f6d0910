"""record.py: writes sentences.json and reference.safetensors beside itself; see README.md.

Run internal/bench/peers/setup.sh and internal/bench/peers/minilm.sh, then internal/bench/peers/python models/testdata/minilm/record.py.
"""

import json
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "..", ".cache", "minilm")

SENTENCES = [
    "The keys to the cabinet are on the table.",
    "Who has the lamp?",
    "Attention is not explanation, or is it?",
    "Naïve café owners in Zürich won't pay 3.50 € for crème brûlée.",
    "unaffable hyperparameterization of 1234567 neurons",
    "東京は今日も雨です。",
    "An emoji 🙂, a tab\tand   spaces.",
    "a",
]
ALL_HEADS = 2  # sentences with the attention of every head; the others have the mean over heads


def main():
    torch.set_num_threads(1)
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(MODEL, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    transformers.utils.logging.disable_progress_bar()
    model = transformers.BertModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32).eval()
    exact = transformers.BertModel.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float64).eval()
    tensors, entries, worst = {}, [], {"hidden": 0.0, "attention": 0.0}
    for i, text in enumerate(SENTENCES):
        encoded = tokenizer.encode(text)
        ids = torch.tensor([encoded.ids])
        entries.append({"text": text, "ids": encoded.ids, "tokens": encoded.tokens})
        with torch.no_grad():
            out = model(input_ids=ids, output_attentions=True)
            out64 = exact(input_ids=ids, output_attentions=True)
        hidden, attention = out.last_hidden_state[0], torch.stack(out.attentions)[:, 0]  # [T,D], [L,H,T,T]
        tensors[f"{i}.hidden"] = hidden.contiguous()
        tensors[f"{i}.pooled"] = out.pooler_output[0].contiguous()
        tensors[f"{i}.embedding"] = hidden.mean(0).contiguous()
        if i < ALL_HEADS:
            tensors[f"{i}.attention"] = attention.contiguous()
        else:
            tensors[f"{i}.attention-mean"] = attention.mean(1).contiguous()
        worst["hidden"] = max(worst["hidden"], (hidden - out64.last_hidden_state[0]).abs().max().item())
        worst["attention"] = max(worst["attention"], (attention - torch.stack(out64.attentions)[:, 0]).abs().max().item())
    save_file(tensors, os.path.join(HERE, "reference.safetensors"))
    with open(os.path.join(HERE, "sentences.json"), "w") as f:
        rows = ",\n ".join(json.dumps(e, ensure_ascii=False) for e in entries)
        f.write(f"[\n {rows}\n]\n")
    print({k: f"{v:.1e}" for k, v in worst.items()}, "from float64;", torch.__version__, transformers.__version__)


main()
