"""record.py: what Inseq and PyTorch say of an answer with and without a context, written to context.json beside it.

Run internal/bench/peers/python --v4 models/testdata/context/record.py, after internal/bench/peers/setup.sh. kl and entropy
are the step functions of Inseq 0.7.1, in float32; gain, surprisal and rank are PyTorch's in float64. Inseq's
attribute-context reads the text without the context as its first one, so that its kl_divergence is KL(q‖p); here the
text with the context is the first one.
"""

import json
import os

import inseq
import tokenizers
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
CONTEXT, CURRENT, ANSWER = [5, 9, 14, 3], [7, 21, 8, 30], [11, 4, 19, 2, 6]


def word_tokenizer(vocabulary):
    """One word for each id, so that text and ids say the same."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{i}": i for i in range(vocabulary)}, unk_token="w0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    last = f"w{vocabulary - 1}"
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="w0", pad_token="w0", eos_token=last, bos_token=last)


def text(ids):
    return " ".join(f"w{i}" for i in ids)


def record(name):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        os.path.join(HERE, "..", "goldens", name), torch_dtype=torch.float32, attn_implementation="eager").eval()
    model.config.bos_token_id = model.config.eos_token_id = model.config.vocab_size - 1  # Inseq wants some
    full = CONTEXT + CURRENT
    alignment = [(i, max(i - len(CONTEXT), 0)) for i in range(len(full + ANSWER))]
    scores = inseq.load_model(
        model, "dummy", tokenizer=word_tokenizer(model.config.vocab_size), device="cpu",
    ).attribute(
        text(full), text(full + ANSWER), step_scores=["kl_divergence", "entropy"], contrast_targets=text(CURRENT + ANSWER),
        contrast_targets_alignments=[alignment], show_progress=False,
    ).sequence_attributions[0].step_scores
    with torch.no_grad():
        model.double()
        p = model(torch.tensor([full + ANSWER])).logits[0, len(full) - 1:-1].log_softmax(-1)
        q = model(torch.tensor([CURRENT + ANSWER])).logits[0, len(CURRENT) - 1:-1].log_softmax(-1)
    own = torch.tensor(ANSWER)[:, None]
    return {
        "kl": scores["kl_divergence"].tolist(), "entropy": scores["entropy"].tolist(),
        "gain": (p - q).gather(1, own)[:, 0].tolist(), "surprisal": (-p.gather(1, own))[:, 0].tolist(),
        "rank": ((p > p.gather(1, own)).sum(1) + 1).tolist(),
    }


with open(os.path.join(HERE, "context.json"), "w") as out:
    json.dump({"context": CONTEXT, "current": CURRENT, "answer": ANSWER,
               "models": {name: record(name) for name in ["bloom", "gemma2", "gpt2", "llama", "qwen2"]}}, out, indent=1)
    out.write("\n")
