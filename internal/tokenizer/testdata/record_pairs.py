"""Records what Hugging Face tokenizers makes of pairs of texts with the trained files beside it.

    pip install tokenizers==0.23.3
    python record_pairs.py      # writes pairs.json.gz

A pair is a text of ref.json.gz and the next one. For each file it records, with control tokens and without: ids, token types,
offsets in characters of the text that a token belongs to, and which text that is (0 or 1, -1 for a control token).
"""
import gzip, io, json
import tokenizers
from tokenizers import Tokenizer

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
KINDS = ["bert_cased", "bert_uncased", "gpt2", "llama2_legacy", "llama2_metaspace", "llama3", "roberta", "unigram"]
TEXTS = [t for t in (c["text"] for c in json.load(gzip.open("ref.json.gz", "rt"))) if 0 < len(t) < 80]
POST = {"bert_processing": ("bert_cased", {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})}


def encoded(t, pair, specials):
    e = t.encode(*pair, add_special_tokens=specials)
    texts = [-1 if s is None else s for s in e.sequence_ids]
    return dict(ids=e.ids, types=e.type_ids, offsets=e.offsets, texts=texts)


def main():
    files = {kind: json.load(open(kind + ".json")) for kind in KINDS}
    for name, (kind, post) in POST.items():
        vocabulary = files[kind]["model"]["vocab"]
        post["sep"][1], post["cls"][1] = vocabulary["[SEP]"], vocabulary["[CLS]"]
        files[name] = dict(files[kind], post_processor=post)
    cases = []
    for pair in list(zip(TEXTS, TEXTS[1:]))[::4]:
        want = {}
        for name, file in files.items():
            t = Tokenizer.from_str(json.dumps(file))
            want[name] = [encoded(t, pair, specials) for specials in (True, False)]
        cases.append(dict(pair=pair, want=want))
    data = json.dumps(cases, ensure_ascii=False, separators=(",", ":")).encode()
    with open("pairs.json.gz", "wb") as f:
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(data)
    print(len(cases), "pairs")


main()
