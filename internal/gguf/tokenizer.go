package gguf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/internal/sentencepiece"
)

// part of a tokenizer.json, written with its keys sorted.
type object = map[string]any

// preTokenizer is what a name under tokenizer.ggml.pre stands for: how Hugging Face's
// tokenizer.json of that model cuts a text into words.
type preTokenizer struct {
	normalizer   any
	parts        []any // in front of ByteLevel
	regex        bool  // whether ByteLevel cuts by the expression of GPT-2
	after        []any // after ByteLevel
	ignoreMerges bool  // whether a word that is a token is not cut
	begin        bool  // whether bos_token is added unless the file says otherwise
}

func splitBy(expression string) object {
	return object{
		"type": "Split", "pattern": object{"Regex": expression}, "behavior": "Isolated",
		"invert": false,
	}
}

func digits(individual bool) object {
	return object{"type": "Digits", "individual_digits": individual}
}

var (
	preGPT2 = &preTokenizer{regex: true}
	// preDigits cuts off every digit first (StarCoder, SmolLM).
	preDigits = &preTokenizer{parts: []any{digits(true)}, regex: true}
	preLlama3 = &preTokenizer{
		parts: []any{splitBy(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` +
			` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`)},
		ignoreMerges: true, begin: true,
	}
	// preSmaug cuts as Llama 3 does. In llama.cpp, a text gets no token in front, and a word that
	// is a token is cut (Smaug).
	preSmaug = &preTokenizer{parts: preLlama3.parts}
	// preGPT4o also cuts in front of capitals in a word, and leaves a contraction at its word
	// (Phi-4-mini).
	preGPT4o = &preTokenizer{parts: []any{splitBy(
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
			`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
			`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
			`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
			`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`)}}
	// preTekken is that of GPT-4o without contractions, and with one digit at a time (Mistral
	// Nemo).
	preTekken = &preTokenizer{
		parts: []any{splitBy(
			`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
				`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|` +
				`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`)},
		ignoreMerges: true, begin: true,
	}
	preQwen2 = &preTokenizer{
		normalizer: object{"type": "NFC"},
		parts: []any{splitBy(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` +
			` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`)},
	}
	// preStableLM2 is that of Qwen2 without a normaliser.
	preStableLM2 = &preTokenizer{parts: preQwen2.parts}
	// preSeed is that without line breaks after punctuation.
	preSeed = &preTokenizer{parts: []any{splitBy(
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|` +
			` ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`)}}
	preFalcon = &preTokenizer{
		parts: []any{object{"type": "Punctuation", "behavior": "Contiguous"}}, regex: true,
		after: []any{digits(false), splitBy(`[0-9][0-9][0-9]`)},
	}
	// The tokenizer.json of BLOOM has some of these characters in a class inside the class, which
	// means the same.
	preBloom = &preTokenizer{parts: []any{splitBy(` ?[^(\s|.,!?…。，、।۔،)]+`)}}
	// preDefault is llama.cpp's, for models whose own is not known to it.
	preDefault = &preTokenizer{parts: []any{
		splitBy(`[\p{P}\$\+<=>\^~\|]+`),
		splitBy(`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)`),
		splitBy(`\p{N}+`), splitBy(`[0-9][0-9][0-9]`),
	}}
)

// preTokenizers are the supported values of tokenizer.ggml.pre.
var preTokenizers = map[string]*preTokenizer{
	"gpt-2": preGPT2, "gpt2": preGPT2, "phi-2": preGPT2, "olmo": preGPT2,
	"mpt": preGPT2, "exaone4": preGPT2, "jais": preGPT2, "trillion": preGPT2,
	"granite-docling": preGPT2,
	"command-r":       preDigits, "exaone": preDigits, "minerva-7b": preDigits,
	"smollm": preDigits, "starcoder": preDigits, "refact": preDigits, "codeshell": preDigits,
	"llama-bpe": preLlama3, "llama3": preLlama3, "llama-v3": preLlama3, "falcon3": preLlama3,
	"smaug-bpe": preSmaug, "dbrx": preSmaug, "glm4": preSmaug, "chatglm-bpe": preSmaug,
	"gpt-4o": preGPT4o, "llama4": preGPT4o, "tekken": preTekken,
	"qwen2": preQwen2, "deepseek-r1-qwen": preQwen2,
	"stablelm2": preStableLM2, "hunyuan": preStableLM2, "megrez": preStableLM2,
	"seed-coder": preSeed,
	"falcon":     preFalcon, "bloom": preBloom, "gpt3-finnish": preBloom,
	"default": preDefault,
}

// preOfArchitecture is what a file without tokenizer.ggml.pre has.
var preOfArchitecture = map[string]string{
	"gpt2": "gpt-2", "qwen2": "qwen2", "qwen3": "qwen2", "falcon": "falcon", "bloom": "bloom",
	"gptneox": "gpt-2", "mpt": "gpt-2", "starcoder2": "starcoder", "qwen2vl": "qwen2",
	"qwen3vl": "qwen2", "qwen3moe": "qwen2",
}

// preNames returns the supported names, sorted.
func preNames() []string { return slices.Sorted(maps.Keys(preTokenizers)) }

// TokenizerJSON returns the tokenizer as Hugging Face's conversion would write it to
// tokenizer.json. It returns an error if the file has no tokenizer, one that contradicts itself, or
// one of SentencePiece, which [Model.Pieces] returns.
func (m *Model) TokenizerJSON() ([]byte, error) {
	if m.words == nil {
		return nil, m.File.fail("it has no tokenizer: key %s is missing", wordKey("model"))
	}
	w := m.words
	parts := object{"version": "1.0", "truncation": nil, "padding": nil}
	model := object{}
	var merges [][2]string
	switch w.model {
	case "gpt2":
		var err error
		if merges, err = w.givenMerges(); err != nil {
			return nil, err
		}
		w.byteLevel(parts, model)
	case "llama":
		var err error
		if merges, err = w.scoredMerges(); err != nil {
			return nil, err
		}
		w.sentencePiece(parts, model)
	case "bert":
		w.wordPiece(parts, model)
	default:
		return nil, m.File.fail("its tokenizer is a file of SentencePiece")
	}
	parts["added_tokens"] = w.added()
	return w.write(parts, model, merges)
}

// write writes a tokenizer.json. The vocabulary and the merges, which are large, are written one by
// one.
func (w *words) write(parts, model object, merges [][2]string) ([]byte, error) {
	small, err := json.Marshal(model)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	head, err := json.Marshal(parts)
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	var b bytes.Buffer
	b.Grow(w.jsonSize(merges) + len(small) + len(head)) // so that it is not copied while it grows
	b.Write(head[:len(head)-1])
	b.WriteString(`,"model":`)
	b.Write(small[:len(small)-1])
	b.WriteString(`,"vocab":{`)
	w.writeVocabulary(&b, false)
	if len(w.ids) < len(w.tokens) {
		b.WriteString(`},"repeats":{`)
		w.writeVocabulary(&b, true)
	}
	b.WriteByte('}')
	if w.model != "bert" {
		b.WriteString(`,"merges":[`)
		for i, m := range merges {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('[')
			writeText(&b, m[0])
			b.WriteByte(',')
			writeText(&b, m[1])
			b.WriteByte(']')
		}
		b.WriteByte(']')
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}

// writeVocabulary writes the tokens that repeat an earlier one, or the others, with their ids.
func (w *words) writeVocabulary(b *bytes.Buffer, repeats bool) {
	comma := ""
	for i, token := range w.tokens {
		if w.repeats(i) == repeats {
			b.WriteString(comma)
			writeText(b, w.spelt(token))
			fmt.Fprintf(b, ":%d", i)
			comma = ","
		}
	}
}

// jsonSize returns about how many bytes the vocabulary and the merges have in JSON.
func (w *words) jsonSize(merges [][2]string) int {
	size := 1 << 10
	for _, token := range w.tokens {
		size += len(token) + len(`"":1234567,`)
	}
	for _, m := range merges {
		size += len(m[0]) + len(m[1]) + len(`["",""],`)
	}
	return size
}

// writeText writes a text as JSON.
func writeText(b *bytes.Buffer, text string) {
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// added are the tokens that are searched for in the text before anything else: control tokens, the
// unknown token, and those that the makers of the model defined.
func (w *words) added() []any {
	list := []any{}
	for i, token := range w.tokens {
		kind := w.kind(i)
		if kind != sentencepiece.Control && kind != sentencepiece.User &&
			kind != sentencepiece.Unknown || w.repeats(i) {
			continue
		}
		list = append(list, object{
			"id": i, "content": w.spelt(token), "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false, "special": kind != sentencepiece.User,
		})
	}
	return list
}

// surround is a post-processor that adds tokens to a text or to a pair of texts. secondFirst
// reports whether first is also in front of the second text of a pair.
func (w *words) surround(first, last string, secondFirst bool) any {
	if first == "" && last == "" {
		return nil
	}
	special := object{}
	token := func(role string, segment int) object {
		text := w.spelt(w.roleText(role))
		special[text] = object{"id": text, "ids": []int{*w.role[role]}, "tokens": []string{text}}
		return object{"SpecialToken": object{"id": text, "type_id": segment}}
	}
	sequence := func(name string, segment int, front bool) []any {
		var list []any
		if first != "" && front {
			list = append(list, token(first, segment))
		}
		list = append(list, object{"Sequence": object{"id": name, "type_id": segment}})
		if last != "" {
			list = append(list, token(last, segment))
		}
		return list
	}
	single := sequence("A", 0, true)
	pair := slices.Concat(single, sequence("B", 1, secondFirst))
	return object{
		"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special,
	}
}

// addedRoles returns the roles of the tokens that are added to a text.
func (w *words) addedRoles() (first, last string) {
	if w.begin {
		first = "bos_token"
	}
	if w.end {
		last = "eos_token"
	}
	return first, last
}

// byteLevel fills in the parts of a byte-level BPE.
func (w *words) byteLevel(parts, model object) {
	pre := preTokenizers[w.pre]
	level := object{
		"type": "ByteLevel", "add_prefix_space": w.spaceInFront, "trim_offsets": true,
		"use_regex": pre.regex,
	}
	parts["normalizer"] = pre.normalizer
	parts["pre_tokenizer"] = level
	if all := slices.Concat(pre.parts, []any{level}, pre.after); len(all) > 1 {
		parts["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": all}
	}
	first, last := w.addedRoles()
	parts["post_processor"] = w.surround(first, last, true)
	parts["decoder"] = object{
		"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true,
	}
	maps.Copy(model, bpe(nil, false, pre.ignoreMerges))
}

// bpe returns the small keys of a BPE model.
func bpe(unknown any, byteFallback, ignoreMerges bool) object {
	return object{
		"type": "BPE", "dropout": nil, "unk_token": unknown, "continuing_subword_prefix": nil,
		"end_of_word_suffix": nil, "fuse_unk": byteFallback, "byte_fallback": byteFallback,
		"ignore_merges": ignoreMerges,
	}
}

// givenMerges returns the merges that the file lists, as two tokens with a space between.
func (w *words) givenMerges() ([][2]string, error) {
	all := make([][2]string, len(w.merges))
	for i, m := range w.merges {
		left, right := "", ""
		if len(m) > 1 { // the first token may begin with a space
			if at := strings.IndexByte(m[1:], ' '); at >= 0 {
				left, right = m[:at+1], m[at+2:]
			}
		}
		if left == "" || right == "" || !utf8.ValidString(m) {
			return nil, w.file.fail("%s[%d] is %s; it must be two tokens with a space between",
				wordKey("merges"), i, quoted(m))
		}
		all[i] = [2]string{left, right}
	}
	return all, nil
}

// spaceMark stands for a space in vocabularies of SentencePiece.
const spaceMark = "▁"

// sentencePiece fills in the parts of a BPE of SentencePiece.
func (w *words) sentencePiece(parts, model object) {
	replace := object{"type": "Replace", "pattern": object{"String": " "}, "content": spaceMark}
	back := object{"type": "Replace", "pattern": object{"String": spaceMark}, "content": " "}
	decoders := []any{back, object{"type": "ByteFallback"}, object{"type": "Fuse"}}
	parts["normalizer"] = replace
	if w.spaceInFront {
		prepend := object{"type": "Prepend", "prepend": spaceMark}
		parts["normalizer"] = object{"type": "Sequence", "normalizers": []any{prepend, replace}}
		decoders = append(decoders, object{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	parts["pre_tokenizer"] = nil
	first, last := w.addedRoles()
	parts["post_processor"] = w.surround(first, last, true)
	parts["decoder"] = object{"type": "Sequence", "decoders": decoders}
	var unknown any
	for i, token := range w.tokens {
		if w.kind(i) == sentencepiece.Unknown {
			unknown = token
			break
		}
	}
	if id := w.role["unk_token"]; id != nil {
		unknown = w.tokens[*id]
	}
	maps.Copy(model, bpe(unknown, true, false))
}

// Limits of a vocabulary with scores, far above those of real ones: the length of a token, because
// looking up all its parts takes the square of it, and how long all merges are together. Tokens
// that are made of each other in many ways would otherwise take far more memory than the file.
const (
	maxPiece     = 512
	maxMergeText = 64 << 20
)

// scoredMerges returns the merges that make the tokens of a BPE of SentencePiece, the best score
// first. It lists every way to cut a token into two tokens, in the order of Hugging Face's
// conversion: of equal scores longer parts come first, then parts with lower ids.
func (w *words) scoredMerges() ([][2]string, error) {
	type merge struct {
		left, right         int32
		token               int32
		leftRunes, allRunes int32
	}
	var all []merge
	size := 0
	for i, token := range w.tokens {
		if len(token) > maxPiece {
			return nil, w.file.fail("%s[%d] has %d bytes, the limit is %d", wordKey("tokens"), i,
				len(token), maxPiece)
		}
		from, runes := len(all), int32(0)
		for at := range token {
			if at > 0 {
				left, ok := w.ids[token[:at]]
				right, also := w.ids[token[at:]]
				if ok && also && !w.repeats(i) {
					all = append(all, merge{int32(left), int32(right), int32(i), runes, 0})
					size += len(token)
				}
			}
			runes++
		}
		if size > maxMergeText {
			return nil, w.file.fail("the tokens can be made of each other in so many ways that "+
				"the merges have more than %d bytes, which is the limit", maxMergeText)
		}
		for j := range all[from:] {
			all[from+j].allRunes = runes
		}
		slices.SortStableFunc(all[from:], func(a, b merge) int {
			return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right))
		})
	}
	slices.SortStableFunc(all, func(a, b merge) int {
		return cmp.Or(cmp.Compare(w.scores[b.token], w.scores[a.token]),
			cmp.Compare(b.leftRunes, a.leftRunes),
			cmp.Compare(b.allRunes-b.leftRunes, a.allRunes-a.leftRunes))
	})
	merges := make([][2]string, len(all))
	for i, m := range all {
		merges[i] = [2]string{w.tokens[m.left], w.tokens[m.right]}
	}
	return merges, nil
}

// spelt returns a token as tokenizer.json spells it. In vocabularies of WordPiece, GGUF marks the
// tokens that begin a word, and Hugging Face those that continue one.
func (w *words) spelt(token string) string {
	if w.model != "bert" || bracketed(token) {
		return token
	}
	if rest, begins := strings.CutPrefix(token, spaceMark); begins {
		return rest
	}
	return "##" + token
}

func bracketed(token string) bool {
	return strings.HasPrefix(token, "[") && strings.HasSuffix(token, "]")
}

// wordPiece fills in the parts of WordPiece. The file does not say whether text becomes lower case.
// It does if no token has a capital letter.
func (w *words) wordPiece(parts, model object) {
	lower := !slices.ContainsFunc(w.tokens, func(token string) bool {
		return !bracketed(token) && strings.ContainsFunc(token, unicode.IsUpper)
	})
	parts["normalizer"] = object{
		"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
		"strip_accents": nil, "lowercase": lower,
	}
	parts["pre_tokenizer"] = object{"type": "BertPreTokenizer"}
	parts["post_processor"] = w.surround("cls_token", "sep_token", false)
	parts["decoder"] = object{"type": "WordPiece", "prefix": "##", "cleanup": true}
	maps.Copy(model, object{
		"type": "WordPiece", "unk_token": w.spelt(w.roleText("unk_token")),
		"continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
	})
}
