"""record.py: what Inseq 0.7.1 says of models of two stacks, written to inseq.json beside it.

Run internal/bench/peers/python --v4 models/testdata/inseq/record.py, after internal/bench/peers/setup.sh. Inseq explains
the probability of each token of TARGET, which stands after decoder_start_token_id. Maps are [layers,targets,sources],
those of attention [layers,heads,targets,sources]; rows are those of the token that predicts. Rows of scorers have the
source and then the target before the token: the length of the gradient, and sums of products and of integrals over the
components of an embedding. What Inseq cannot do has the error in its place.
"""

import json
import os
import warnings

import inseq
import tokenizers
import torch
import transformers
from inseq.attr.feat.ops.value_zeroing import ValueZeroing

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["bart", "marian", "m2m_100", "mbart", "pegasus", "t5", "t5_v1_1"]
SOURCE, TARGET, UNKNOWN, END = [7, 21, 8, 30, 2], [11, 4, 19, 6], 1, 2
STEPS = 500  # of integrated gradients


def word_tokenizer(vocabulary):
    """One word for each id, none of which is the begin of another, so that text and ids say the same."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"[{i}]": i for i in range(vocabulary)}, unk_token=f"[{UNKNOWN}]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token=f"[{UNKNOWN}]", pad_token="[0]", eos_token=f"[{END}]")


def text(ids):
    return " ".join(f"[{i}]" for i in ids)


def attribute(model, method, **options):
    attribution = inseq.load_model(model, method, tokenizer=word_tokenizer(model.config.vocab_size), device="cpu")
    if model.config.model_type == "marian":  # whose decoder scales embeddings that Inseq has scaled once more
        model.get_decoder().embed_scale = 1.0
    out = attribution.attribute(
        text(SOURCE), text(TARGET), attribute_target=True, include_eos_baseline=True, show_progress=False, **options,
    ).sequence_attributions[0]
    got = [t.id for t in out.source], [t.id for t in out.target]
    if got != (SOURCE, [model.config.decoder_start_token_id] + TARGET):
        raise ValueError(f"Inseq explained other tokens than it was given: {got}")
    return out


def rounded(values):
    return [rounded(v) for v in values] if isinstance(values, list) else float(f"{values:.7g}")


def maps(out, encoder):
    """[sources,targets,layers,…] as [layers,…,targets,sources], without what comes after a target."""
    def turned(a):
        return rounded(a.permute(*range(2, a.dim()), 1, 0).nan_to_num(0).tolist())
    return {"encoder": turned(out.sequence_scores[encoder]), "cross": turned(out.source_attributions),
            "decoder": turned(out.target_attributions[: len(TARGET)])}


def rows(out, over=None):
    """A row of each target: the source, and the target before it."""
    both = torch.cat([out.source_attributions, out.target_attributions])
    both = over(both) if over else both
    return rounded([both[: len(SOURCE) + 1 + t, t].tolist() for t in range(len(TARGET))])


def total(x):
    return x.double().sum(-1)


# In float32, 1 - cos is off by more than the 1e-5 that is asked for.
ValueZeroing.SIMILARITY_METRICS["cosine"] = lambda x, y: torch.cosine_similarity(x.double(), y.double(), dim=-1)

METHODS = {
    "attention": lambda m: maps(attribute(m, "attention"), "encoder_self_attentions"),
    "value_zeroing": lambda m: maps(attribute(m, "value_zeroing"), "encoder_self_scores"),
    "saliency": lambda m: rows(attribute(m, "saliency"), lambda x: x.norm(dim=-1)),
    "input_x_gradient": lambda m: rows(attribute(m, "input_x_gradient"), total),
    "integrated_gradients": lambda m: rows(
        attribute(m, "integrated_gradients", n_steps=STEPS), total),
    "occlusion": lambda m: rows(attribute(m, "occlusion")),
}


def record(name):
    recorded = {}
    for method, of in METHODS.items():
        folder = os.path.join(HERE, "..", "goldens", name)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            folder, torch_dtype=torch.float32, attn_implementation="eager").eval()
        # transformers 4 does not read scale_decoder_outputs: it scales what goes into any head that is the table.
        model.config.tie_word_embeddings = getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings)
        try:
            recorded[method] = of(model)
        except Exception as e:  # whatever Inseq does not run
            recorded[method] = {"error": f"{type(e).__name__}: {e}"}
    return recorded


warnings.filterwarnings("ignore")
with open(os.path.join(HERE, "inseq.json"), "w") as f:
    models = ",\n".join(f'"{name}": {{\n' + ",\n".join(f' "{m}": {json.dumps(v)}' for m, v in record(name).items()) + "}"
                        for name in NAMES)
    f.write(f'{{"source": {SOURCE}, "target": {TARGET}, "unknown": {UNKNOWN}, "models": {{\n{models}}}}}\n')
