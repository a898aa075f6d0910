"""Records what transformers' AutoTokenizer makes of a tokenizer.json, given tokenizer_config.json and the model type.

    pip install transformers==5.23.0 tokenizers==0.23.3
    python auto.py            # writes ../auto.json and auto.json.gz

../auto.json is read by the package. It has, for each model type that headwater opens, the class that AutoTokenizer has for it; the model
types whose tokenizer_class in tokenizer_config.json AutoTokenizer does not believe; and for each class that brings its own parts the
normalizer and pre_tokenizer that it builds, and which values in them its options change, and the tokens with
a role that it names by itself, and whether it adds no control tokens where the file does; and the languages of M2M100's and mBART's tokenizers,
in the order of their ids. auto.json.gz has the ids of the 319 texts of
ref.json.gz for combinations of a trained file (with other parts, if there are some), a model type, a class and options: those ids that
differ from what the library tokenizers makes of the file.
"""
import gzip, inspect, json, os, re, tempfile
import tokenizers, transformers
from transformers.models.auto import tokenization_auto as auto
from transformers.models.m2m_100 import tokenization_m2m_100 as m2m_100
from transformers.models.mbart import tokenization_mbart as mbart
from transformers.models.mbart50 import tokenization_mbart50 as mbart50
from transformers.tokenization_utils_tokenizers import TokenizersBackend

assert (transformers.__version__, tokenizers.__version__) == ("5.23.0", "0.23.3")
transformers.logging.set_verbosity_error()
TYPES = ["bart", "bert", "bloom", "distilbert", "electra", "falcon", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "llama", "m2m_100", "marian",
         "mbart", "mistral", "mt5", "mvp", "opt", "pegasus", "phi3", "qwen2", "qwen3", "roberta", "switch_transformers", "t5", "xlm-roberta"]
CLASSES = ["BertTokenizer", "CodeLlamaTokenizer", "CodeGenTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "GPT2Tokenizer",
           "GPTNeoXTokenizer", "GemmaTokenizer", "LlamaTokenizer", "Qwen2Tokenizer", "RobertaTokenizer"]
OPTIONS = ["do_lower_case", "strip_accents", "tokenize_chinese_chars", "legacy", "add_prefix_space"]  # a later one wins
PARTS = ["normalizer", "pre_tokenizer"]


def parts(name, **options):
    file = json.loads(getattr(transformers, name)(**options)._tokenizer.to_str())
    return {part: file[part] for part in PARTS}


