"""record.py: what transformers says of M2M100 with padding typed into the source, written to padding.json beside it.

Run internal/bench/peers/python models/testdata/padding/record.py, after internal/bench/peers/setup.sh. A tokenizer gives such a
token the attention mask 1, as it gives every token of a text. The numbers are the logits after the last token of TARGET, by
model and source.
"""

import json
import os

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = [7, 8]


def main():
    recorded = {"transformers": transformers.__version__, "target": TARGET, "models": {}}
    for name in ["m2m_100", "m2m_100_pad"]:
        model = transformers.M2M100ForConditionalGeneration.from_pretrained(os.path.join(HERE, "..", "goldens", name)).eval()
        pad, start = model.config.pad_token_id, model.config.decoder_start_token_id
        texts = []
        for source in [[5, 9, 12, 20, 2], [5, pad, 12, 20, 2], [pad, pad, 5, 2], [9, 12, pad]]:
            ids = torch.tensor([source])
            with torch.no_grad():
                logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), decoder_input_ids=torch.tensor([[start, *TARGET]])).logits
            texts.append({"source": source, "logits": [float(f"{x:.7g}") for x in logits[0, -1].tolist()]})
        recorded["models"][name] = texts
    with open(os.path.join(HERE, "padding.json"), "w", encoding="utf-8") as file:
        json.dump(recorded, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
