"""Records what Hugging Face tokenizers makes of texts with parts that the trained files beside it do not have.

    pip install tokenizers==0.23.3
    python record.py            # writes extra.json.gz

Six small models are trained on the texts of ref.json.gz. Each tokenizer is one of them with parts chosen by hand, in the
manner of published ones, or drawn at random with a fixed seed.
"""
import gzip, json, random, struct
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders as D, models as M, normalizers as N, pre_tokenizers as P, processors as R, trainers as T

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
draw = random.Random(4)
SPECIALS = ["<unk>", "<s>", "</s>", "<pad>"]
BYTES = [f"<0x{b:02X}>" for b in range(256)]
TEXTS = [c["text"] for c in json.load(gzip.open("ref.json.gz", "rt"))]
POOL = """a b the The THE é é É İ ß ſ K ﬁ ½ Ⅷ １２ 漢字 が が ｶﾞ 가 각 👍🏽 👩‍👩‍👧 🇫🇷 ❤️ ▁ Ġ 1 1234 3.14 . , ! ' 's 'S 'ſ 'LL n't -- _ ##a ( $ + ^ “ ” 。 · <0x41> <unk> <s> </s> tok TOK tokk
á̧ ̈́ Ω अनु हिन्दी ไทย 𝕏 keys don't I'm""".split() + [
    " ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u200b", "\u2028", "\u0000", "\u007f", "\u0085", "\u00ad",
    "\ufeff", "\ufffd", " tok", " the", " n't", " do not", "©\u200d", "\u0600a", "\u0315\u0300\u05ae", "x\u0308"]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
REGEXES = [r"\s+", r"\w+|[^\w\s]+", QWEN2, GPT4O, "a*", "(?=a)", r"\s?\p{P}+", "[一-龥가-퟿]+", "(a|e)+", "$", "^", r"\W+",
           r"\D", "(?m:.)x?", r"\p{Han}|\p{Hiragana}+", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|\s+"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def text():
    """A text of the reference, or pieces that are trouble."""
    if draw.random() < 0.3:
        return draw.choice(TEXTS)
    return "".join(draw.choice(POOL) for _ in range(draw.randrange(1, 10)))


def charsmap(rules):
    """The precompiled normalizer of sentencepiece: a double array over the texts, and what replaces each."""
    blob, trie = b"", {}
    for old, new in sorted(rules.items()):
        node = trie
        for byte in old.encode():
            node = node.setdefault(byte, {})
        node[0], blob = len(blob), blob + new.encode() + b"\0"
    units, used = {0: 0}, {0}

    def place(node, at):
        base = next(b for b in range(2, 1 << 20) if b != at and not used & {b ^ c for c in node})
        used.update(base ^ c for c in node)
        units[at] = units.get(at, 0) & 0xff | (at ^ base) << 10 | (0 in node) << 8
        for c in node:
            units[base ^ c] = node[0] | 1 << 31 if c == 0 else c
        for c in node:
            if c:
                place(node[c], base ^ c)

    place(trie, 0)
    n = (max(units) + 256) // 256 * 256
    return struct.pack("<I%dI" % n, 4 * n, *(units.get(i, 0) for i in range(n))) + blob


RULES = {"ﬁ": "fi", "１": "1", "２": "2", "\u3000": " ", "\t": " ", "\n": " ", "é": "é", "が": "GA", "\u00ad": "", "\u200b": "",
         "½": "1/2", "©": "(c)", "\r\n": " ", "ẍ": "X", "ｶ": "カ", "\u2028": "", "Ω": "Ω"}


def trained(model, trainer, pre):
    t = Tokenizer(model)
    t.pre_tokenizer = pre
    t.train_from_iterator(TEXTS + [text() for _ in range(200)], trainer)
    return json.loads(t.to_str())["model"]


def models():
    quiet = {"special_tokens": SPECIALS, "show_progress": False}
    yield "bytes", trained(M.BPE(), T.BpeTrainer(vocab_size=500, initial_alphabet=P.ByteLevel.alphabet(), **quiet), P.ByteLevel(False))
    yield "fallback", trained(M.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), T.BpeTrainer(
        vocab_size=600, limit_alphabet=70, special_tokens=SPECIALS + BYTES, show_progress=False), P.Metaspace())
    yield "suffix", trained(M.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), T.BpeTrainer(
        vocab_size=350, limit_alphabet=60, end_of_word_suffix="</w>", **quiet), P.Whitespace())
    yield "wordpiece", trained(M.WordPiece(unk_token="<unk>", max_input_chars_per_word=30), T.WordPieceTrainer(
        vocab_size=350, limit_alphabet=70, **quiet), P.BertPreTokenizer())
    unigram = trained(M.Unigram(), T.UnigramTrainer(vocab_size=450, unk_token="<unk>", **quiet), P.Metaspace())
    yield "unigram", unigram
    yield "unigram-fallback", {**unigram, "byte_fallback": True, "vocab": unigram["vocab"] + [[b, 0.0] for b in BYTES]}
    words = sorted({w for t in TEXTS for w in t.split() if w not in SPECIALS})[:150]
    yield "words", {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(SPECIALS + words)}, "unk_token": "<unk>"}


