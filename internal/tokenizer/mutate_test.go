package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/internal/mutant"
)

var (
	mutants    = flag.Int("mutants", 400, "how many files TestMutants changes and tries")
	mutantSeed = flag.Uint64("mutant-seed", 1, "the seed of TestMutants")
)

// These limit the time and memory to read one changed file and to encode and decode six texts.
const (
	mutantTime   = 2 * time.Second
	mutantMemory = 200 << 20 // bytes set aside in all, a few times what is needed at once
)

// mutantTexts are short, and have something for every part to work on.
var mutantTexts = []string{
	"a banana", "the keys to the cabinet are here", "  \t\n a  b \r\n",
	"Éé ﷺ 日本語 İstanbul 😀 e\u0301",
	"<s>[MASK]<|endoftext|> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1234567890",
	"a\xffb\xe2\x82 ▁▁Ġ_ \x00\ufffd",
}

// TestMutants changes the trained files at random, as an attacker might, and checks that each is
// refused, or is read and used within the limits.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: with -short it leaves out damaged files")
	}
	var files [][]byte
	for _, kind := range kinds {
		data, err := os.ReadFile(filepath.Join("testdata", kind+".json"))
		must(t, err)
		files = append(files, data)
	}
	parsed, encoded, limited := 0, 0, 0
	for i := range *mutants {
		m := mutator{rand.New(rand.NewPCG(*mutantSeed, uint64(i)))}
		file := m.mutate(files[m.IntN(len(files))])
		took, memory, report := tryMutant(file)
		if took > mutantTime { // perhaps this process had other work, such as collecting garbage
			again, _, _ := tryMutant(file)
			took = min(took, again)
		}
		if took > mutantTime || memory > mutantMemory || report.failed != "" {
			path := filepath.Join(t.TempDir(), "..", fmt.Sprintf("mutant-%d-%d.json", *mutantSeed,
				i))
			if keep := os.Getenv("MUTANTS"); keep != "" {
				path = filepath.Join(keep, filepath.Base(path))
				_ = os.WriteFile(path, file, 0o666)
			}
			t.Errorf("seed %d, mutant %d: %v, %d MiB, %s; parts of it:\n%.700s",
				*mutantSeed, i, took, memory>>20, report.failed, partsOf(file))
		}
		parsed += report.parsed
		encoded += report.encoded
		limited += report.limited
	}
	t.Logf("%d of %d files were read, %d texts encoded and %d refused for a limit", parsed,
		*mutants, encoded, limited)
	if parsed < *mutants/4 || encoded < *mutants || limited < *mutants/20 {
		t.Errorf("%d files read, %d texts encoded, %d refused for a limit: the changes test too "+
			"little", parsed, encoded, limited)
	}
}

type mutantReport struct {
	parsed, encoded, limited int
	failed                   string
}

func tryMutant(file []byte) (took time.Duration, memory uint64, report mutantReport) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processTime()
	report = useMutant(file)
	took = processTime() - start
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, report
}

func useMutant(file []byte) (report mutantReport) {
	defer func() {
		if p := recover(); p != nil {
			report.failed = fmt.Sprintf("panic: %v", p)
		}
	}()
	bad := func(err error) {
		switch text := err.Error(); {
		case strings.Contains(text, "Go "), strings.Contains(text,
			"cannot unmarshal"), strings.Contains(text, "json:"):
			report.failed = "error of Go: " + text
		case len(text) > 2000:
			report.failed = fmt.Sprintf("error of %d bytes: %.400s", len(text), text)
		}
	}
	tok, err := Parse(file, "mutant")
	if err != nil {
		bad(err)
		return report
	}
	report.parsed++
	for _, text := range mutantTexts {
		tokens, err := tok.Encode(text, true)
		if err != nil {
			bad(err)
			report.limited++
			continue
		}
		report.encoded++
		for _, e := range tokens {
			if e.Begin < 0 || e.Begin > e.End || e.End > len(text) {
				report.failed = fmt.Sprintf("token %+v is not inside %q", e, text)
			}
		}
		for i, e := range tokens {
			if i < 50 {
				_ = tok.TokenText(e.ID)
			}
		}
		i := 0
		for e, err := range tok.Each(text, true) {
			if err != nil || e != tokens[i] {
				report.failed = fmt.Sprintf("Each yields %v, %v as token %d, want %v", e, err, i,
					tokens[i])
				break
			}
			i++
		}
		if _, err := tok.Decode(idsOf(tokens), true); err != nil {
			bad(err)
		}
	}
	return report
}

