"""Records what Hugging Face tokenizers makes of the texts of parts.json with the parts that it names.

    pip install tokenizers==0.23.3
    python record_parts.py      # writes parts.json again; a new case needs only its text
"""
import json, os
import tokenizers
from tokenizers import PreTokenizedString, Regex, Tokenizer, models, pre_tokenizers

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parts.json")
MODEL = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}


def pieces(text):
    """The pieces that are not empty, with their bytes in the text."""
    found = text.get_splits(offset_referential="original", offset_type="byte")
    return [[word, *offsets] for word, offsets, _ in found if word]


def record(kind, config, text):
    """What one configuration makes of a text, or of tokens; for matches, what a regular expression finds in a text."""
    if kind == "matches":
        pattern, text = text
        split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
        return [word for word, _ in split.pre_tokenize_str(text)] if text else []
    if kind == "tokens":
        tokenizer = Tokenizer.from_str(config)
        e = tokenizer.encode(text)
        bytes_before = lambda n: len(text[:n].encode())
        # Names as in the file: e.tokens are pieces of the text, and id_to_token normalises added ones.
        added = {i: token.content for i, token in tokenizer.get_added_tokens_decoder().items()}
        names = [added.get(i) or tokenizer.id_to_token(i) for i in e.ids]
        return [[name, bytes_before(begin), bytes_before(end)] for name, (begin, end) in zip(names, e.offsets)]
    part = getattr(Tokenizer.from_str(json.dumps({"model": MODEL, kind: json.loads(config)})), kind)
    if kind == "decoder" and part is None:
        vocab = {token: i for i, token in enumerate([*dict.fromkeys(text), "[UNK]"])}
        tokenizer = Tokenizer(models.WordLevel(vocab, "[UNK]"))
        return tokenizer.decode([vocab[token] for token in text], skip_special_tokens=False)
    if kind == "decoder":
        return part.decode(text)
    whole = PreTokenizedString(text)
    if kind == "normalizer":
        whole.normalize(part.normalize)
        whole.split(lambda _, s: s.split(Regex("(?m:.)"), "isolated"))
    else:
        part.pre_tokenize(whole)
    return pieces(whole)


def line(case):
    return json.dumps(case)


with open(FILE, encoding="utf-8") as f:
    parts = json.load(f)
blocks = []
for p in parts:
    cases = ",\n  ".join(line([c[0], record(p["kind"], p["config"], c[0])]) for c in p["cases"])
    head = ", ".join(f"{line(key)}: {line(p[key])}" for key in p if key != "cases")
    blocks.append("{%s, \"cases\": [\n  %s]}" % (head, cases))
with open(FILE, "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(blocks) + "\n]\n")