MODELS = dict(models())
START, END = ("<s>", 1), ("</s>", 2)
AROUND = R.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[START, END])
SPACE_BACK = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])


def byte_split(regex):
    return P.Sequence([P.Split(Regex(regex), "isolated", False), P.ByteLevel(False, use_regex=False)])


def chosen():
    """Tokenizers in the manner of published ones, then one for each part."""
    spm = N.Precompiled(charsmap(RULES))
    meta = P.Metaspace("▁", "always")
    yield "qwen2", "bytes", dict(normalizer=N.NFC(), pre_tokenizer=byte_split(QWEN2), decoder=D.ByteLevel())
    yield "gpt-4o", "bytes", dict(pre_tokenizer=byte_split(GPT4O), decoder=D.ByteLevel())
    yield "gemma", "fallback", dict(normalizer=N.Replace(" ", "▁"), post_processor=AROUND,
                                    decoder=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]))
    yield "t5", "unigram", dict(normalizer=spm, pre_tokenizer=P.Sequence([P.WhitespaceSplit(), meta]), post_processor=AROUND,
                                decoder=D.Metaspace("▁", "always"))
    yield "xlm-roberta", "unigram", dict(normalizer=N.Sequence([spm, N.Replace(Regex(" {2,}"), " ")]), pre_tokenizer=meta,
                                         post_processor=AROUND, decoder=D.Metaspace("▁", "always"))
    yield "albert", "unigram", dict(
        normalizer=N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), spm]),
        pre_tokenizer=meta, post_processor=AROUND, decoder=D.Metaspace("▁", "always"))
    yield "llama-spm", "unigram-fallback", dict(normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), decoder=SPACE_BACK)
    yield "clip", "suffix", dict(normalizer=N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()]),
                                 pre_tokenizer=P.Sequence([P.Split(Regex(LLAMA3), "removed", True), P.Whitespace()]),
                                 post_processor=R.RobertaProcessing(END, START, True, False), decoder=D.BPEDecoder("</w>"))
    yield "bert", "wordpiece", dict(normalizer=N.BertNormalizer(), pre_tokenizer=P.BertPreTokenizer(),
                                    post_processor=R.BertProcessing(END, START), decoder=D.WordPiece("##", True))
    yield "words", "words", dict(normalizer=N.Nmt(), pre_tokenizer=P.WhitespaceSplit())
    for behavior in BEHAVIORS:
        for invert in (False, True):
            yield f"split-{behavior}-{invert}", "unigram", dict(pre_tokenizer=P.Split(Regex(r"[aeiou]|\s"), behavior, invert))
    for i, regex in enumerate(REGEXES):
        yield f"regex-{i}", "unigram", dict(pre_tokenizer=P.Split(Regex(regex), BEHAVIORS[i % 5], False))
        yield f"replace-{i}", "unigram", dict(normalizer=N.Sequence([N.NFC(), N.Replace(Regex(regex), "▁")]))


def normalizer(depth=0):
    simple = [N.NFC, N.NFD, N.NFKC, N.NFKD, N.Lowercase, N.StripAccents, N.Nmt, N.BertNormalizer, N.ByteLevel]
    k = draw.randrange(15)
    if k < len(simple):
        return simple[k]()
    if k == 9:
        return N.Strip(draw.random() < 0.5, draw.random() < 0.5)
    if k == 10:
        return N.Prepend(draw.choice(["▁", "x ", "é"]))
    if k == 11:
        return N.Replace(draw.choice([" ", "a", "é", "the"]), draw.choice(["▁", "", "xx"]))
    if k == 12:
        return N.BertNormalizer(*(draw.random() < 0.5 for _ in range(4)))
    if k == 13:
        return N.Precompiled(charsmap(dict(draw.sample(sorted(RULES.items()), 9))))
    return N.Sequence([normalizer(depth + 1) for _ in range(3)]) if depth < 1 else N.NFC()


