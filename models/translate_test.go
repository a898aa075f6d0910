package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// translator writes a model of two stacks into a folder: the weights of a golden, and a tokenizer
// of SentencePiece with a few letters.
func translator(t *testing.T, golden string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("testdata", "goldens", golden)
	for _, name := range []string{"config.json", "generation_config.json", "model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		must(t, err)
		if change, ok := files[name]; ok { // keys that are set
			all := map[string]any{}
			for _, text := range []string{string(data), change} {
				var keys map[string]any
				must(t, json.Unmarshal([]byte(text), &keys))
				maps.Copy(all, keys)
			}
			if data, err = json.Marshal(all); err != nil {
				t.Fatal(err)
			}
		}
		writeFile(t, dir, name, string(data))
	}
	for name, text := range files {
		if !strings.HasSuffix(name, "config.json") || name == "tokenizer_config.json" {
			writeFile(t, dir, name, text)
		}
	}
	return dir
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// spm is a Unigram file of SentencePiece with pieces of one byte length.
func spm(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString("\x0a" + string(rune(len(p)+7)) + "\x0a" + string(rune(len(p))) + p +
			"\x15\x00\x00\x80\xbf") // a score of -1
	}
	return b.String()
}

const letters = `"</s>":2,"<unk>":3,"<pad>":1,"<s>":0,"▁":4,"a":5,"b":6,"▁a":7,"▁b":8`

// m2m100 is a model whose languages are those of M2M100's checkpoint for WMT 21, ids 9 to 16.
func m2m100(t *testing.T, generation string) string {
	return translator(t, "m2m_100", map[string]string{
		"sentencepiece.bpe.model": spm("▁", "a", "b", "▁a", "▁b"),
		"vocab.json":              "{" + letters + "}",
		"tokenizer_config.json":   `{"tokenizer_class":"M2M100Tokenizer","language_codes":"wmt21"}`,
		"generation_config.json":  generation,
	})
}

// TestTargetLanguage: the tokens of a text are the source with its language, the id with which a
// target begins, and the language of the target. Without one the text is refused.
func TestTargetLanguage(t *testing.T) {
	m, err := Open(m2m100(t, "{}"), Options{Backend: "go"})
	must(t, err)
	_, err = m.Encode("a b", trace.SpecialsAuto)
	const want = "needs a language to translate into: give To as one of en, ha, is, ja, cs, ru, zh"
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	for _, c := range []struct {
		from, to string
		want     []int
	}{
		{"", "de", []int{9, 7, 8, 2, 48, 16}},
		{"ru", "__is__", []int{14, 7, 8, 2, 48, 11}},
	} {
		view, err := m.Between(c.from, c.to)
		must(t, err)
		tokens, err := view.Encode("a b", trace.SpecialsAuto)
		if got := trace.IDs(tokens); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %q to %q: %v, %v, want %v", c.from, c.to, got, err, c.want)
		}
		follows, _, err := trace.EncodeAfter(view, "a b", "b a")
		if got := trace.IDs(follows); err != nil || !slices.Equal(got, []int{8, 7}) {
			t.Errorf("the target is %v, %v, want its words alone", got, err)
		}
	}
	_, err = m.Between("", "fr")
	if !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), `target language "fr" is not known`) {
		t.Errorf("error %v", err)
	}
}

