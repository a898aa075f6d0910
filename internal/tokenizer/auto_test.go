package tokenizer

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// autoCase is what AutoTokenizer of transformers made of a trained file, with other parts if there
// are some, and a configuration; see testdata/auto.py. IDs has the ids of the texts, by their
// number, that differ from those that the file gives.
type autoCase struct {
	File      string
	Parts     map[string]json.RawMessage
	ModelType string `json:"model_type"`
	Config    map[string]any
	Class     string
	IDs       map[int][]int
}

// parseFor reads the file of a case for its model.
func (c autoCase) parseFor(t *testing.T) (tok *Tokenizer, remarks []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", c.File+".json"))
	must(t, err)
	var file map[string]json.RawMessage
	must(t, json.Unmarshal(data, &file))
	maps.Copy(file, c.Parts)
	if data, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	config := Config{ModelType: c.ModelType, Settings: c.Config, Special: map[string]string{}}
	config.Class, _ = c.Config["tokenizer_class"].(string)
	for key, value := range c.Config {
		if object, ok := value.(map[string]any); ok {
			value = object["content"]
		}
		if text, ok := value.(string); ok && strings.HasSuffix(key, "_token") {
			config.Special[key] = text
		}
	}
	tok, remarks, err = ParseFor(data, c.File, config)
	must(t, err)
	return tok, remarks
}

// unlikeAuto are the files and classes with texts whose ids differ from AutoTokenizer's, and how
// many of 319 for the options with the most. All are byte-level files whose splitter or normalizer
// is not that of the class, which here is that of the file, with which the vocabulary was learnt.
// Of these, published models have the first: SmolLM2 and Granite split digits, and transformers 5
// does not, while transformers 4.53 does.
var unlikeAuto = map[string]int{
	"gpt2 GPT2Tokenizer, digits split": 81,
	"gpt2 GPTNeoXTokenizer":            6,
	"gpt2 Qwen2Tokenizer":              216,
	"llama3 CodeGenTokenizer":          215,
	"llama3 GPT2Tokenizer":             215,
	"llama3 GPTNeoXTokenizer":          215,
	"llama3 Qwen2Tokenizer":            82,
}

// TestAuto compares ids with those of AutoTokenizer for the classes that models of the known
// families have. They are equal unless a remark says that the file counts.
func TestAuto(t *testing.T) {
	var cases []autoCase
	readJSON(t, "auto.json.gz", &cases)
	if len(cases) != 306 {
		t.Fatalf("auto.json.gz has %d cases, want 306", len(cases))
	}
	texts := refCases(t)
	unlike := map[string]int{}
	for _, c := range cases {
		tok, remarks := c.parseFor(t)
		file, none := autoCase{File: c.File, Parts: c.Parts}.parseFor(t)
		if none != nil {
			t.Errorf("%s without a configuration: remarks %q", c.File, none)
		}
		n := 0
		for i, text := range texts {
			want, ok := c.IDs[i]
			if !ok {
				want = idsFor(t, file, text.Text)
			}
			if !slices.Equal(idsFor(t, tok, text.Text), want) {
				n++
			}
		}
		if n > 0 && !strings.Contains(strings.Join(remarks, ""), "its own way counts") {
			t.Errorf("%s as %s %v: %d texts have other ids than AutoTokenizer gives; remarks %q",
				c.File, c.ModelType, c.Config, n, remarks)
		}
		if n > 0 {
			name := c.File + " " + c.Class
			if strings.Contains(string(c.Parts["pre_tokenizer"]), "Digits") {
				name += ", digits split"
			}
			unlike[name] = max(unlike[name], n)
		}
	}
	if diff := cmp.Diff(unlikeAuto, unlike); diff != "" {
		t.Errorf("texts with other ids than AutoTokenizer gives (-want +got):\n%s", diff)
	}
}

// idsFor returns the ids of a text, with control tokens.
func idsFor(t *testing.T, tok *Tokenizer, text string) []int {
	t.Helper()
	tokens, err := tok.Encode(text, true)
	must(t, err)
	return idsOf(tokens)
}

// TestAutoRemarks reads the remarks about a file and its class, and the error for an option with
// another value than true, false and null.
func TestAutoRemarks(t *testing.T) {
	bert := autoCase{File: "bert_uncased", ModelType: "bert"}
	for _, c := range []struct {
		name string
		c    autoCase
		want string
	}{
		{"the parts of the class", bert, ""},
		{"other parts", autoCase{File: "llama2_legacy", ModelType: "llama",
			Config: map[string]any{"tokenizer_class": "LlamaTokenizer"}},
			"not those of tokenizer.json but those of LlamaTokenizer"},
		{"a model that is no WordPiece", autoCase{File: "gpt2", ModelType: "bert"}, ""},
		{"a byte-level file", autoCase{File: "llama3", ModelType: "gpt2"}, "its own way counts"},
		{"a byte-level class", autoCase{File: "llama2_metaspace", ModelType: "gpt2"}, "its own way counts"},
		{"a small vocabulary", autoCase{File: "llama3", ModelType: "mistral"}, ""},
	} {
		_, remarks := c.c.parseFor(t)
		if joined := strings.Join(remarks, ""); !strings.Contains(joined, c.want) ||
			(joined != "") != (c.want != "") {
			t.Errorf("%s: remarks %q, want %q", c.name, remarks, c.want)
		}
	}
	data, err := os.ReadFile("testdata/bert_cased.json")
	must(t, err)
	_, _, err = ParseFor(data, "m/tokenizer.json", Config{ModelType: "bert",
		Settings: map[string]any{"do_lower_case": json.Number("1")}})
	const want = "tokenizer: m/tokenizer.json: tokenizer_config.json beside it: do_lower_case is " +
		"1; want true, false or null"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestMistralSplitter: a large vocabulary of Mistral with the splitter of Llama 3 is the mistake of
// which transformers warns.
func TestMistralSplitter(t *testing.T) {
	var table autoTable
	must(t, json.Unmarshal(autoJSON, &table))
	split := func(expression string) file {
		pre, err := json.Marshal(map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": expression}},
		}})
		must(t, err)
		return file{PreTokenizer: pre}
	}
	for _, c := range []struct {
		model string
		file  file
		size  int
		wrong bool
	}{
		{"mistral", split(`\p{L}+`), 131072, true},
		{"mistral", split(table.Mistral.Expression), 131072, false},
		{"mistral", split(`\p{L}+`), 32768, false},
		{"llama", split(`\p{L}+`), 131072, false},
		{"mistral", file{}, 131072, false},
	} {
		got := table.splitter(Config{ModelType: c.model}, c.file, c.size)
		wrong := len(got) == 1 && strings.Contains(got[0], "fix_mistral_regex")
		if wrong != c.wrong {
			t.Errorf("%s with %d tokens: remarks %q, want one: %v", c.model, c.size, got, c.wrong)
		}
	}
}

var must = testhelp.Must // ends a test at an error
