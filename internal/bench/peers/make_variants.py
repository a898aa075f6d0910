"""make_variants.py OUT SEED [PATTERN...]: checkpoints like the goldens, of other sizes, vocabularies, layouts and number types.

Writes OUT/FAMILY_KIND/{config.json, weights, golden.safetensors} for every family and each of its KINDS; equal seeds give equal
bytes. With a pattern only names that contain it. The output is for trying things: it is not committed.
"""

import json
import math
import os
import random
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "models", "testdata", "goldens"))

import recording
import torch
import transformers as T
from make_v4_configs import old_words
from safetensors.torch import load_file, save_file

POSITIONS = 64
LOGITS_TOLERANCE = 1e-5  # of the recording against float64; more means that the checkpoint is badly conditioned


class Draw:
    """The sizes of one checkpoint."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.random = r
        self.heads = r.choice([1, 2, 3, 6, 12])
        self.groups = r.choice([g for g in range(1, self.heads + 1) if self.heads % g == 0])
        self.head_width = r.choice([4, 6, 8, 10, 16])
        self.width = self.heads * self.head_width
        self.forward = self.width * 2 + r.choice([0, 2, 10])
        self.layers = r.choice([1, 2, 3])
        self.vocabulary = r.randint(50, 500)
        self.tokens = r.choice([7, 9, 13, 17, 31])
        self.batch = r.choice([2, 3])

    def specials(self):
        return dict(vocab_size=self.vocabulary, pad_token_id=0, bos_token_id=1, eos_token_id=2)

    def llama(self, **options):
        return dict(
            dict(
                hidden_size=self.width, intermediate_size=self.forward, num_hidden_layers=self.layers,
                num_attention_heads=self.heads, num_key_value_heads=self.groups, max_position_embeddings=POSITIONS,
                tie_word_embeddings=self.random.random() < 0.5, **self.specials()),
            **options)

    def other_head_width(self):
        """A head that is not the width divided by the heads."""
        return self.random.choice([w for w in (4, 8, 12, 20) if w != self.head_width])

    def encoder(self, **options):
        return dict(
            dict(
                vocab_size=self.vocabulary, hidden_size=self.width, intermediate_size=self.forward,
                num_hidden_layers=self.layers, num_attention_heads=self.heads, max_position_embeddings=POSITIONS,
                pad_token_id=0, num_labels=self.random.choice([2, 3, 5])),
            **options)


def gpt2(d):
    return T.GPT2Config, T.GPT2LMHeadModel, dict(
        n_layer=d.layers, n_head=d.heads, n_embd=d.width, n_positions=POSITIONS, n_inner=d.random.choice([None, d.forward]),
        tie_word_embeddings=d.random.random() < 0.7, scale_attn_by_inverse_layer_idx=d.random.random() < 0.3,
        activation_function=d.random.choice(["gelu_new", "gelu", "relu"]), **d.specials())


def bloom(d):
    return T.BloomConfig, T.BloomForCausalLM, dict(hidden_size=d.width, n_layer=d.layers, n_head=d.heads, **d.specials())


def falcon_options(d, **options):
    return T.FalconConfig, T.FalconForCausalLM, dict(
        dict(hidden_size=d.width, num_hidden_layers=d.layers, num_attention_heads=d.heads, bias=d.random.random() < 0.5,
             ffn_hidden_size=d.random.choice([None, d.forward]), **d.specials()), **options)


def falcon_rw(d):
    return falcon_options(d, alibi=True, parallel_attn=False, multi_query=False, new_decoder_architecture=False)


def falcon_7b(d):
    return falcon_options(d, alibi=False, parallel_attn=d.random.random() < 0.7, multi_query=True, new_decoder_architecture=False)


def falcon_40b(d):
    return falcon_options(d, alibi=False, new_decoder_architecture=True, num_kv_heads=d.groups,
                          num_ln_in_parallel_attn=d.random.choice([None, 1, 2]))


def gpt_neox(d):
    d.head_width = 16 if d.heads < 12 else 8
    d.width, d.forward = d.heads * d.head_width, 2 * d.heads * d.head_width
    return T.GPTNeoXConfig, T.GPTNeoXForCausalLM, dict(
        hidden_size=d.width, intermediate_size=d.forward, num_hidden_layers=d.layers, num_attention_heads=d.heads,
        max_position_embeddings=POSITIONS, tie_word_embeddings=d.random.random() < 0.3, attention_bias=d.random.random() < 0.7,
        use_parallel_residual=d.random.random() < 0.7, hidden_act=d.random.choice(["gelu", "gelu_fast"]),
        rope_parameters=dict(rope_type="default", rope_theta=d.random.choice([1e4, 2.5e4]),
                             partial_rotary_factor=d.random.choice([0.25, 0.5, 1.0])), **d.specials())


def opt(d):
    before = d.random.random() < 0.5
    return T.OPTConfig, T.OPTForCausalLM, dict(
        hidden_size=d.width, ffn_dim=d.forward, num_hidden_layers=d.layers, num_attention_heads=d.heads,
        max_position_embeddings=POSITIONS, do_layer_norm_before=before, enable_bias=d.random.random() < 0.8,
        word_embed_proj_dim=d.random.choice([d.width, 12]), dropout=0.0, **d.specials())


def llama(d):
    rope = d.random.choice([
        dict(rope_type="default"), dict(rope_type="linear", factor=2.5),
        dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16),
        dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)])
    return T.LlamaConfig, T.LlamaForCausalLM, d.llama(
        attention_bias=d.random.random() < 0.4, mlp_bias=d.random.random() < 0.4, head_dim=d.other_head_width(),
        rope_parameters=dict(rope, rope_theta=d.random.choice([1e4, 5e5])), rms_norm_eps=d.random.choice([1e-5, 1e-6]))


def mistral(d):
    return T.MistralConfig, T.MistralForCausalLM, d.llama(
        sliding_window=d.random.choice([None, 1, 3, 8, 100]), head_dim=d.random.choice([None, d.other_head_width()]))


def qwen2(d):
    return T.Qwen2Config, T.Qwen2ForCausalLM, d.llama(
        use_sliding_window=d.random.random() < 0.6, sliding_window=4, max_window_layers=d.random.choice([0, 1, 2]),
        num_hidden_layers=3)


def qwen3(d):
    return T.Qwen3Config, T.Qwen3ForCausalLM, d.llama(head_dim=d.other_head_width(), attention_bias=d.random.random() < 0.5)


def phi3(d):
    d.head_width = 8
    d.width, d.forward = d.heads * 8, d.heads * 16
    original = d.random.choice([None, 8, POSITIONS])
    part = d.random.choice([0.5, 1.0])
    rope = dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=part)
    options = d.llama(sliding_window=d.random.choice([None, 5]))
    if original:
        n = int(8 * part) // 2
        rope.update(rope_type="longrope", short_factor=[1.0 + 0.1 * i for i in range(n)],
                    long_factor=[1.0 + 1.7 * i for i in range(n)], original_max_position_embeddings=original)
        options["original_max_position_embeddings"] = original
    return T.Phi3Config, T.Phi3ForCausalLM, dict(options, rope_parameters=rope)


def gemma2(d):
    return T.Gemma2Config, T.Gemma2ForCausalLM, d.llama(
        head_dim=d.other_head_width(), sliding_window=d.random.choice([3, 6]), query_pre_attn_scalar=d.random.choice([8, 24]),
        attn_logit_softcapping=d.random.choice([None, 5.0]), final_logit_softcapping=d.random.choice([None, 10.0]),
        tie_word_embeddings=True, num_hidden_layers=2)


def gemma3(d):
    kinds = ["full_attention", "sliding_attention"]
    layers = kinds + [d.random.choice(kinds)]
    d.random.shuffle(layers)
    full = d.random.choice([dict(rope_type="default"), dict(rope_type="linear", factor=8.0)])
    return T.Gemma3TextConfig, T.Gemma3ForCausalLM, d.llama(
        head_dim=d.other_head_width(), sliding_window=d.random.choice([3, 6]), query_pre_attn_scalar=d.random.choice([8, 24]),
        num_hidden_layers=3, layer_types=layers, tie_word_embeddings=True,
        rope_parameters=dict(full_attention=dict(full, rope_theta=1e6), sliding_attention=dict(rope_type="default", rope_theta=1e4)))


def bert(d):
    return T.BertConfig, d.random.choice([T.BertForMaskedLM, T.BertForSequenceClassification, T.BertModel]), d.encoder(
        hidden_act=d.random.choice(["gelu", "gelu_new", "relu"]))


def roberta(d):
    return T.RobertaConfig, d.random.choice([T.RobertaForMaskedLM, T.RobertaForSequenceClassification, T.RobertaModel]), d.encoder(
        pad_token_id=1, type_vocab_size=1, layer_norm_eps=1e-5)


def distilbert(d):
    model = d.random.choice([T.DistilBertForMaskedLM, T.DistilBertForSequenceClassification, T.DistilBertModel])
    return T.DistilBertConfig, model, dict(
        vocab_size=d.vocabulary, dim=d.width, hidden_dim=d.forward, n_layers=d.layers, n_heads=d.heads,
        max_position_embeddings=POSITIONS, pad_token_id=0, num_labels=d.random.choice([2, 4]))


def electra(d):
    model = d.random.choice([T.ElectraForMaskedLM, T.ElectraForSequenceClassification, T.ElectraForPreTraining, T.ElectraModel])
    return T.ElectraConfig, model, d.encoder(embedding_size=d.random.choice([d.width, 12]))


FAMILIES = [gpt2, bloom, falcon_rw, falcon_7b, falcon_40b, gpt_neox, opt, llama, mistral, qwen2, qwen3, phi3, gemma2, gemma3,
            bert, roberta, distilbert, electra]


# How a checkpoint is stored. Each takes (model, folder) and returns the class that opens it.


def f32(model, folder):
    model.save_pretrained(folder)
    return type(model)


def f16(model, folder):
    return f32(model.to(torch.float16), folder)


def bf16(model, folder):
    return f32(model.to(torch.bfloat16), folder)


def sharded(model, folder):
    model.save_pretrained(folder, max_shard_size="25KB")
    return type(model)


def old(model, folder):
    """As older versions wrote it: config in their words, a tied head stored too, buffers beside the weights, gamma and beta."""
    f32(model, folder)
    edit_config(folder, lambda c: {
        **old_words({k: v for k, v in c.items() if k != "dtype"}, c["model_type"]),
        "torch_dtype": "float32", "transformers_version": "4.28.1"})
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    embedding, head = model.get_input_embeddings(), getattr(model, "lm_head", None)
    if head is not None and getattr(head, "weight", None) is embedding.weight:
        name = "embed_out.weight" if model.config.model_type == "gpt_neox" else "lm_head.weight"
        tensors[name] = embedding.weight.detach().clone()
    tensors |= buffers(model)
    save_file({k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
               for k, v in tensors.items()}, path, metadata={"format": "pt"})
    return type(model)


def buffers(model):
    """The tensors without parameters that older files carry."""
    c = model.config
    causal = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).tril()[None, None]
    layers = range(c.num_hidden_layers)
    if c.model_type == "gpt2":
        return {f"transformer.h.{l}.attn.bias": causal.clone() for l in layers}
    if c.model_type == "gpt_neox":
        return {f"gpt_neox.layers.{l}.attention.{k}": v.clone() for l in layers for k, v in (
            ("bias", causal), ("masked_bias", torch.tensor(-1e9)), ("rotary_emb.inv_freq", torch.ones(2)))}
    if c.model_type == "llama":
        return {f"model.layers.{l}.self_attn.rotary_emb.inv_freq": torch.ones(c.head_dim // 2) for l in layers}
    if c.model_type in ("bert", "roberta", "electra"):
        prefix = "" if type(model).__name__.endswith("Model") else c.model_type + "."
        return {prefix + "embeddings.position_ids": torch.arange(POSITIONS)[None]}
    return {}


def base(model, folder):
    """Without the prefix of the head: a tied decoder as the model alone, whose config still names the head; else a bare model."""
    if hasattr(model, "lm_head"):
        if model.lm_head.weight is not model.get_input_embeddings().weight:
            return None
        model.base_model.save_pretrained(folder)
        edit_config(folder, lambda c: {**c, "architectures": [type(model).__name__]})
        return type(model)
    f32(model.base_model, folder)
    return type(model.base_model)


def prefixed(model, folder):
    """The whole model's file under a config that names the bare one: encoders only."""
    if model.base_model is model or hasattr(model, "lm_head") and "Roberta" not in type(model).__name__:
        return None
    f32(model, folder)
    edit_config(folder, lambda c: {**c, "architectures": [type(model.base_model).__name__]})
    return type(model.base_model)