// TestPiecesAlone: a file of SentencePiece without a vocabulary is numbered as the class does it,
// and one of another class is none that is read.
func TestPiecesAlone(t *testing.T) {
	control := func(text, use string) string {
		size := string(rune(len(text) + 4))
		return "\x0a" + size + "\x0a" + string(rune(len(text))) + text + "\x18" + use
	}
	pieces := control("<pad>", "\x03") + control("</s>", "\x03") + control("<unk>", "\x02") +
		spm("▁", "a", "b", "▁a", "▁b")
	for _, c := range []struct {
		golden, file, config string
		want                 []int
	}{
		{"t5", "spiece.model", `{"extra_ids":2}`, []int{6, 7, 1, 48}},
		{"mt5", "spiece.model", `{"extra_ids":0}`, []int{6, 7, 1, 48}},
		{"pegasus", "spiece.model", `{"offset":10}`, []int{16, 17, 1, 48}},
		{"mbart", "sentencepiece.bpe.model", `{"src_lang":"de_DE"}`, []int{7, 8, 2, 11, 48, 16}},
	} {
		m, err := Open(translator(t, c.golden, map[string]string{
			c.file: pieces, "tokenizer_config.json": c.config, "generation_config.json": "{}",
		}), Options{Backend: "go"})
		must(t, err)
		var view trace.Model = m
		if c.golden == "mbart" {
			if view, err = m.Between("", "fr_XX"); err != nil {
				t.Fatal(err)
			}
		}
		tokens, err := view.Encode("a b", trace.SpecialsAuto)
		if got := trace.IDs(tokens); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.golden, got, err, c.want)
		}
	}
	m, err := Open(translator(t, "t5", map[string]string{
		"spiece.model": pieces, "tokenizer_config.json": `{"tokenizer_class":"XLNetTokenizer"}`,
	}), Options{Backend: "go"})
	must(t, err)
	_, err = m.Encode("a b", trace.SpecialsAuto)
	if err == nil || !strings.Contains(err.Error(), "found spiece.model: convert it once") {
		t.Errorf("another class: error %v", err)
	}
	for what, c := range map[string]struct{ file, config, want string }{
		"extra ids":   {pieces, `{"extra_ids":9999999}`, "extra_ids is 9999999; want a number from 0 to"},
		"no protobuf": {"\xff", "{}", "cut off or not of SentencePiece"},
		"few pieces":  {control("<unk>", "\x02"), `{}`, "no pieces"},
		"byte-pairs":  {pieces + "\x12\x02\x18\x02", `{}`, "model_type is 2"},
	} {
		_, err := Open(translator(t, "t5", map[string]string{
			"spiece.model": c.file, "tokenizer_config.json": c.config,
		}), Options{Backend: "go"})
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "/spiece.model: ") {
			t.Errorf("%s: error %v, want one of spiece.model with %q", what, err, c.want)
		}
	}
	_, err = Open(translator(t, "pegasus", map[string]string{
		"spiece.model": pieces, "tokenizer_config.json": `{"offset":1}`,
	}), Options{Backend: "go"})
	if err == nil || !strings.Contains(err.Error(), "offset is 1") {
		t.Errorf("offset: error %v", err)
	}
}

// TestForcedFirst: forced_bos_token_id of generation_config.json, or else of config.json, follows
// the start of every target.
func TestForcedFirst(t *testing.T) {
	for _, c := range []struct {
		generation string
		want       []int
	}{
		{`{"forced_bos_token_id":12}`, []int{9, 7, 2, 48, 12}},
		{`{"forced_bos_token_id":12,"decoder_start_token_id":5}`, []int{9, 7, 2, 48, 12}},
		{`{"decoder_start_token_id":13}`, []int{9, 7, 2, 48}}, // it is a language
		{ // the start is 4
			`{"bos_token_id":4,"decoder_start_token_id":null,"forced_bos_token_id":12}`,
			[]int{9, 7, 2, 48, 12},
		},
	} {
		m, err := Open(m2m100(t, c.generation), Options{Backend: "go"})
		must(t, err)
		tokens, err := m.Encode("a", trace.SpecialsAuto)
		if got := trace.IDs(tokens); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.generation, got, err, c.want)
		}
		if start := m.spec.TargetStart; strings.Contains(c.generation, "start") == (start == 3) {
			t.Errorf("%s: the target starts with %d", c.generation, start)
		}
	}
	for generation, want := range map[string]string{
		`{"forced_bos_token_id":48}`:       "must be in the vocabulary of 48",
		`{"forced_bos_token_id":[5,6]}`:    "want at most one id each",
		`{"decoder_start_token_id":"x"}`:   "must be a token id",
		`{"decoder_start_token_id":99999}`: "outside the vocabulary of 48",
	} {
		_, err := Open(m2m100(t, generation), Options{Backend: "go"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", generation, err, want)
		}
	}
}

// TestMarianText: Marian cuts sources and targets by files of their own, and names the language of
// the target in front of the source.
func TestMarianText(t *testing.T) {
	files := map[string]string{
		"source.spm": spm("▁", "a", "b", "▁a"), "target.spm": spm("▁", "a", "b", "▁b"),
		"vocab.json":            `{">>fra<<":9,">>deu<<":10,` + letters + "}",
		"tokenizer_config.json": `{"tokenizer_class":"MarianTokenizer"}`,
	}
	m, err := Open(translator(t, "marian", files), Options{Backend: "go"})
	must(t, err)
	view, err := m.Between("", "fra")
	must(t, err)
	for _, c := range []struct {
		m    trace.Model
		text string
		want []int
	}{
		{view, "a b", []int{9, 7, 4, 6, 2, 48}},
		{m, ">>deu<< a", []int{10, 7, 2, 48}},
	} {
		tokens, err := c.m.Encode(c.text, trace.SpecialsAuto)
		if got := trace.IDs(tokens); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	tokens, err := m.Encode("a b", trace.SpecialsFollow)
	if got := trace.IDs(tokens); err != nil || !slices.Equal(got, []int{4, 5, 8}) {
		t.Errorf("the target is %v, %v", got, err)
	}
	_, err = m.Encode("a b", trace.SpecialsAuto)
	if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), "fra, deu") {
		t.Errorf("error %v, want the languages", err)
	}
	if _, err = m.Between("deu", ""); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("error %v for the language of the source", err)
	}
	files["target.spm"] = "x"
	_, err = Open(translator(t, "marian", files), Options{Backend: "go"})
	if err == nil || !strings.Contains(err.Error(), "target.spm") {
		t.Errorf("error %v, want the file", err)
	}
}

