"""Records what tokenizers of transformers make of texts, with small files of SentencePiece.

    pip install transformers==5.23.0 tokenizers==0.23.3 sentencepiece==0.2.3
    python record_pieces.py            # writes pieces.json.gz

The files are trained on the texts of ref.json.gz: for MarianTokenizer a Unigram model for each side, the source with the normalisation of OPUS-MT
(nmt_nfkc) and the target with none, and a vocab.json that lacks every ninth piece and has two languages; for
M2M100Tokenizer a BPE. pieces.json.gz has the files, and for each tokenizer the ids of the 319 texts; and those of a text in several languages.

T5Tokenizer, PegasusTokenizer, MBartTokenizer, MBart50Tokenizer and XLMRobertaTokenizer have no vocab.json. Their files lack the table of the normaliser, which is that of
source.spm. "alone" has the ids that transformers gives with the normaliser and the splitter that transformers 4 has. They are those of SentencePiece, which
the models were trained with, but for control tokens and for digits that can be cut in two ways with the same score. PegasusTokenizer and
MBartTokenizer of transformers 5 have other parts, and T5Tokenizer no bytes for unknown characters, as mT5 has; "differ" is what they give. Of T5 and Pegasus "file" is the tokenizer.json that transformers writes, without that table.
"""
import base64, gzip, io, json, os, tempfile
import sentencepiece, tokenizers, transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import normalizers, pre_tokenizers

assert (transformers.__version__, sentencepiece.__version__) == ("5.23.0", "0.2.3")
TEXTS = [c["text"] for c in json.load(gzip.open("ref.json.gz", "rt"))]


def train(kind, size, texts, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=out, model_type=kind, vocab_size=size, num_threads=1, minloglevel=2,
        hard_vocab_limit=False, **options)
    return out.getvalue()


def pieces(model):
    p = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [p.id_to_piece(i) for i in range(len(p)) if not p.is_control(i) and not p.is_unknown(i)]


def load(kind, files, **options):
    with tempfile.TemporaryDirectory() as d:
        for name, data in files.items():
            with open(os.path.join(d, name), "wb") as f:
                f.write(data)
        return kind.from_pretrained(d, **options)


def recorded(t, target=False, texts=TEXTS):
    return [(t(text_target=text) if target else t(text))["input_ids"] for text in texts]


PLAIN = [(w, -float(i)) for i, w in enumerate(["\u2581the", "\u2581cat", "\u2581sat", "\u2581", "s", "a", "t"], 1)]


def translating():
    """Tokenizers of several languages, each with its tokenizer.json and the ids of a text in two languages and in that of its configuration."""
    first = [(t, 0.0) for t in ["<s>", "<pad>", "</s>", "<unk>"]] + PLAIN
    codes = ["eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant"]
    merges = [("\u2581t", "he"), ("h", "e"), ("\u2581", "t")]
    vocab = {t: i for i, t in enumerate([t for t, _ in first[:4]] + ["\u2581", "t", "h", "e", "he", "\u2581t", "\u2581the", "s", "a", "c"])}
    for kind, options, others in [
            (transformers.MBartTokenizer, {"vocab": first}, ["fr_XX", "de_DE"]), (transformers.MBart50Tokenizer, {"vocab": first}, ["fr_XX", "ur_PK"]),
            (transformers.NllbTokenizer, {"vocab": vocab, "merges": merges, "additional_special_tokens": codes}, ["fra_Latn", "zho_Hant"]),
            (transformers.NllbTokenizer, {"vocab": vocab, "merges": merges, "additional_special_tokens": codes, "legacy_behaviour": True}, ["fra_Latn"])]:
        with tempfile.TemporaryDirectory() as d:
            kind(**options).save_pretrained(d)
            config = json.load(open(os.path.join(d, "tokenizer_config.json")))
            t = kind.from_pretrained(d)
            cases = [{"language": "", "ids": t("the cat sat")["input_ids"]}]
            for language in others:
                t.src_lang = language
                cases.append({"language": language, "ids": t("the cat sat")["input_ids"]})
            yield {"class": kind.__name__, "file": json.load(open(os.path.join(d, "tokenizer.json"))),
                   "config": {k: v for k, v in config.items() if k in ("src_lang", "legacy_behaviour")}, "cases": cases}


# For each class: the name of the file, its control tokens, the number of a piece, how many tokens come before and after a text, and a text with such
# tokens.
NUMBERED = [
    ("T5Tokenizer", "spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "user_defined_symbols": ["\u2581<own>"]},
                    lambda i: i, (0, 1), "The <extra_id_0> sat<extra_id_99> on \u2581<own> <own>.</s>"),
    ("PegasusTokenizer", "spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}, lambda i: i + 103, (0, 1),
                         "The <mask_1> sat <mask_2> on<unk_7>."),
    ("MBartTokenizer", "sentencepiece.bpe.model", {}, lambda i: i + 1 if i else 3, (0, 2), "The  <mask> sat fr_XX on."),
    ("MBart50Tokenizer", "sentencepiece.bpe.model", {}, lambda i: i + 1 if i else 3, (1, 1), "The  <mask> sat ur_PK on."),
    ("T5Tokenizer", "spiece.model", {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, "byte_fallback": True}, lambda i: i, (0, 1),
     "\u6f22\u0001 \U0001f600<unk>"),  # mT5
    ("XLMRobertaTokenizer", "sentencepiece.bpe.model", {}, lambda i: i + 1 if i else 3, (1, 1), "The <s>  sat</s> on<mask>."),
]


