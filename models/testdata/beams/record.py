"""record.py: what generate of transformers 5.23.0 gives with the goldens of two stacks, written to beams.json beside it.

Run internal/bench/peers/python models/testdata/beams/record.py, after internal/bench/peers/setup.sh. Each case has the ids of a source,
the settings, and the ids of the target after decoder_start_token_id, which end with eos_token_id unless they reach max_new_tokens.
"""

import json
import os

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDENS = os.path.join(HERE, "..", "goldens")
NAMES = ["t5", "t5_v1_1", "mt5", "bart", "mbart", "pegasus", "m2m_100", "marian"]
ENDS = [2, 16, 17, 18, 21, 26, 32, 36, 38]
SETTINGS = [
    {"num_beams": 1}, {"num_beams": 1, "forced_bos_token_id": 7}, {"num_beams": 4}, {"num_beams": 4, "forced_bos_token_id": 7},
    {"num_beams": 4, "length_penalty": 0.0}, {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True},
    {"num_beams": 2, "length_penalty": -1.0}, {"num_beams": 5, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 4, "eos_token_id": ENDS},
    {"num_beams": 3, "eos_token_id": ENDS, "length_penalty": 2.0, "early_stopping": True},
    {"num_beams": 3, "eos_token_id": ENDS, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 2, "eos_token_id": ENDS, "length_penalty": -1.0}]


def main():
    cases = []
    for name in NAMES:
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            os.path.join(GOLDENS, name), dtype=torch.float32, attn_implementation="eager").eval()
        random = torch.Generator().manual_seed(len(name))
        for seed in range(2):
            ids = torch.randint(5, 48, (1, 5 + seed), generator=random)
            for settings in SETTINGS:
                out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8, output_scores=True,
                                     return_dict_in_generate=True, **settings)
                case = {"model": name, "source": ids[0].tolist(), "settings": settings, "target": out.sequences[0, 1:].tolist()}
                if settings["num_beams"] > 1:
                    case["score"] = round(out.sequences_scores[0].item(), 7)
                cases.append(case)
    with open(os.path.join(HERE, "beams.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


main()
