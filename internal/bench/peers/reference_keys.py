"""Writes models/family/reference.tsv: which keys of config.json transformers reads, by model_type.

    internal/bench/peers/python internal/bench/peers/reference_keys.py > models/family/reference.tsv

A row is a model_type (* for every one), a key, what reads it, and its default as JSON:

    computes  code that changes numbers in evaluation reads it
    no        only code that changes none, or no code, reads it
    =NAME     another name of the key NAME

Names are taken from the source of the configuration and of the model by ast; a key that no row has
is not read. The rows of model_type "rope KIND" are the keys of rope_parameters for that rope_type.
"""

import ast
import dataclasses
import importlib
import inspect
import json
import sys
import textwrap

import transformers
from transformers import GenerationConfig, PreTrainedConfig, masking_utils, modeling_layers
from transformers import modeling_rope_utils, modeling_utils
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TYPES = """albert apertus bert bloom camembert codegen cohere cohere2 deberta-v2 distilbert electra exaone4 falcon gemma gemma2 gemma3_text glm glm4
gpt2 gpt_neo gpt_neox gptj gpt_bigcode granite granitemoehybrid llama ministral3 mistral modernbert mpnet mpt nemotron olmo olmo2 olmo3 opt phi phi3 qwen2 qwen2_5_vl_text qwen2_vl_text
qwen3 qwen3_vl_text roberta seed_oss
smollm3 stablelm starcoder2 xglm xlm-roberta
gpt_oss granitemoe mixtral olmoe qwen2_moe qwen3_moe
deepseek_v2 deepseek_v3 glm4_moe
bart bigbird_pegasus blenderbot led m2m_100 marian mbart mt5 mvp pegasus plbart switch_transformers t5 umt5""".split()

# Keys that evaluating code reads and that change no number there.
NO_NUMBER = {
    "_attn_implementation": "which of several equal implementations of attention runs",
    "_experts_implementation": "the same for experts",
    "attn_implementation": "the name of _attn_implementation in the file",
    "experts_implementation": "the name of _experts_implementation in the file",
    "chunk_size_feed_forward": "the feed-forward part runs in pieces, with equal numbers",
    "dtype": "how the reference stores weights; the file of weights has its own",
    "torch_dtype": "the old name of dtype",
    "gemma3_text.attn_logit_softcapping": "kept and not applied",
    "gradient_checkpointing": "the memory of training",
    "fusion_config": "faster code for the same arithmetic",
    "is_encoder_decoder": "how generation calls the model; no class here reads it in a pass",
    "label2id": "the inverse of id2label",
    "output_attentions": "what is returned",
    "output_hidden_states": "what is returned",
    "output_router_logits": "what is returned",
    "pad_token_id": "the row of the table that is not trained; RoBERTa's is read here",
    "pretraining_tp": "the same products in pieces",
    "problem_type": "the loss; a head that reads it, reads it here",
    "reorder_and_upcast_attn": "the order of roundings in float16",
    "return_dict": "what is returned",
    "router_aux_loss_coef": "a loss",
    "router_z_loss_coef": "another one",
    "switch_transformers.router_ignore_padding_tokens": "kept and not applied",
    "mvp.prompt_length": "the size of what use_prompt adds, which is refused",
    "mvp.prompt_mid_dim": "the same",
    "router_jitter_noise": "noise in training",
    "sep_token_id": "where warnings look for padding",
    "slow_but_exact": "the same products in pieces",
    "tie_last_hidden_states": "which hidden state is returned last; here always the normed one",
    "use_cache": "what is kept between passes",
}

# Keys that loading reads, in many places.
READ_WHILE_LOADING = ("architectures", "auto_map", "model_type", "sep_token_id")

# Keys of every model that decide how weights are stored or which there are.
COMPUTES = ("per_layer_config", "quantization_config", "transformers_weights")

# Classes of heads that no family here has, so that the keys that only they read are not read.
OTHER_HEADS = ("DoubleHeads", "MultipleChoice", "NextSentence", "SequenceSummary", "MTP", "Mtp")