// partsOf is a file without its vocabulary.
func partsOf(file []byte) string {
	var f map[string]any
	if json.Unmarshal(file, &f) != nil {
		return string(file)
	}
	if model, ok := f["model"].(map[string]any); ok {
		delete(model, "vocab")
		delete(model, "merges")
		delete(f, "added_tokens")
	}
	text, _ := json.Marshal(f) // it was read from JSON
	return string(text)
}

// mutator makes changes.
type mutator struct{ *rand.Rand }

type object = map[string]any

func (m mutator) mutate(file []byte) []byte {
	var f object
	if err := json.Unmarshal(file, &f); err != nil {
		panic(err)
	}
	for range 1 + m.IntN(4) {
		m.change(f)
	}
	data, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	if len(data) > 1<<20 { // only slow to make and to read
		return m.mutate(file)
	}
	if m.IntN(15) == 0 { // change any value
		v := mutant.Parse(data)
		v.Damage(m.Rand, nil)
		data = v.Text()
	}
	if m.IntN(50) == 0 { // break the JSON itself
		data = mutant.Scratch(m.Rand, data)
	}
	return data
}

func (m mutator) change(f object) {
	if m.IntN(12) == 0 { // most of these are refused when the file is read
		switch m.IntN(2) {
		case 0:
			m.model(f["model"])
		default:
			f["truncation"] = object{
				"direction": "Right", "max_length": m.number(), "strategy": "LongestFirst",
				"stride": m.number(),
			}
			f["padding"] = object{
				"strategy": object{"Fixed": m.number()}, "direction": "Left",
				"pad_to_multiple_of": m.number(),
				"pad_id":             m.number(), "pad_type_id": 0, "pad_token": "x",
			}
		}
		return
	}
	switch m.IntN(10) {
	case 0, 1, 2:
		f["normalizer"] = m.with(f["normalizer"], "normalizers", m.normalizer)
	case 3, 4, 5:
		f["pre_tokenizer"] = m.with(f["pre_tokenizer"], "pretokenizers", m.preTokenizer)
	case 6:
		f["post_processor"] = m.with(f["post_processor"], "processors", m.postProcessor)
	case 7, 8:
		f["decoder"] = m.with(f["decoder"], "decoders", m.decoder)
	default:
		m.addToken(f)
	}
}