// TestSeparateVocabularies: source and target of Marian may have a vocabulary each. The ids of the
// source's tokens follow those of the target's, every id has its own text, and no id of one side is
// taken on the other.
func TestSeparateVocabularies(t *testing.T) {
	files := map[string]string{
		"source.spm": spm("▁", "a", "b", "▁a"), "target.spm": spm("▁", "a", "b", "▁b"),
		"vocab.json": "{" + letters + "}",
		"target_vocab.json": `{"<pad>":0,"<unk>":1,"</s>":2,"▁":3,"▁b":4,"b":5,"a":7,` +
			`"ő":39}`,
		"tokenizer_config.json": `{"tokenizer_class":"MarianTokenizer","separate_vocabs":true}`,
	}
	m, err := Open(translator(t, "marian_separate", files), Options{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, specials := range []trace.Specials{trace.SpecialsAuto, trace.SpecialsFollow} {
		tokens, err := m.Encode("a b", specials)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range tokens {
			got += fmt.Sprintf("%d %q %v, ", token.ID, token.Text, token.Special)
		}
	}
	const want = `47 " a" false, 44 " " false, 46 "b" false, 42 "</s>" true, ` +
		`88 " " true, 3 " " false, 7 "a" false, 4 " b" false, `
	if got != want {
		t.Errorf("the tokens are\n%s, want\n%s", got, want)
	}
	// The files number <unk>, </s> and <pad> by 1, 2 and 0 in the target, 3, 2 and 1 in the source.
	for kind, want := range map[string][2]int{
		"unknown": {1, 40 + 3}, "end": {2, 40 + 2}, "pad": {0, 40 + 1},
	} {
		id, ok := m.Replacement(kind)
		source, has := m.SourceReplacement(kind)
		if !ok || !has || id != want[0] || source != want[1] {
			t.Errorf("%s is %d (%v) and %d (%v) in the source, want %v", kind, id, ok, source,
				has, want)
		}
	}
	if id, ok := m.SourceReplacement("mask"); ok {
		t.Errorf("token %d of the source is a mask", id)
	}
	source := []int{47, 44, 46, 42}
	for _, ids := range [][]int{{47, 7, 88}, {47, 88, 47}, {88}, {47, 89}, {47, 88, 88}} {
		if _, err := m.Trace(t.Context(), ids, []trace.Tap{trace.Logits}); err == nil {
			t.Errorf("ids %v are taken", ids)
		}
	}
	for beams := 1; beams < 3; beams++ {
		ask := trace.Ask{MaxTokens: 6, Sampling: trace.Sampling{Beams: beams}}
		for step, err := range m.Steps(t.Context(), append(source, 88), ask) {
			if err != nil || step.Next.Token.ID >= 40 {
				t.Errorf("with %d beams: %+v, %v", beams, step.Next, err)
			}
		}
	}
	ask := trace.Ask{Continuation: []int{5, 47}}
	for step, err := range m.Steps(t.Context(), append(source, 88), ask) {
		if err == nil {
			t.Errorf("a target goes on with a token of the source: %+v", step.Next)
		}
	}
	_, err = Open(translator(t, "marian", files), Options{Backend: "go"})
	if err == nil || !strings.Contains(err.Error(), "separate_vocabs") {
		t.Errorf("one embedding for two vocabularies: %v", err)
	}
	delete(files, "target_vocab.json")
	m, err = Open(translator(t, "marian_separate", files), Options{Backend: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.Encode("a", trace.SpecialsAuto); err == nil ||
		!strings.Contains(err.Error(), "target_vocab.json") {
		t.Errorf("without the vocabulary of the target: %v", err)
	}
}

// TestContextOfStacks: source and target count apart, and both may be as long as the context.
func TestContextOfStacks(t *testing.T) {
	m, err := Open(filepath.Join("testdata", "goldens", "bart"), Options{Backend: "go"})
	must(t, err)
	for _, c := range []struct{ source, more, want int }{
		{20, 23, 23}, {24, 23, 23}, {20, 24, 0}, {25, 1, 0},
	} {
		ids := append(slices.Repeat([]int{7}, c.source), m.info.Boundary())
		n, last := 0, error(nil)
		ask := trace.Ask{Continuation: slices.Repeat([]int{9}, c.more)}
		for _, err := range m.Steps(t.Context(), ids, ask) {
			if last = err; err == nil {
				n++
			}
		}
		if n != c.want || (last != nil) != (c.want == 0) {
			t.Errorf("a source of %d and %d more: %d steps, %v", c.source, c.more, n, last)
		}
		if left := m.info.Room(ids); (left >= c.more) != (c.want > 0) {
			t.Errorf("a source of %d has room for %d tokens", c.source, left)
		}
	}
}