# Parts of the names of functions that no forward pass in evaluation calls.
OTHER_FUNCTIONS = ("init", "loss", "generation", "flops", "flos", "enable", "save", "push_to_hub",
                   "get_candidates", "resize", "prune", "can_", "kernel", "warn", "tp_", "quanti",
                   "load_", "mtp", "compile", "set_")


def tree(thing):
    """The syntax tree of a module, class or function, with parents."""
    root = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    for node in ast.walk(root):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    return root


def text(node):
    return ast.unparse(node)


def above(node):
    while hasattr(node, "parent"):
        node = node.parent
        yield node


def is_config(node):
    name = text(node)
    return name.endswith("config") and "generation" not in name and "quant" not in name


def reads(root):
    """All reads of an attribute of a configuration, as (name, node). The node of a read by name is
    a call, of getattr or hasattr: it finds keys that the class has no field for, too."""
    for node in ast.walk(root):
        if isinstance(node, ast.Attribute) and is_config(node.value):
            if isinstance(node.ctx, ast.Load):
                yield node.attr, node
        elif (isinstance(node, ast.Call) and text(node.func) in ("getattr", "hasattr")
              and len(node.args) > 1 and is_config(node.args[0])
              and isinstance(node.args[1], ast.Constant)):
            yield node.args[1].value, node


def computes(node):
    """Whether a read can change a number in evaluation: not one of dropout, of a loss, of the
    first values of weights, or of a head that is not opened."""
    if "drop" in text(node):
        return False
    for up in above(node):
        if isinstance(up, ast.Call) and "loss" in text(up.func):
            return False
        if isinstance(up, ast.If) and ("labels" in text(up.test)
                                       or isinstance(up.body[0], ast.Raise)):
            return False
        if isinstance(up, ast.FunctionDef):
            if up.name != "__init__" and any(word in up.name for word in OTHER_FUNCTIONS):
                return False
        if isinstance(up, ast.ClassDef) and any(word in up.name for word in OTHER_HEADS):
            return False
    return True


def read_by_code(root, by_name=False):
    """The names that code reads, with whether one of the reads computes."""
    found = {}
    for name, node in reads(root):
        if not by_name or isinstance(node, ast.Call):
            found[name] = found.get(name, False) or computes(node)
    return found


def defaults(root):
    """The defaults that reads by name have, as JSON."""
    return {node.args[1].value: json.dumps(node.args[2].value) for _, node in reads(root)
            if isinstance(node, ast.Call) and len(node.args) > 2
            and isinstance(node.args[2], ast.Constant)}


def own_keywords(cls):
    """The names that methods of a configuration take out of **kwargs, and its _names."""
    found, private = set(), set()
    for node in ast.walk(tree(cls)):
        if (isinstance(node, ast.Call) and text(node.func) in ("kwargs.pop", "kwargs.get")
                and isinstance(node.args[0], ast.Constant)):
            found.add(node.args[0].value)
        if (isinstance(node, ast.Attribute) and text(node.value) == "self"
                and isinstance(node.ctx, ast.Store) and node.attr.startswith("_")):
            private.add(node.attr)
    return found, private


def default(field):
    value = field.default
    if value is dataclasses.MISSING or isinstance(value, (type, property)):
        return "null"
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # of another type, or infinite
        return "null"


def base_rows():
    """What every class reads."""
    keywords, private = own_keywords(PreTrainedConfig.__post_init__)
    keywords -= own_keywords(modeling_rope_utils.RotaryEmbeddingConfigMixin)[0]
    properties = {n for n, v in vars(PreTrainedConfig).items() if isinstance(v, property)}
    properties -= {"rope_scaling"}
    rows = {n: ("no", "null") for n in keywords | private | properties
            | set(GenerationConfig._get_default_generation_params())
            | set(READ_WHILE_LOADING)}
    rows.update({f.name: ("no", default(f)) for f in dataclasses.fields(PreTrainedConfig)})
    rows.update({n: ("computes", "null") for n in COMPUTES})
    # The mask is built for every model, so what it looks for by name counts for every model: but
    # windows and chunks only where the class has them.
    for n, used in read_by_code(tree(masking_utils), by_name=True).items():
        if used and n not in ("sliding_window", "attention_chunk_size", "layer_types"):
            rows[n] = ("computes", defaults(tree(masking_utils)).get(n, "null"))
    return rows


