package family

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models/spec"
)

var update = flag.Bool("update", false,
	"write the table of published files in docs/measured/models.md")

// publishedFile is a config.json that somebody published, and what the class of the reference
// implementation reads from it. internal/bench/peers/published_files.py writes the facts.
type publishedFile struct {
	File        string
	Config      any    // the configuration, or in the reference's own file the name of its class
	Arch        string // the class that the reference builds
	Quant       bool
	UnknownKeys []string `json:"unknown_keys"` // what its class does not know
	Parameters  json.Number
	Beside      json.Number // parameters of those that only another head reads
	Fields      map[string]any
	Scaling     []json.Number // what scores are multiplied by
	Rotary      []map[string]any
	Windows     []any            // of each layer, or null
	Tensors     map[string][]int // those of layer 0 and outside of layers
}

// factsOf returns the lines of a file with facts.
func factsOf(t *testing.T, path string) []publishedFile {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	var all []publishedFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for d.More() {
		var p publishedFile
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%s: after %d lines: %v", path, len(all), err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

const publishedFacts = "../testdata/published_files.jsonl"

// TestPublishedFiles: files that people published are opened or refused as the reference
// implementation reads them, and every number that it reads from them is read here.
func TestPublishedFiles(t *testing.T) {
	for _, p := range factsOf(t, publishedFacts) {
		p.check(t, p.Config.(map[string]any))
	}
}

// publishedFolder has the files themselves beside a checkout that has them.
const publishedFolder = "../../../shared/reference/configs"

// TestPublishedFolder is TestPublishedFiles over the files themselves. It also finds every
// parameter among the tensors that the reference builds, and every tensor among the parameters.
func TestPublishedFolder(t *testing.T) {
	if _, err := os.Stat(publishedFolder); err != nil {
		t.Skip("the folder of published files is not there")
	}
	reference := map[string]publishedFile{}
	for _, p := range factsOf(t, filepath.Join(publishedFolder, "reference.jsonl")) {
		reference[p.File] = p
	}
	paths, err := filepath.Glob(filepath.Join(publishedFolder, "*", "*__*.json"))
	must(t, err)
	for _, path := range paths {
		part := filepath.Base(filepath.Dir(path))
		if part != "open" && part != "refuse" && part != "other" {
			continue
		}
		data, err := os.ReadFile(path)
		must(t, err)
		p := reference[filepath.Base(path)]
		p.File = part + "/" + filepath.Base(path)
		// Package checkpoint reads this word as a number, and refuses what is no JSON.
		data = bytes.ReplaceAll(data, []byte("Infinity"), []byte("1e999"))
		if valid := json.Valid(data); valid == (p.File == "refuse/none__lisa-7B.json") {
			t.Errorf("%s: valid JSON: %v", p.File, valid)
		} else if config, err := decode(data); valid && err != nil {
			t.Errorf("%s: %v", p.File, err)
		} else if valid {
			p.check(t, config)
		}
	}
}

// refusal returns a part of the error that a file must cause, or "" if it must be opened.
func (p publishedFile) refusal(config map[string]any) string {
	names, _ := config["architectures"].([]any)
	model, _ := config["model_type"].(string)
	known, other := false, false
	for _, f := range registered() {
		covers := func(name any) bool { return f.covers(fmt.Sprint(name)) }
		if len(names) == 0 && slices.Contains(f.modelTypes(), model) ||
			slices.ContainsFunc(names, covers) {
			known, other = true, model != "" && !slices.Contains(f.modelTypes(), model)
		}
	}
	position, _ := config["position_embedding_type"].(string)
	switch {
	case !known:
		return "is not supported"
	case other:
		return "to go with"
	case p.Quant, config["quantization_config"] != nil && model != "gpt_oss":
		return "weights are quantised ("
	case position != "" && position != "absolute" && model != "modernbert":
		// The reference of today takes these for "absolute"; the one that trained them did not.
		return "position_embedding_type is"
	case config["rope_scaling"] != nil && config["rope_scaling"] == json.Number("1.0"):
		return "rope_scaling is 1.0; it must be an object" // as the reference has it
	}
	return ""
}

// check reads a configuration and compares.
func (p publishedFile) check(t *testing.T, config map[string]any) {
	t.Helper()
	c := NewConfig("config.json", config)
	f, s, err := Read(c)
	if want := p.refusal(NewConfig("config.json", config).text().values); want != "" {
		kind, _ := config["model_type"].(string)
		if err == nil || !strings.Contains(err.Error(), want) ||
			want == "is not supported" && !strings.Contains(err.Error(), cutTo(kind, 60)) {
			t.Errorf("%s: error %v, want one with %q and %q", p.File, err, want, kind)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", p.File, err)
		return
	}
	_, ignored := c.left()
	for _, key := range ignored {
		if p.Fields != nil && !strings.Contains(key, ".") && !slices.Contains(p.UnknownKeys, key) {
			t.Errorf("%s: key %s was ignored, and the reference knows it", p.File, key)
		}
	}
	want := wantedFields(p)
	if got := fieldsOf(s, want); !cmp.Equal(got, want) {
		t.Errorf("%s (-want +got):\n%s", p.File, cmp.Diff(want, got))
	}
	count := 0
	for _, param := range s.Params() {
		count += param.Size()
	}
	beside, _ := p.Beside.Int64()
	if p.Tensors != nil { // otherwise the facts have the sum
		beside = 0
		for name, shape := range p.Tensors {
			if besideHead(name, p.Arch) {
				beside += int64(spec.Param{Shape: shape}.Size())
			}
		}
		all := zeros{whole(p.Tensors, s.Layers)}
		if _, err := f.Loader("model.safetensors", all, s); err != nil {
			t.Errorf("%s: %v", p.File, err)
		}
	}
	if want, err := p.Parameters.Int64(); err == nil && int64(count)+beside != want {
		t.Errorf("%s: %d parameters and %d beside, want %d", p.File, count, beside, want)
	}
}

// besideHead returns whether a tensor is of a second head, or of the pooler that only such a head
// reads.
func besideHead(name, arch string) bool {
	return strings.Contains(name, "seq_relationship") ||
		strings.Contains(name, "pooler.") && !strings.Contains(arch, "Classification")
}

// zeros is a header whose tensors are all zero.
type zeros struct{ header }

func (zeros) Float32At(dst []float32, _ string, _ int) error {
	clear(dst)
	return nil
}

// referenceActivations are the names of activations.
var referenceActivations = map[string]spec.Activation{
	"gelu": spec.GELU, "gelu_new": spec.GELUTanh, "gelu_pytorch_tanh": spec.GELUTanh,
	"gelu_fast": spec.GELUTanh, "silu": spec.SiLU, "relu": spec.ReLU,
	"relu2": spec.ReLUSquared,
}

// number returns a value as a text that is equal for equal numbers.
func number(v any) string {
	f, err := json.Number(fmt.Sprint(v)).Float64()
	if err != nil {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%.6g", f)
}

// middle returns the length of a list of frequencies, and three of them.
func middle[T any](list []T) string {
	return someOf(len(list), list[0], list[len(list)/2], list[len(list)-1])
}

// someOf returns a length and some frequencies, rounded to what float32 keeps.
func someOf(length any, some ...any) string {
	text := fmt.Sprint(length)
	for _, v := range some {
		f, _ := json.Number(fmt.Sprint(v)).Float64()
		text += fmt.Sprintf(" %.4g", f)
	}
	return text
}

// wantedFields returns what the reference reads from a file, by name.
func wantedFields(p publishedFile) map[string]string {
	want := map[string]string{}
	for name, v := range p.Fields {
		list, many := v.([]any)
		switch {
		case slices.Contains(p.UnknownKeys, name): // nobody reads it
			continue
		case name == "eos_token_id" && !many && v != nil:
			v = []any{v}
		case v == nil && name == "bos_token_id":
			v = -1
		case v == nil && name == "eos_token_id":
			v = list
		case v == nil && strings.HasSuffix(name, "softcapping"):
			v = 0
		case v == nil:
			continue
		case referenceActivations[fmt.Sprint(v)] != 0 || v == "gelu":
			v = referenceActivations[fmt.Sprint(v)]
		}
		want[name] = number(v)
	}
	if len(p.Scaling) == 1 {
		want["scaling"] = number(p.Scaling[0])
	}
	for _, w := range p.Windows {
		if w == nil {
			w = 0
		}
		want["windows"] += number(w) + " "
	}
	for _, r := range p.Rotary {
		for name, v := range r {
			switch v := v.(type) {
			case map[string]any: // of the facts
				want[name] = someOf(v["length"], v["some"].([]any)...)
			case []any:
				if !strings.Contains(name, "original") {
					want[name] = middle(v)
				}
			default:
				want[name] = number(v)
			}
		}
	}
	return want
}

// fieldsOf returns what the spec says under the names that want has. For names that mean nothing in
// such a model it returns what want says.
func fieldsOf(s *spec.Spec, want map[string]string) map[string]string {
	got := map[string]any{
		"num_hidden_layers": s.Layers, "num_attention_heads": s.Heads, "hidden_size": s.Width,
		"intermediate_size": s.FeedForward, "vocab_size": s.Vocab,
		"num_key_value_heads": s.Groups(), "head_dim": s.HeadWidth,
		"rms_norm_eps": s.NormEpsilon, "layer_norm_eps": s.NormEpsilon,
		"layer_norm_epsilon": s.NormEpsilon, "hidden_act": s.Activation,
		"hidden_activation": s.Activation, "activation_function": s.Activation,
		"attention_bias": s.ProjectionBias, "attn_logit_softcapping": s.ScoreCap,
		"final_logit_softcapping": s.LogitCap, "type_vocab_size": s.TokenTypes,
		"scaling": s.ScoreScale,
	}
	if s.ScoreScale == 0 {
		got["scaling"] = 1 / math.Sqrt(float64(s.HeadWidth))
	}
	if s.Head == spec.LanguageHead {
		got["tie_word_embeddings"] = s.TiedHead
	}
	if s.Head == spec.ClassifierHead {
		got["num_labels"] = s.Classes
	}
	if !s.Bidirectional {
		got["bos_token_id"], got["eos_token_id"] = s.BOS, s.EOS
	}
	if s.Positions != spec.ALiBi && (s.Rotary == nil || s.Rotary.Stretch == 0) {
		got["max_position_embeddings"] = s.Context
		if s.SkipPosition {
			got["max_position_embeddings"] = s.Context + s.PositionOffset
		}
	}
	if r := s.Rotary; r != nil {
		scale := r.Scale
		if scale == 0 {
			scale = 1
		}
		got["inv_freq"], got["attention_scaling"] = middle(r.Frequencies), scale
		if l := s.LocalRotary; l != nil {
			got["full_attention_inv_freq"] = middle(r.Frequencies)
			got["sliding_attention_inv_freq"] = middle(l.Frequencies)
			got["full_attention_attention_scaling"] = scale
		}
	}
	if s.Windows != nil {
		text := ""
		for _, w := range s.Windows {
			text += number(w) + " "
		}
		got["windows"] = text
	} else if want["windows"] != "" {
		got["windows"] = strings.Repeat("0 ", s.Layers)
	}
	same := map[string]string{}
	for name, text := range want {
		if v, ok := got[name]; ok {
			text = number(v)
		}
		same[name] = text
	}
	return same
}

// kindsOfRefusal are short names for parts of errors, the first that fits.
var kindsOfRefusal = []struct{ part, kind string }{
	{"weights are quantised", "quantised"},
	{"the head of", "a head that does not exist here"},
	{"position_embedding_type", "relative positions"},
	{"is not supported; supported are", "another family"},
	{"to go with", "a model_type of other code"},
	{"rope_scaling is", "a rotation that is not an object"},
}

// publishedTable returns the table of docs/measured/models.md: of each model_type with files that
// are refused, how many files there are, how many open and why the others do not.
func publishedTable(t *testing.T) string {
	type row struct {
		files, open int
		refused     map[string]int
	}
	rows := map[string]*row{}
	for _, p := range factsOf(t, publishedFacts) {
		config := p.Config.(map[string]any)
		_, _, err := Read(NewConfig("config.json", config))
		name, _ := config["model_type"].(string)
		_, reads := textModels[name]
		if !reads && !slices.ContainsFunc(registered(), func(f *Family) bool {
			return f.hasType(name)
		}) {
			name = "others"
		}
		if rows[name] == nil {
			rows[name] = &row{refused: map[string]int{}}
		}
		r := rows[name]
		r.files++
		if err == nil {
			r.open++
			continue
		}
		for _, k := range kindsOfRefusal {
			if strings.Contains(err.Error(), k.part) {
				r.refused[k.kind]++
				err = nil
				break
			}
		}
		if err != nil {
			t.Errorf("%s: a refusal of no kind: %v", p.File, err)
		}
	}
	table := "| model_type | files | open | refused |\n|---|---|---|---|\n"
	all := row{}
	for _, name := range sortedKeys(rows) {
		r := rows[name]
		all.files, all.open = all.files+r.files, all.open+r.open
		if r.open == r.files {
			continue
		}
		var why []string
		for _, kind := range sortedKeys(r.refused) {
			why = append(why, fmt.Sprintf("%d %s", r.refused[kind], kind))
		}
		table += fmt.Sprintf("| %s | %d | %d | %s |\n", name, r.files, r.open,
			strings.Join(why, ", "))
	}
	return table + fmt.Sprintf("| all | %d | %d | %d |\n", all.files, all.open, all.files-all.open)
}

// TestPublishedTable: docs/measured/models.md has the table of today. With -update it writes it.
func TestPublishedTable(t *testing.T) {
	const path = "../../docs/measured/models.md"
	const from, to = "<!-- published files -->\n", "<!-- end -->"
	text, err := os.ReadFile(path)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), from)
	_, after, okEnd := strings.Cut(rest, to)
	if !ok || !okEnd {
		t.Fatalf("%s has no part between %q and %q", path, from, to)
	}
	want := before + from + publishedTable(t) + to + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what `go test ./models/family -run TestPublishedTable -update` writes",
			path)
	}
	must(t, os.WriteFile(path, []byte(want), 0o644))
}

// TestModelsPage: docs/models.md names every family and every model with images.
func TestModelsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/models.md")
	must(t, err)
	isNamed := func(modelType string) bool {
		return strings.Contains(string(page), "`"+modelType+"`")
	}
	for _, f := range registered() {
		if !slices.ContainsFunc(f.modelTypes(), isNamed) {
			t.Errorf("docs/models.md lacks %q", f.modelTypes())
		}
	}
	for name := range textModels {
		if !isNamed(name) {
			t.Errorf("docs/models.md lacks %s", name)
		}
	}
}