// with adds parts to those that are there, in front or behind, some many times.
func (m mutator) with(old any, list string, part func() any) any {
	var all []any
	for range 1 + m.IntN(3) {
		p := part()
		text, _ := json.Marshal(p) // it is made of what JSON has
		for range min(m.count(), 1+200_000/len(text)) {
			all = append(all, p)
		}
	}
	if old != nil {
		all = slices.Insert(all, m.IntN(len(all)+1), old)
	}
	if m.IntN(6) == 0 {
		m.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	var seq any = object{"type": "Sequence", list: all}
	for range m.IntN(5) / 4 * mutant.Pick(m.Rand, []int{1, 1, 3, 7, 40}) {
		seq = object{"type": "Sequence", list: []any{seq}}
	}
	return seq
}

// seldom is true once in n times.
func (m mutator) seldom(n int) bool { return m.IntN(n) == 0 }

// count is how often a part stands there.
func (m mutator) count() int {
	if m.seldom(60) {
		return 300
	}
	return mutant.Pick(m.Rand, []int{1, 1, 1, 1, 1, 1, 1, 2, 3, 9, 30, 120})
}

func (m mutator) number() any {
	return mutant.Pick(m.Rand, []any{
		0, 1, 2, 3, 16, 512, 100_000, 1 << 24, 1<<24 + 1, 1 << 31, 1<<32 - 1,
		1 << 40, -1, 1.5, nil, "1",
	})
}

func (m mutator) flag() bool { return m.IntN(2) == 0 }

func (m mutator) text() string {
	s := mutant.Pick(m.Rand, []string{
		"", "a", "b", " ", "▁", "Ġ", "é", "_", "\u0301", "ﷺ", "<s>", "[UNK]",
		"##", "aa", "a b", "\x00", "e", "日",
	})
	return strings.Repeat(s, mutant.Pick(m.Rand, []int{1, 1, 1, 2, 10, 100, 1000, 1 + m.IntN(20)/19*50_000}))
}

func (m mutator) pattern() any {
	if m.flag() {
		return object{"String": m.text()}
	}
	return object{"Regex": mutant.Pick(m.Rand, []string{
		"", "a", "a*", "a*?", "(a|aa)+$", "(a*)*b", "(?=.*)", "(?<=.*)a", `\w+\s*`, `\s+(?!\S)|\s+`,
		".", `(?:.|\n)`, "^", "$", "a{1000}",
		"(?:a{100}){100}", `(\w|\w\w)+!`, `(?!a)`, "[^a]", `\p{L}+|\p{N}`,
		`(?:(?:(?:a?){50}){50}){50}`, `(?=(a+))a*b`, "(?<!a|b*)",
		"((?:a?)+)+$", `\A`, "(?>a+)", "(?i:a)+", `.*.*.*.*.*.*=`, "(?:)*",
		gpt2Pattern, llama3Pattern, " " +
			"{2,}", `[\s\S]*?b`, `(?:(?=.*a).)*`, `(?<!.*b)a`, `(?:a|ab|b)*?c`,
	})}
}

func (m mutator) normalizer() any {
	kind := mutant.Pick(m.Rand, names(normalizerKinds))
	o := object{"type": kind}
	switch kind {
	case "BertNormalizer":
		for _, key := range []string{
			"clean_text", "handle_chinese_chars", "strip_accents", "lowercase",
		} {
			o[key] = m.flag()
		}
	case "Precompiled":
		o["precompiled_charsmap"] = m.charsmap()
	case "Prepend":
		o["prepend"] = m.text()
	case "Replace":
		o["pattern"], o["content"] = m.pattern(), m.text()
	case "Sequence":
		o["normalizers"] = []any{object{"type": "NFKC"}, object{"type": "ByteLevel"}}
	case "Strip":
		o["strip_left"], o["strip_right"] = m.flag(), m.flag()
	}
	return o
}

// charsmap is a map with random transitions, of which some lead to a replacement.
func (m mutator) charsmap() string {
	units := make([]uint32, 512)
	for i := range units {
		units[i] = uint32(i)&0xff | uint32(m.IntN(512))<<10 | uint32(m.IntN(2))<<8
	}
	for range 200 {
		units[m.IntN(len(units))] = 1<<31 | uint32(m.IntN(64))
	}
	var data []byte
	data = append(data, byte(len(units)*4), byte(len(units)*4>>8), 0, 0)
	for _, u := range units {
		data = append(data, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return base64.StdEncoding.EncodeToString(append(data, strings.Repeat(m.text()+"\x00", 3)...))
}

func (m mutator) preTokenizer() any {
	kind := mutant.Pick(m.Rand, names(preTokenizerKinds))
	o := object{"type": kind}
	switch kind {
	case "ByteLevel":
		o["add_prefix_space"], o["trim_offsets"], o["use_regex"] = m.flag(), m.flag(), m.flag()
	case "CharDelimiterSplit":
		o["delimiter"] = mutant.Pick(m.Rand, []string{"a", " ", "é", ""})
	case "Digits":
		o["individual_digits"] = m.flag()
	case "Metaspace":
		o["replacement"], o["prepend_scheme"], o["split"] = mutant.Pick(m.Rand, []string{
			"▁", "_", "a", " ",
			"Ġ",
		}), mutant.Pick(m.Rand, []string{"always", "first", "never"}), m.flag()
	case "Punctuation":
		o["behavior"] = m.behavior()
	case "Sequence":
		o["pretokenizers"] = []any{}
	case "Split":
		o["pattern"], o["behavior"], o["invert"] = m.pattern(), m.behavior(), m.flag()
	}
	return o
}

func (m mutator) behavior() string {
	if m.seldom(50) {
		return "Gone"
	}
	return mutant.Pick(m.Rand, []string{
		"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
		"Contiguous",
	})
}

func (m mutator) postProcessor() any {
	named := func() any { return []any{m.text(), mutant.Pick(m.Rand, []any{0, 1, 2, 50})} }
	piece := func() any {
		if m.flag() {
			return object{"Sequence": object{"id": mutant.Pick(m.Rand, []string{"A", "A", "B"}), "type_id": 0}}
		}
		return object{"SpecialToken": object{"id": "x", "type_id": 1}}
	}
	pieces := func() (all []any) {
		p := piece()
		for range mutant.Pick(m.Rand, []int{0, 1, 2, 3, 60, 70}) {
			all = append(all, p)
		}
		return append(all, piece())
	}
	var ids, contents []any
	for range mutant.Pick(m.Rand, []int{0, 1, 2, 1000, 5000}) {
		ids, contents = append(ids, 1), append(contents, "x")
	}
	return mutant.Pick(m.Rand, []any{
		object{"type": "BertProcessing", "sep": named(), "cls": named()},
		object{"type": "ByteLevel", "add_prefix_space": m.flag(), "trim_offsets": true, "use_regex": true},
		object{"type": "RobertaProcessing", "sep": named(), "cls": named(), "trim_offsets": m.flag(), "add_prefix_space": m.flag()},
		object{
			"type": "TemplateProcessing", "single": pieces(), "pair": pieces(),
			"special_tokens": object{"x": object{"id": "x", "ids": ids, "tokens": contents}},
		},
	})
}

func (m mutator) decoder() any {
	kind := mutant.Pick(m.Rand, names(decoderKinds))
	o := object{"type": kind}
	switch kind {
	case "BPEDecoder":
		o["suffix"] = m.text()
	case "ByteLevel":
		o["add_prefix_space"], o["trim_offsets"], o["use_regex"] = true, true, true
	case "CTC":
		o["pad_token"], o["word_delimiter_token"], o["cleanup"] = m.text(), m.text(), m.flag()
	case "Metaspace":
		o["replacement"], o["prepend_scheme"], o["split"] = "▁", "always", m.flag()
	case "Replace":
		o["pattern"], o["content"] = m.pattern(), m.text()
	case "Sequence":
		o["decoders"] = []any{object{"type": "Fuse"}}
	case "Strip":
		o["content"], o["start"], o["stop"] = mutant.Pick(m.Rand, []string{
			"a", " ",
			"▁",
		}), m.number(), m.number()
	case "WordPiece":
		o["prefix"], o["cleanup"] = m.text(), m.flag()
	}
	return o
}

func (m mutator) addToken(f object) {
	added, _ := f["added_tokens"].([]any)
	next := 0
	if model, ok := f["model"].(object); ok {
		switch vocab := model["vocab"].(type) {
		case object:
			next = len(vocab)
		case []any:
			next = len(vocab)
		}
	}
	for _, a := range added {
		if o, ok := a.(object); ok {
			if id, ok := o["id"].(float64); ok {
				next = max(next, int(id)+1)
			}
		}
	}
	text := m.text()
	for i := range mutant.Pick(m.Rand, []int{1, 2, 1000}) {
		added = append(added, object{
			"id": next + i, "content": text + strings.Repeat("x", i),
			"single_word": m.flag(), "lstrip": m.flag(),
			"rstrip": m.flag(), "normalized": m.flag(), "special": m.flag(),
		})
	}
	f["added_tokens"] = added
}

func (m mutator) model(old any) {
	model, ok := old.(object)
	if !ok {
		return
	}
	switch m.IntN(8) {
	case 0:
		model["max_input_chars_per_word"] = m.number()
	case 1:
		model["continuing_subword_prefix"] = m.text()
	case 2:
		model["end_of_word_suffix"] = m.text()
	case 3:
		for _, key := range []string{"byte_fallback", "fuse_unk", "ignore_merges"} {
			model[key] = m.flag()
		}
	case 4:
		model["unk_token"], model["unk_id"] = m.text(), m.number()
	case 5:
		model["type"] = mutant.Pick(m.Rand, []string{"BPE", "WordPiece", "WordLevel", "Unigram"})
	default:
		switch vocab := model["vocab"].(type) {
		case object:
			text := m.text()
			for i := range mutant.Pick(m.Rand, []int{1, 10, 300}) {
				vocab[text+strings.Repeat("a", i)] = len(vocab)
			}
		case []any:
			for range mutant.Pick(m.Rand, []int{1, 10, 300}) {
				vocab = append(vocab, []any{m.text(), mutant.Pick(m.Rand, []any{-1, 0, 1e300, -1e300})})
			}
			model["vocab"] = vocab
		}
	}
}