def changes(old, new, key=None):
    """The keys whose values differ, and the new values. Each key is in one object alone."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [c for k in old for c in changes(old[k], new[k], k)]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [c for i in range(len(old)) for c in changes(old[i], new[i], key)]
    return [] if old == new else [{"key": key, "set": new}]


def recorded(name):
    default = parts(name)
    options = []
    for option in OPTIONS:
        if option not in inspect.signature(getattr(transformers, name).__init__).parameters and name != "DistilBertTokenizer":
            continue
        for value in (False, True):
            for change in changes(default, parts(name, **{option: value})):
                options.append({"option": option, "value": value, **change})
    parameters = [p for c in getattr(transformers, name).__mro__ for p in inspect.signature(c.__init__).parameters.values()]
    special = {p.name: p.default for p in reversed(parameters) if p.name.endswith("_token") and isinstance(p.default, str)}
    return {"model": getattr(transformers, name).model.__name__, "parts": default, "options": options, "special": special,
            "bare": getattr(transformers, name).model.__name__ == "BPE" and not load(json.load(open("llama3.json")), None, {"tokenizer_class": name})("")["input_ids"]}


def mistral_regex():
    """The expression that AutoTokenizer puts in for fix_mistral_regex=True, and the model types that it warns about."""
    source = inspect.getsource(TokenizersBackend._patch_mistral_regex)
    types = re.search(r"not in \[(.*?)\]", source, re.S).group(1)
    return {"model_types": re.findall(r'"(\w+)"', types), "expression": re.search(r'Regex\(\s*r"(.*?)"\s*\)', source, re.S).group(1),
            "min_vocabulary": int(re.search(r"vocab_size > (\d+)", inspect.getsource(TokenizersBackend.__init__)).group(1))}


def load(file, model_type, config):
    with tempfile.TemporaryDirectory() as d:
        for name, value in [("tokenizer.json", file), ("tokenizer_config.json", config), ("config.json", {"model_type": model_type})]:
            with open(os.path.join(d, name), "w") as f:
                json.dump(value, f)
        return transformers.AutoTokenizer.from_pretrained(d)


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, BYTES]}


def combinations():
    """File, model type, class, options and other parts, in the manner of published ones and a few that are odd."""
    yield "gpt2", "llama", "GPT2Tokenizer", {}, {"pre_tokenizer": DIGITS}  # SmolLM2, Granite
    named = {"bos_token": "<s>", "eos_token": {"__type": "AddedToken", "content": "</s>"}, "pad_token": "er"}
    for name, model in [("LlamaTokenizer", "mistral"), ("LlamaTokenizer", "llama"), (None, "llama")]:
        for options in [{}, named]:
            yield "llama2_metaspace", model, name, options, {"added_tokens": []}
    yield "bert_uncased", "bert", "BertTokenizer", {}, {"added_tokens": []}
    yield "gpt2", "gpt2", "GPT2Tokenizer", {"eos_token": "the"}, {"added_tokens": []}
    yield "gpt2", "gpt_neox", "GPTNeoXTokenizer", {}, {"normalizer": {"type": "NFC"}}  # Pythia
    for name in ["Qwen2Tokenizer", "PreTrainedTokenizerFast"]:
        yield "gpt2", "qwen2", name, {}, parts("Qwen2Tokenizer")  # Qwen2's own file has the parts of its class
    bert = [{}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False}, {"do_lower_case": False, "strip_accents": True},
            {"do_lower_case": False, "tokenize_chinese_chars": False}, {"do_lower_case": True, "strip_accents": None}]
    for kind in ["bert_cased", "bert_uncased"]:
        for name, model in [("BertTokenizer", "bert"), ("DistilBertTokenizer", "distilbert"), ("ElectraTokenizer", "electra"),
                            ("BertTokenizerFast", "electra"), (None, "bert"), ("PreTrainedTokenizerFast", "bert"), ("BertTokenizer", "roberta")]:
            for options in bert:
                yield kind, model, name, options, {}
    llama = [{}, {"legacy": True}, {"legacy": False, "add_prefix_space": None}, {"add_prefix_space": False}, {"legacy": True, "add_prefix_space": True}]
    for kind in ["llama2_legacy", "llama2_metaspace"]:
        for name, model in [("LlamaTokenizer", "llama"), ("LlamaTokenizerFast", "llama"), ("CodeLlamaTokenizer", "llama"),
                            ("LlamaTokenizer", "mistral"), ("LlamaTokenizerFast", "mistral"), ("LlamaTokenizer", "phi3"),
                            ("PreTrainedTokenizerFast", "llama")]:
            for options in llama:
                yield kind, model, name, options, {}
        for name, model in [("GemmaTokenizer", "gemma2"), ("GemmaTokenizerFast", "gemma3_text"), ("PreTrainedTokenizerFast", "gemma2"),
                            (None, "gemma2"), (None, "llama"), ("SomeTokenizer", "llama")]:
            yield kind, model, name, {}, {}
    for kind in ["gpt2", "llama3", "roberta"]:
        for name, model in [("GPT2Tokenizer", "gpt2"), ("GPT2Tokenizer", "llama"), ("GPT2Tokenizer", "opt"), ("GPTNeoXTokenizer", "gpt_neox"),
                            ("Qwen2Tokenizer", "qwen2"), ("Qwen2Tokenizer", "qwen3"), ("PreTrainedTokenizerFast", "qwen2"),
                            ("LlamaTokenizerFast", "qwen2"), ("LlamaTokenizerFast", "llama"), ("LlamaTokenizer", "mistral"),
                            ("PreTrainedTokenizerFast", "falcon"), ("BloomTokenizerFast", "bloom"), ("CodeGenTokenizer", "llama"),
                            ("RobertaTokenizer", "roberta"), ("GPT2Tokenizer", "phi3"), ("PreTrainedTokenizerFast", "qwen3"),
                            (None, "gpt2"), (None, "qwen2"), (None, "gpt_neox"), (None, "roberta"), (None, "bloom"), (None, "falcon")]:
            if (kind == "roberta") == (model == "roberta"):
                for options in [{}, {"add_prefix_space": True}, {"add_prefix_space": False}]:
                    yield kind, model, name, options, {}
    for name, model in [("LlamaTokenizer", "mistral"), ("PreTrainedTokenizerFast", "bert")]:
        yield "unigram", model, name, {}, {}


def main():
    registered = {t: (auto.TOKENIZER_MAPPING_NAMES.get(t) or "").removesuffix("Fast") for t in TYPES}
    table = {"transformers": transformers.__version__, "model_types": registered,
             "disbelieved": sorted(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS & set(TYPES)),
             "classes": {name: recorded(name) for name in CLASSES}, "mistral": mistral_regex(),
             "languages": {**m2m_100.FAIRSEQ_LANGUAGE_CODES, "mbart": mbart.FAIRSEQ_LANGUAGE_CODES,
                           "mbart50": mbart50.FAIRSEQ_LANGUAGE_CODES}}
    with open("../auto.json", "w") as f:
        f.write(json.dumps(table, ensure_ascii=False, indent=1) + "\n")
    cases = json.load(gzip.open("ref.json.gz", "rt"))
    out = []
    for kind, model, name, options, other in combinations():
        config = dict(options, **({"tokenizer_class": name} if name else {}))
        file = {**json.load(open(kind + ".json")), **other}
        t, plain = load(file, model, config), tokenizers.Tokenizer.from_str(json.dumps(file))
        ids = {i: t(c["text"])["input_ids"] for i, c in enumerate(cases)}
        differ = {i: v for i, v in ids.items() if v != plain.encode(cases[i]["text"]).ids}
        out.append({"file": kind, "parts": other, "model_type": model, "config": config, "class": type(t).__name__, "ids": differ})
        print(kind, model, config, type(t).__name__, len(differ))
    with open("auto.json.gz", "wb") as f:
        f.write(gzip.compress(json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))


main()