KINDS = [f32, f16, bf16, sharded, old, base, prefixed]


def edit_config(folder, change):
    path = os.path.join(folder, "config.json")
    with open(path) as f:
        config = change(json.load(f))
    with open(path, "w") as f:
        json.dump(config, f, indent=2)


def has_pooler(folder):
    files = [f for f in os.listdir(folder) if f.endswith(".safetensors") and f.startswith("model")]
    return any("pooler" in key for f in files for key in load_file(os.path.join(folder, f)))


def make(folder, seed, family, store):
    """Writes one checkpoint with its golden; returns a line that says what it is, or None if the kind is not for this model."""
    d = Draw(f"{seed}/{family.__name__}/{store.__name__}")
    config_class, model_class, options = family(d)
    deviation = 0.2 * math.sqrt(32 / max(32, d.width))
    model = recording.build(config_class, model_class, options, d.random.randrange(1 << 30), deviation)
    shutil.rmtree(folder, ignore_errors=True)
    opened_by = store(model, folder)
    if opened_by is None:
        return None
    reopened = recording.load(opened_by, folder)
    ids = recording.token_ids(d.vocabulary, d.batch, d.tokens)
    tensors = recording.record(reopened, ids)
    if not has_pooler(folder):  # then transformers makes one up
        tensors = {k: v for k, v in tensors.items() if not k.endswith("pooled")}
    recording.save(folder, tensors)
    worst = recording.compare(opened_by, folder, ids, tensors)
    bad = "" if max(worst.values()) <= LOGITS_TOLERANCE else "  BADLY CONDITIONED"
    return (f"{opened_by.__name__}  L={reopened.config.num_hidden_layers} H={d.heads} D={d.width} V={d.vocabulary} B={d.batch} T={d.tokens}  "
            + " ".join(f"{k} {v:.0e}" for k, v in worst.items()) + bad)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out, seed, patterns = sys.argv[1], sys.argv[2], sys.argv[3:]
    for family in FAMILIES:
        for store in KINDS:
            name = f"{family.__name__}_{store.__name__}"
            if patterns and not any(p in name for p in patterns):
                continue
            line = make(os.path.join(out, name), seed, family, store)
            if line:
                print(f"{name}  {line}", flush=True)


if __name__ == "__main__":
    main()