def alone(charsmap):
    """Tokenizers whose ids follow from the class."""
    lines = [line for text in TEXTS for line in text.split("\n") if line.strip()]
    for name, file, options, number, (before, after), control in NUMBERED:
        fallback = "byte_fallback" in options
        model = train("unigram", 350 + 280 * fallback, lines[1::2], normalization_rule_name="nmt_nfkc", character_coverage=0.98, **options)
        t = load(getattr(transformers, name), {file: model})
        texts, pieces = TEXTS + [control], sentencepiece.SentencePieceProcessor(model_proto=model)
        theirs, whole = recorded(t, texts=texts), json.loads(t._tokenizer.to_str())
        t._tokenizer.normalizer = normalizers.Precompiled(charsmap)
        t._tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
        if fallback:  # which transformers 5 leaves out
            t._tokenizer = tokenizers.Tokenizer.from_str(t._tokenizer.to_str().replace('"byte_fallback":false', '"byte_fallback":true'))
        ids = recorded(t, texts=texts)
        if fallback:  # of a text such as <0x0A>, which is no byte
            ids = [pieces.encode(text) + ids[i][-1:] if "<0x" in text else ids[i] for i, text in enumerate(texts)]
        differ = {i: theirs[i] for i in range(len(texts)) if ids[i] != theirs[i]}
        ties = [text for i, text in enumerate(texts) if ids[i][before:-after] != [number(k) for k in pieces.encode(text)]]
        proto = sentencepiece_model_pb2.ModelProto.FromString(model)
        assert proto.normalizer_spec.precompiled_charsmap == charsmap
        proto.normalizer_spec.ClearField("precompiled_charsmap")
        for part in whole["normalizer"].get("normalizers", [whole["normalizer"]]) if whole["normalizer"] else []:
            if part["type"] == "Precompiled":
                part["precompiled_charsmap"] = ""
        print(name, len(t), "tokens; texts whose ids differ from SentencePiece:", ties)
        yield {"class": name, "model": base64.b64encode(proto.SerializeToString()).decode(), "file": whole if name in ("T5Tokenizer", "PegasusTokenizer") and not fallback else None,
               "text": control, "differ": differ, "ids": ids}


def main():
    lines = [line for text in TEXTS for line in text.split("\n") if line.strip()]
    source = train("unigram", 400, lines, normalization_rule_name="nmt_nfkc", character_coverage=0.99)
    target = train("unigram", 300, lines[::2], normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98)
    bpe = train("bpe", 500, lines, normalization_rule_name="identity", character_coverage=0.98)
    joint = ["</s>", "<unk>"] + sorted({p for i, p in enumerate(pieces(source) + pieces(target)) if i % 9}) + [">>fra<<", ">>pt_br<<", "<pad>"]
    marian = {"source.spm": source, "target.spm": target, "vocab.json": json.dumps({p: i for i, p in enumerate(joint)}).encode()}
    m2m = ["<s>", "<pad>", "</s>", "<unk>"] + [p for i, p in enumerate(pieces(bpe)) if i % 13]
    m2m100 = {"sentencepiece.bpe.model": bpe, "vocab.json": json.dumps({p: i for i, p in enumerate(m2m)}).encode()}
    t = load(transformers.MarianTokenizer, marian)
    cases = [{"name": "marian source", "model": "source.spm", "vocab": "marian", "class": "MarianTokenizer", "ids": recorded(t)},
             {"name": "marian target", "model": "target.spm", "vocab": "marian", "class": "MarianTokenizer", "ids": recorded(t, target=True)}]
    coded = load(transformers.M2M100Tokenizer, m2m100, src_lang="fr", tgt_lang="de")
    cases.append({"name": "m2m100", "model": "sentencepiece.bpe.model", "vocab": "m2m100", "class": "M2M100Tokenizer",
                  "config": {"src_lang": "fr"}, "ids": recorded(coded)})
    out = {"files": {n: base64.b64encode(d).decode() for n, d in {**marian, **m2m100}.items() if n != "vocab.json"},
           "vocabularies": {"marian": json.loads(marian["vocab.json"]), "m2m100": json.loads(m2m100["vocab.json"])}, "cases": cases,
           "languages": [{"text": ">>fra<< Hello there", "ids": t(">>fra<< Hello there")["input_ids"]},
                         {"text": ">>pt_br<<Hello", "ids": t(">>pt_br<<Hello")["input_ids"]}],
           "translating": list(translating()),
           "alone": list(alone(sentencepiece_model_pb2.ModelProto.FromString(source).normalizer_spec.precompiled_charsmap)),
           "decoded": [[i, t.decode(ids, skip_special_tokens=True)] for i, ids in enumerate(cases[1]["ids"][:40])]}
    with open("pieces.json.gz", "wb") as f:
        f.write(gzip.compress(json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))


main()
