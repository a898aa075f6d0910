"""What a golden is: a checkpoint of random weights, and what transformers computes on it in float32.

Shapes: B batch, T tokens, D width, V vocabulary, H heads. make_goldens.py and internal/bench/peers/make_variants.py use it.
"""

import inspect
import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import torch
import transformers
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()

# Model types whose stacks have an embedding each if tie_word_embeddings is false.
UNTIED = ("bart", "bigbird_pegasus", "blenderbot", "led", "m2m_100", "marian", "mbart", "mvp", "pegasus", "plbart")

NEW_TOKENS = 6  # of the greedy continuation


def build(config_class, model_class, options, seed, deviation=0.2):
    """A model with random parameters; gains of norms lie around 1 (Gemma's, which are 1+w, around 0)."""
    torch.manual_seed(0)
    config = config_class(**options)
    config._attn_implementation = "eager"
    model = model_class(config).eval()
    random = torch.Generator().manual_seed(seed)
    gains_around_zero = any(name in model_class.__name__ for name in ("Gemma", "Nemotron"))
    with torch.no_grad():
        for name, p in model.named_parameters():  # tied parameters come once
            gain = p.ndim == 1 and name.endswith("weight") and not gains_around_zero
            p.copy_(torch.randn(p.shape, generator=random) * deviation + (1.0 if gain else 0.0))
        for name, p in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                p.copy_(torch.randn(p.shape, generator=random) * deviation)
    return model


def load(model_class, folder, attention="eager", dtype=torch.float32):
    """The checkpoint again, as a user of transformers loads it."""
    model = model_class.from_pretrained(folder, attn_implementation=attention, dtype=dtype).eval()
    model.config._experts_implementation = "eager"  # the default has no float64
    return without_second_alibi(model)


def without_second_alibi(model):
    """Eager Falcon adds ALiBi in the mask and again in the block (transformers 4.47 to 5.23): drop the second."""
    if getattr(model.config, "model_type", "") == "falcon" and model.config.alibi:

        def drop(module, args, kwargs):
            kwargs["alibi"] = torch.zeros_like(kwargs["alibi"])
            return args, kwargs

        for block in model.transformer.h:
            block.self_attention.register_forward_pre_hook(drop, with_kwargs=True)
    return model


def token_ids(vocabulary, batch=2, tokens=12):
    """Ids [B,T] without the specials 0 to 4."""
    random = torch.Generator().manual_seed(7)
    return torch.randint(5, vocabulary, (batch, tokens), generator=random)


def is_decoder(model):
    return not any(name in type(model).__name__ for name in ("Bert", "bert", "Electra", "MPNet", "EncoderModel"))


def reads_last(model):
    """Whether a head reads the whole text at its last token that is not padding."""
    return is_decoder(model) and "ForSequenceClassification" in type(model).__name__