def pre_tokenizer(depth=0):
    k = draw.randrange(10)
    if k == 0:
        return P.ByteLevel(draw.random() < 0.5, use_regex=draw.random() < 0.5)
    if k == 1:
        return P.Split(draw.choice([" ", "a", "the", "."]), draw.choice(BEHAVIORS), draw.random() < 0.4)
    if k == 2:
        return P.Metaspace(draw.choice("▁_"), draw.choice(["always", "first", "never"]), draw.random() < 0.6)
    if k == 3:
        return P.Punctuation(draw.choice(BEHAVIORS))
    if k == 4:
        return P.Digits(draw.random() < 0.5)
    if k == 5:
        return P.CharDelimiterSplit(draw.choice(" -a"))
    if k == 6:
        return P.BertPreTokenizer()
    if k == 7:
        return P.Whitespace()
    if k == 8:
        return P.WhitespaceSplit()
    return P.Sequence([pre_tokenizer(depth + 1) for _ in range(2)]) if depth < 1 else P.Whitespace()


def decoder():
    return draw.choice([D.ByteLevel(), D.Metaspace("▁", "first"), D.Metaspace("▁", "never"), D.WordPiece("##", False), D.ByteFallback(),
                        D.Fuse(), D.Strip("a", 1, 0), D.Replace(Regex("a+"), ""), D.BPEDecoder("</w>"), D.CTC("<s>", "|", True), SPACE_BACK])


def post_processor():
    return draw.choice([
        AROUND, R.BertProcessing(END, START), R.RobertaProcessing(END, START, draw.random() < 0.5, draw.random() < 0.5),
        R.Sequence([R.ByteLevel(trim_offsets=True, add_prefix_space=draw.random() < 0.5),
                    R.TemplateProcessing(single="<s>:1 $A:3", pair="$B:2 <s> $A:1", special_tokens=[START])])])


def drawn():
    for i in range(60):
        yield f"random-{i}", draw.choice(list(MODELS)), dict(
            normalizer=normalizer(), pre_tokenizer=pre_tokenizer(), decoder=decoder(), post_processor=post_processor())


def add_tokens(t):
    for content in draw.sample(["tok", "ToK", "the", "  ", "a", "12", " tok", "é"], draw.randrange(4)):
        flags = {k: draw.random() < 0.3 for k in ("single_word", "lstrip", "rstrip", "normalized")}
        if flags["normalized"] and t.normalizer and not t.normalizer.normalize_str(content):
            flags["normalized"] = False  # what is nothing when normalised crashes the reference
        add = t.add_special_tokens if draw.random() < 0.5 else t.add_tokens
        add([AddedToken(content, **flags)])


def encoded(t):
    one, two = text(), text() if draw.random() < 0.25 else None
    e = t.encode(one) if two is None else t.encode(one, two)
    case = {"text": one, "ids": e.ids, "offsets": e.offsets, "types": e.type_ids, "mask": e.attention_mask}
    if two is not None:
        case["pair"] = two
    for key, skip in (("decoded", True), ("decoded_all", False)):
        case[key] = t.decode(e.ids, skip_special_tokens=skip)
    return case


def main():
    out = []
    for name, model, parts in [*chosen(), *drawn()]:
        t = Tokenizer.from_str(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "model": MODELS[model]}))
        for key, value in parts.items():
            setattr(t, key, value)
        add_tokens(t)
        if draw.random() < 0.3:
            t.enable_truncation(draw.randrange(5, 12), strategy="longest_first", direction=draw.choice(["left", "right"]))
        if draw.random() < 0.3:
            t.enable_padding(direction=draw.choice(["left", "right"]), pad_id=3, pad_token="<pad>", length=draw.choice([None, 14]),
                             pad_to_multiple_of=draw.choice([None, 8]))
        file = json.loads(t.to_str())
        del file["model"]
        out.append({"name": name, "model": model, "file": file, "cases": [encoded(t) for _ in range(10)]})
    data = json.dumps({"models": MODELS, "tokenizers": out}, ensure_ascii=False, separators=(",", ":"))
    with open("extra.json.gz", "wb") as f:
        f.write(gzip.compress(data.encode(), 9, mtime=0))


main()
