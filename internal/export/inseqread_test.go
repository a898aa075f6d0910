package export_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/export"
)

// translated is an explanation of a model of two stacks, with a source of two tokens and two
// generated ones.
func translated() *attribution.Explanation {
	e := explanation()
	e.Model.EncoderLayers, e.Model.Vocab = 1, 50
	e.Prompt = attribution.Prompt{
		Text: "red cat", IDs: []int{1, 2, 50}, Texts: []string{"red", " cat", "</s>"},
		Offsets: [][2]int{{0, 3}, {3, 7}, {7, 7}}, Special: []bool{false, false, true},
	}
	e.Order = []string{"alti"}
	e.Methods = map[string]*attribution.Result{"alti": {
		Facts:  attribution.Facts{Quantity: attribution.Share, AddsUp: true, Combined: true},
		Layers: []int{3}, Shape: [3]int{2, 3, 1}, Shown: []int{3, 3},
		Rows: [][]float64{{.75, .25, 0}, {.5, .25, 0, .25}}, OtherMass: []float64{0, .25},
	}}
	return e
}

// TestReadInseq: what was written is read again, of one stack and of two.
func TestReadInseq(t *testing.T) {
	for name, e := range map[string]*attribution.Explanation{
		"one": explanation(), "two": translated(),
	} {
		got, err := export.ReadInseq(encode(t, e, export.Inseq, options()))
		must(t, err)
		method := e.Order[0]
		r, from := got.Methods[method], e.Methods[method]
		if got.Order[0] != method || !slices.Equal(got.Prompt.IDs[:2], e.Prompt.IDs[:2]) ||
			got.TargetBegin() != e.TargetBegin() || len(got.Steps) != len(e.Steps) ||
			got.Steps[1].Text != e.Steps[1].Text ||
			math.Abs(got.Steps[0].Probability-e.Steps[0].Probability) > 1e-6 {
			t.Errorf("%s: %+v", name, got)
		}
		for at := range e.Steps {
			want := from.Row(at, from.Level(at))
			row := r.Row(at, 0)
			for j := range min(len(want), len(row)) {
				if math.Abs(row[j]-want[j]) > 1e-6 {
					t.Errorf("%s: row %d is %v, want %v", name, at, row, want)
				}
			}
		}
		if err := r.Check(len(got.Prompt.IDs)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := export.ReadInseq(encode(t, translated(), export.Inseq, options()))
	if err != nil || !slices.Equal(e.SourceContribution("alti"), []float64{1, .75}) {
		t.Errorf("error %v; the source contributes %v, want 1 and 0.75", err,
			e.SourceContribution("alti"))
	}
}

// TestInseqOfTwoVocabularies: with a vocabulary for each side, a file has the ids that the source's
// tokenizer gives, and reading it gives those of the model again. A file that does not name the
// sizes has two vocabularies if an id is of one text in the source and of another in the target.
func TestInseqOfTwoVocabularies(t *testing.T) {
	e := translated()
	e.Model.Vocab, e.Model.SourceVocab = 50, 30
	e.Prompt.IDs = []int{50 + 7, 50 + 29, 80}
	e.Steps[0].ID, e.Steps[1].ID = 7, 49
	var file map[string]any
	must(t, json.Unmarshal(encode(t, e, export.Inseq, options()), &file))
	about := file["attributes"].(map[string]any)
	info := about["info"].(map[string]any)
	s := about["sequence_attributions"].([]any)[0].(map[string]any)["attributes"].(map[string]any)
	piece := func(side string, k int) map[string]any {
		return s[side].([]any)[k].(map[string]any)["attributes"].(map[string]any)
	}
	for side, want := range map[string][]float64{"source": {7, 29}, "target": {7, 49}} {
		for k, id := range want {
			if got := piece(side, k)["id"]; got != id {
				t.Errorf("token %d of the %s is %v, want %v", k, side, got, id)
			}
		}
	}
	read := func(vocab, source, first, begin int) {
		t.Helper()
		text, err := json.Marshal(file)
		must(t, err)
		got, err := export.ReadInseq(text)
		must(t, err)
		ids := []int{first, first + 22, begin}
		if m := got.Model; m.Vocab != vocab || m.SourceVocab != source ||
			!slices.Equal(got.Prompt.IDs, ids) || got.TargetBegin() != 2 || got.Steps[0].ID != 7 {
			t.Errorf("read are %v and %v with %d and %d tokens, want %v", got.Prompt.IDs,
				got.Steps[0].ID, m.Vocab, m.SourceVocab, ids)
		}
	}
	read(50, 30, 50+7, 80)
	info["source_vocab"] = 29 // which does not hold the token 29
	read(50, 30, 50+7, 80)
	info["vocab"], info["source_vocab"] = 1<<40, 1<<40
	read(50, 30, 50+7, 80)
	delete(info, "vocab")
	delete(info, "source_vocab")
	read(50, 30, 50+7, 80)
	piece("source", 0)["token"] = piece("target", 0)["token"]
	read(50, 0, 7, 50)
}

// inseqOf writes a float32 tensor as files of Inseq have it.
func inseqOf(shape []int, values ...float32) string {
	header, _ := json.Marshal(map[string]any{"x": map[string]any{
		"dtype": "F32", "shape": shape, "data_offsets": []int{0, 4 * len(values)},
	}})
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(file, header...)
	for _, x := range values {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(file)
}

// TestReadInseqRefuses: what a file lacks is named, and none ends the program.
func TestReadInseqRefuses(t *testing.T) {
	var file map[string]any
	good := encode(t, translated(), export.Inseq, options())
	sequence := func() map[string]any {
		file = nil
		must(t, json.Unmarshal(good, &file))
		all := file["attributes"].(map[string]any)["sequence_attributions"].([]any)
		return all[0].(map[string]any)["attributes"].(map[string]any)
	}
	for want, change := range map[string]func(s map[string]any){
		"attr_pos_start is 9":                  func(s map[string]any) { s["attr_pos_start"] = 9 },
		"all of the target must be attributed": func(s map[string]any) { s["attr_pos_start"] = 1 },
		"source_attributions have the shape [2 2]; want [1,2]": func(s map[string]any) {
			s["source"] = s["source"].([]any)[:1]
		},
		"target_attributions have the shape [2 2]; want [5,2]": func(s map[string]any) {
			source := s["source"].([]any)
			s["target"] = slices.Concat(source, source, s["target"].([]any))
			s["source_attributions"], s["attr_pos_start"], s["attr_pos_end"] = nil, 3, 5
		},
		"no tensor as Inseq 0.7 writes it": func(s map[string]any) {
			s["source_attributions"] = map[string]any{"__ndarray__": []any{1}}
		},
		"have values that are not finite": func(s map[string]any) {
			s["source_attributions"] = inseqOf([]int{2, 2}, 0, float32(math.Inf(1)), 0, 0)
		},
		"8002 tokens with 1 methods have 6.4e+07 values": func(s map[string]any) {
			s["source"], s["target_attributions"] = s["source"].([]any)[:1], nil
			s["source_attributions"] = inseqOf([]int{1, 8000}, make([]float32, 8000)...)
			s["target"], s["attr_pos_end"] = slices.Repeat(s["target"].([]any)[:1], 8000), nil
			s["sequence_scores"], s["step_scores"] = nil, nil
		},
		"source_attributions: illegal base64": func(s map[string]any) { s["source_attributions"] = "~" },
		"safetensors":                         func(s map[string]any) { s["source_attributions"] = "AAAA" },
		"want 2 axes: aggregate them": func(s map[string]any) {
			s["source_attributions"] = s["step_scores"].(map[string]any)["probability"]
		},
	} {
		change(sequence())
		text, err := json.Marshal(file)
		must(t, err)
		if _, err := export.ReadInseq(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	sequence()["step_scores"] = map[string]any{
		"probability": inseqOf([]int{2}, float32(math.NaN()), 2),
	}
	text, err := json.Marshal(file)
	must(t, err)
	e, err := export.ReadInseq(text)
	if err != nil || !e.Steps[0].Unscored || !e.Steps[1].Unscored {
		t.Errorf("error %v; numbers that are no probabilities are read as such", err)
	}
	for _, text := range []string{"", "{}", "[]", `{"__instance_type__":["a","b"]}`} {
		if _, err := export.ReadInseq([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	if _, err := export.ReadInseq(bytes.Repeat([]byte(" "), export.MaxFile+1)); err == nil {
		t.Error("a file that is too large is read")
	}
}