def rows_of(model_type, base):
    cls = CONFIG_MAPPING[model_type]
    module = importlib.import_module(cls.__module__.replace(".configuration_", ".modeling_"))
    fields = {f.name: default(f) for f in dataclasses.fields(cls)}
    code = {cls.attribute_map.get(n, n): used for n, used in read_by_code(tree(module)).items()}
    shared = {n for m in (modeling_layers, modeling_utils, masking_utils, modeling_rope_utils)
              for n, used in read_by_code(tree(m)).items() if used}
    keywords, private = own_keywords(cls)
    inside = {n for n, _ in reads_of_self(cls)} | keywords
    names = set(fields) | keywords | private
    if "rope_parameters" in fields:
        mixin = modeling_rope_utils.RotaryEmbeddingConfigMixin
        rotary = own_keywords(mixin)[0] | {"rope_parameters"}
        names |= rotary
        inside |= rotary | {n for n, _ in reads_of_self(mixin)}
    rows = {}
    for n in names:
        used = code.get(n, False) or n in inside or (n in fields and n in shared)
        used = used and n not in NO_NUMBER and f"{model_type}.{n}" not in NO_NUMBER
        if base.get(n) != (row := ("computes" if used else "no", fields.get(n, "null"))):
            rows[n] = row
    for n, used in read_by_code(tree(module), by_name=True).items():
        if used and n not in NO_NUMBER and n not in fields and n not in base and not n.startswith("_is"):
            rows.setdefault(n, ("computes", "null"))
    rows.update({a: ("=" + n, fields.get(a, "null")) for a, n in cls.attribute_map.items()})
    return rows


def reads_of_self(cls):
    """What a configuration reads of itself to work out another value."""
    skip = ("to_dict", "validate_architecture", "validate_token_ids")
    for node in ast.walk(tree(cls)):
        if any(isinstance(up, ast.FunctionDef) and up.name in skip for up in above(node)):
            continue
        if (isinstance(node, ast.Attribute) and text(node.value) == "self"
                and isinstance(node.ctx, ast.Load)):
            yield node.attr, node
        elif (isinstance(node, ast.Call) and text(node.func) in ("getattr", "hasattr")
              and text(node.args[0]) == "self" and isinstance(node.args[1], ast.Constant)):
            yield node.args[1].value, node


GET_ROPE = ("rope_parameters.get", "rope_parameters_dict.get")


def rope_rows():
    """The keys of rope_parameters by rope_type: what validation knows and computing code reads."""
    kinds = {"default": None, **modeling_rope_utils.ROPE_INIT_FUNCTIONS}
    for kind in sorted(kinds):
        check = getattr(PreTrainedConfig, f"_validate_{kind}_rope_parameters", None)
        if check is None:
            continue
        keys = {"rope_type", "rope_theta", "type", "partial_rotary_factor"}
        source = [check] + ([kinds[kind]] if kinds[kind] else [])
        for thing in source:
            for node in ast.walk(tree(thing)):
                if isinstance(node, ast.Call) and text(node.func).endswith(GET_ROPE):
                    keys.add(node.args[0].value)
                elif (isinstance(node, ast.Subscript) and "rope_parameters" in text(node.value)
                      and isinstance(node.slice, ast.Constant)):
                    keys.add(node.slice.value)
                elif isinstance(node, ast.Set) and isinstance(node.parent, ast.Assign):
                    keys |= {e.value for e in node.elts}
        yield from ((f"rope {kind}", key, "computes", "null") for key in sorted(keys))


def main():
    print(f"# Made by reference_keys.py from transformers {transformers.__version__}.")
    base = base_rows()
    rows = [("*", n, *row) for n, row in base.items()]
    for model_type in TYPES:
        rows += [(model_type, n, *row) for n, row in rows_of(model_type, base).items()]
    for row in sorted(rows):
        print("\t".join(row))
    for row in rope_rows():
        print("\t".join(row))


if __name__ == "__main__":
    sys.exit(main())