def record(model, ids, types=False, greedy_cache=True):
    """The tensors of golden.safetensors; README.md says what they are. types asks for a pass with two token types."""
    decoder = is_decoder(model) and not two_stacks(model)
    everything = torch.ones_like(ids)
    out = {"input_ids": ids.to(torch.int32)}
    forward(model, ids, everything, out, "")

    padded = everything.clone()
    positions = {}
    if decoder:
        padded[1, :4] = 0
        if "position_ids" in inspect.signature(model.forward).parameters:
            positions["position_ids"] = (padded.cumsum(-1) - 1).clamp(min=0)
    else:
        padded[1, -4:] = 0
    out["padmask"] = padded.to(torch.int32)
    forward(model, ids, padded, out, "pad.", **positions)

    if types:
        second = everything.clone()
        second[:, : ids.shape[1] // 2] = 0
        out["token_type_ids"] = second.to(torch.int32)
        forward(model, ids, everything, out, "types.", token_type_ids=second)
    if generates(model):
        out["greedy"] = greedy(model, ids, min_new_tokens=NEW_TOKENS, use_cache=greedy_cache).to(torch.int32)
    return out


def generates(model):
    return any(name in type(model).__name__ for name in ("CausalLM", "LMHead", "ConditionalGeneration", "MTModel"))


def greedy(model, ids, **options):
    """The ids of row 0 and those that follow."""
    if two_stacks(model):
        return greedy_joint(model, ids[:1], ends="min_new_tokens" not in options)
    with torch.no_grad():
        return model.generate(
            ids[:1], attention_mask=torch.ones_like(ids[:1]), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0, **options)


def ends_early(model, ids):
    """Whether greedy decoding reaches the end of the text, which is forbidden in the recording."""
    return generates(model) and 2 in greedy(model, ids, use_cache=False)[0, ids.shape[1]:]


def two_stacks(model):
    return model.config.is_encoder_decoder and "EncoderModel" not in type(model).__name__


def vocabularies(config):
    """How many ids a target has, and how many there are: those of a source with a vocabulary of its own follow the target's."""
    untied = config.model_type in UNTIED and not config.tie_word_embeddings
    separate = not getattr(config, "share_encoder_decoder_embeddings", True)
    if not untied and not separate:
        return config.vocab_size, config.vocab_size
    targets = config.decoder_vocab_size if separate else config.vocab_size
    return targets, targets + config.vocab_size


def joint(model, ids):
    """One text of a model of two stacks, the source, the boundary and the target: hidden states, attentions and logits of all of it,
    with a layer for each attention. What a layer does not touch stays; README.md says more."""
    targets, every = vocabularies(model.config)
    at = ids.tolist().index(every)
    source, target = ids[None, :at] - (targets if every > targets else 0), ids[None, at:].clone()
    target[0, 0] = model.config.decoder_start_token_id
    body = getattr(model, "model", getattr(model, "led", model))
    blocks = [getattr(s, "block", getattr(s, "layers", None)) for s in (body.encoder, body.decoder)]
    caught = {}

    def catch(name):
        return lambda module, args, out: caught.__setitem__(name, out[0] if isinstance(out, tuple) else out)

    def catch_input(name):
        return lambda module, args, kwargs: caught.__setitem__(name, args[0] if args else kwargs["hidden_states"])

    hooks = []
    for i, block in enumerate(blocks[0]):
        hooks.append(block.register_forward_hook(catch(("encoder", i))))
    for i, block in enumerate(blocks[1]):
        hooks.append(block.register_forward_hook(catch(("decoder", i))))
        if hasattr(block, "layer"):
            hooks.append(block.layer[0].register_forward_hook(catch(("self", i))))
        else:
            hooks.append(block.encoder_attn.register_forward_pre_hook(catch_input(("self", i)), with_kwargs=True))
            hooks.append(block.encoder_attn_layer_norm.register_forward_pre_hook(catch_input(("norm", i)), with_kwargs=True))
    with torch.no_grad():
        result = model(input_ids=source, decoder_input_ids=target, output_attentions=True, output_hidden_states=True)
    for hook in hooks:
        hook.remove()
    stacks = [(result.encoder_hidden_states[0][:, :at], result.decoder_hidden_states[0])]
    for i in range(len(blocks[0])):
        stacks.append((caught["encoder", i][:, :at], stacks[-1][1]))  # LED has padding after it
    long = model.config.model_type == "bigbird_pegasus"  # whose last norm has the name of one of the embedding
    norms_before = hasattr(blocks[1][0], "layer") or hasattr(body.decoder, "layer_norm") or long
    for i in range(len(blocks[1])):
        between = caught["self" if hasattr(blocks[1][0], "layer") or not norms_before else "norm", i]
        stacks += [(stacks[-1][0], between), (stacks[-1][0], caught["decoder", i])]
    hidden = [torch.cat(pair, 1) for pair in stacks]
    final = getattr(body.decoder, "final_layer_norm", getattr(body.decoder, "layernorm_embedding" if long else "layer_norm", None))
    with torch.no_grad():
        if final is not None:
            hidden[-1] = final(hidden[-1])
        always = transformers.__version__.startswith("4.") or model.config.model_type == "umt5"
        always = always or model.config.model_type == "switch_transformers" and model.config.tie_word_embeddings
        scaled = getattr(model.config, "scale_decoder_outputs", always)
        scale = model.model_dim**-0.5 if scaled and hasattr(model, "model_dim") else 1.0
        logits = model.lm_head(hidden[-1] * scale) + getattr(model, "final_logits_bias", 0.0)
    assert (logits[:, at:] - result.logits).abs().max() < 1e-5
    attentions = []

    def place(attention, row, column):
        whole = torch.eye(len(ids), dtype=attention.dtype).repeat(1, attention.shape[1], 1, 1)
        whole[:, :, row : row + attention.shape[2]] = 0
        whole[:, :, row : row + attention.shape[2], column : column + attention.shape[3]] = attention
        attentions.append(whole)

    for a in result.encoder_attentions:
        if model.config.model_type == "led":  # columns are distances, from half a window before to half a window after
            a = torch.stack([a[:, :, i, a.shape[3] // 2 - i :][:, :, :at] for i in range(at)], 2)
        place(a, 0, 0)
    for a, x in zip(result.decoder_attentions, result.cross_attentions):
        place(a, at, at)
        place(x, at, 0)
    return hidden, attentions, logits


def forward_joint(model, ids, mask, out, prefix):
    """forward for a model of two stacks: each text alone, because their boundaries differ."""
    for i, (row, real) in enumerate(zip(ids, mask)):
        hidden, attentions, logits = joint(model, row[: real.sum()])
        parts = {f"hidden.{l}": h for l, h in enumerate(hidden)} | {f"attn.{l}": a for l, a in enumerate(attentions)}
        for name, part in (parts | {"logits": logits}).items():
            shape = list(part.shape)
            for axis in range(1 + name.startswith("attn"), len(shape) - (not name.startswith("attn"))):
                shape[axis] = ids.shape[1]
            whole = out.setdefault(prefix + name, torch.zeros([len(ids)] + shape[1:], dtype=part.dtype))
            whole[i][tuple(slice(n) for n in part.shape[1:])] = part[0]


def greedy_joint(model, ids, ends=False):
    """greedy for a model of two stacks: the most probable token, but id 2 only if it may end, each after a whole pass."""
    for _ in range(NEW_TOKENS):
        scores = joint(model, ids[0])[2][0, -1]
        if not ends:
            scores[2] = -torch.inf
        ids = torch.cat([ids, scores.argmax().reshape(1, 1)], 1)
    return ids


def forward(model, ids, mask, out, prefix, **inputs):
    """One pass; its results go to out under the prefix."""
    if two_stacks(model):
        return forward_joint(model, ids, mask, out, prefix)
    with torch.no_grad():
        result = model(input_ids=ids, attention_mask=mask, output_attentions=True, output_hidden_states=True, **inputs)
    if "start_logits" in result:
        result["logits"] = torch.stack([result["start_logits"], result["end_logits"]], -1)
    for key, name in (("logits", "logits"), ("pooler_output", "pooled")):
        if result.get(key) is not None:
            out[prefix + name] = result[key].float().contiguous()
    for l, a in enumerate(result.attentions):
        out[f"{prefix}attn.{l}"] = a.float().contiguous()
    for l, h in enumerate(result.hidden_states):
        out[f"{prefix}hidden.{l}"] = h.float().contiguous()


def compare(model_class, folder, ids, out):
    """The worst difference of the recording from float64, of any attention, logits or last hidden state, and from sdpa."""
    if "XGLM" in model_class.__name__:  # its mask is not defined in float64
        return {}
    exact = {}
    forward(load(model_class, folder, dtype=torch.float64), ids, torch.ones_like(ids), exact, "")
    last = "logits" if "logits" in out else max(k for k in exact if k.startswith("hidden"))
    attention = max((exact[k] - out[k]).abs().max().item() for k in exact if k.startswith("attn"))
    if (ids >= model_class.config_class.from_pretrained(folder).vocab_size).any():  # two stacks
        return {last: (exact[last] - out[last]).abs().max().item(), "attention": attention}
    result = {last: (exact[last] - out[last]).abs().max().item(), "attention": attention}
    try:
        other = load(model_class, folder, attention="sdpa")
    except ValueError:  # no such path for this architecture
        return result
    with torch.no_grad():
        sdpa = other(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    if "start_logits" in sdpa:
        sdpa["logits"] = torch.stack([sdpa["start_logits"], sdpa["end_logits"]], -1)
    value = sdpa.logits if last == "logits" else sdpa.hidden_states[-1]
    result["sdpa"] = (value - out[last]).abs().max().item()
    return result


def save(folder, out):
    save_file(out, os.path.join(folder, "golden.safetensors"))
