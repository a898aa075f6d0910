package export

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/internal/message"
)

// inseqFile is what is read of a file of Inseq.
type inseqFile struct {
	Type       [2]string `json:"__instance_type__"`
	Attributes struct {
		Sequences []struct {
			Attributes inseqText `json:"attributes"`
		} `json:"sequence_attributions"`
		Info struct {
			Method string `json:"attribution_method"`
			Model  string `json:"model_name"`
			Class  string `json:"model_class"`
			// Vocab and SourceVocab are those of [trace.Info], if source and target have a
			// vocabulary each and [Encode] wrote the file.
			Vocab       int `json:"vocab"`
			SourceVocab int `json:"source_vocab"`
		} `json:"info"`
	} `json:"attributes"`
}

// inseqText is a text of a file of Inseq with what was attributed to its tokens.
type inseqText struct {
	Source       []inseqPiece               `json:"source"`
	Target       []inseqPiece               `json:"target"`
	OfSource     json.RawMessage            `json:"source_attributions"`
	OfTarget     json.RawMessage            `json:"target_attributions"`
	Scores       map[string]json.RawMessage `json:"step_scores"`
	OtherMethods map[string]json.RawMessage `json:"sequence_scores"`
	Begin        int                        `json:"attr_pos_start"`
	End          *int                       `json:"attr_pos_end"`
}

// inseqPiece is a token of a file of Inseq.
type inseqPiece struct {
	Attributes struct {
		ID   int    `json:"id"`
		Text string `json:"token"`
	} `json:"attributes"`
}

// ReadInseq returns the first text of a file that FeatureAttributionOutput.save of Inseq 0.7 wrote,
// or [Encode], as an explanation: with target_attributions of n generated tokens, [m+n,n], or, of a
// model of two stacks, with source_attributions, [b,n], and target_attributions, [n,n]. Tensors
// with more axes must be aggregated in Inseq. sequence_scores of the same shape as the first tensor
// are further methods. The error names what the file has in place of that; the file may come from
// anybody.
func ReadInseq(file []byte) (*attribution.Explanation, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", len(file), MaxFile)
	}
	var f inseqFile
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, fmt.Errorf("it is no JSON of Inseq: %.200w", err)
	}
	if f.Type[1] != inseqOutput || len(f.Attributes.Sequences) == 0 {
		return nil, fmt.Errorf("it is no %s of Inseq with a text: its class is %.60q, and it has "+
			"%d texts", inseqOutput, f.Type[1], len(f.Attributes.Sequences))
	}
	t := &f.Attributes.Sequences[0].Attributes
	info := f.Attributes.Info
	e, err := t.explanation(info.Vocab, info.SourceVocab)
	if err != nil {
		return nil, err
	}
	e.Model.Name, e.Model.Family = info.Model, info.Class
	if e.Model.Name == "" {
		e.Model.Name = "attributed by Inseq"
	}
	method := info.Method
	if method == "" {
		method = "inseq"
	}
	if err := t.addMethods(e, method); err != nil {
		return nil, err
	}
	if n := len(f.Attributes.Sequences); n > 1 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("The file has %d texts; this is the first.", n))
	}
	return e, nil
}

// twoStacks reports whether the source is a text of its own.
func (t *inseqText) twoStacks() bool { return has(t.OfSource) }

func has(tensor json.RawMessage) bool { return len(tensor) > 0 && string(tensor) != "null" }

// vocabularies returns how many tokens the target has, and how many the source has of its own, 0 if
// the two share a vocabulary: the numbers given or, if they do not hold the ids, the fewest that
// do. Source and target of a file share none if a token has one text in the source and another one
// in the target.
func (t *inseqText) vocabularies(vocab, sourceVocab int) (target, source int) {
	texts, own := map[int]string{}, sourceVocab > 0
	for _, piece := range t.Source {
		texts[piece.Attributes.ID] = piece.Attributes.Text
		source = max(source, piece.Attributes.ID+1)
	}
	for _, piece := range t.Target {
		text, ok := texts[piece.Attributes.ID]
		own = own || t.twoStacks() && ok && text != piece.Attributes.Text
		target = max(target, piece.Attributes.ID+1)
	}
	switch {
	case !t.twoStacks():
		return target, 0
	case !own:
		return max(target, source), 0
	case vocab >= target && sourceVocab >= source && max(vocab, sourceVocab) <= math.MaxInt32:
		return vocab, sourceVocab
	}
	return target, source
}

// explanation returns the tokens without methods. vocab and sourceVocab are what the file has of
// them.
func (t *inseqText) explanation(vocab, sourceVocab int) (*attribution.Explanation, error) {
	end := len(t.Target)
	if t.End != nil {
		end = min(*t.End, end)
	}
	if t.Begin < 0 || t.Begin >= end {
		return nil, fmt.Errorf("attr_pos_start is %d and attr_pos_end %d; the target has %d tokens",
			t.Begin, end, len(t.Target))
	}
	for _, piece := range slices.Concat(t.Source, t.Target) {
		if id := piece.Attributes.ID; id < 0 || id > math.MaxInt32 {
			return nil, fmt.Errorf("the id of the token %.40q is %d; want 0 to %d",
				piece.Attributes.Text, id, math.MaxInt32)
		}
	}
	prompt := t.Target[:t.Begin]
	if t.twoStacks() {
		prompt = t.Source
	}
	e := &attribution.Explanation{
		Version: attribution.Version, Methods: map[string]*attribution.Result{},
		Model:    trace.Info{Head: trace.NextToken},
		Warnings: []string{},
	}
	p := &e.Prompt
	e.Model.Vocab, e.Model.SourceVocab = t.vocabularies(vocab, sourceVocab)
	for _, piece := range prompt {
		id := piece.Attributes.ID
		if e.Model.SourceVocab > 0 {
			id += e.Model.Vocab
		}
		t.add(p, id, units.WithoutMarks(piece.Attributes.Text))
	}
	if t.twoStacks() {
		if t.Begin > 0 {
			return nil, fmt.Errorf("attr_pos_start is %d; of a model of two stacks all of the "+
				"target must be attributed, from 0 on", t.Begin)
		}
		e.Model.EncoderLayers = 1
		t.add(p, e.Model.Boundary(), "")
		p.Special[len(p.Special)-1] = true
		e.Warnings = append(e.Warnings, "Inseq's files have no value of the token with which a "+
			"target begins: it is 0 here.")
	}
	probabilities, err := inseqNumbers("the scores probability", t.Scores["probability"], 1)
	if err != nil {
		return nil, err
	}
	for i, piece := range t.Target[t.Begin:end] {
		step := attribution.GeneratedToken{
			ID: piece.Attributes.ID, Text: units.WithoutMarks(piece.Attributes.Text),
			Unscored: true,
			Special:  isControl(piece.Attributes.Text), Alternatives: []attribution.Alternative{},
		}
		// Half precision may round a probability up.
		if i < len(probabilities.values) && probabilities.values[i] >= 0 &&
			probabilities.values[i] <= 1+shareError {
			step.Probability, step.Unscored = min(probabilities.values[i], 1), false
		}
		e.Steps = append(e.Steps, step)
	}
	return e, nil
}

// add adds a token to a prompt.
func (t *inseqText) add(p *attribution.Prompt, id int, text string) {
	begin, control := len(p.Text), isControl(text)
	if !control {
		p.Text += text
	}
	p.IDs, p.Texts = append(p.IDs, id), append(p.Texts, text)
	p.Offsets = append(p.Offsets, [2]int{begin, len(p.Text)})
	p.Special = append(p.Special, control)
}

// isControl reports whether a token looks like a control token: <pad>, </s>, [SEP].
func isControl(text string) bool {
	n := len(text)
	return n > 2 && !strings.ContainsAny(text, " \n") && (text[0] == '<' && text[n-1] == '>' ||
		text[0] == '[' && text[n-1] == ']')
}

// addMethods adds the method that was asked for, and those of the sequence scores that have the
// shape of its first tensor.
func (t *inseqText) addMethods(e *attribution.Explanation, method string) error {
	n := len(e.Steps)
	first, rows, what := t.OfTarget, len(e.Prompt.IDs)+n, "target_attributions"
	if t.twoStacks() {
		first, rows, what = t.OfSource, len(t.Source), "source_attributions"
	}
	over, err := inseqNumbers(what, first, 2)
	if err != nil {
		return err
	}
	if err := over.fits(what, rows, n); err != nil {
		return err
	}
	// Values of generated tokens that the file lacks are 0 here, so a small file may have many.
	if all := float64(n) * float64(len(e.Prompt.IDs)+n) *
		float64(1+len(t.OtherMethods)); all > mostInseq {
		return fmt.Errorf("%d tokens with %d methods have %.3g values; at most %d are read",
			len(e.Prompt.IDs)+n, 1+len(t.OtherMethods), all, mostInseq)
	}
	var target inseqTable
	if t.twoStacks() && has(t.OfTarget) {
		if target, err = inseqNumbers("target_attributions", t.OfTarget, 2); err != nil {
			return err
		}
		if err := target.fits("target_attributions", n, n); err != nil {
			return err
		}
	}
	add := func(name string, over, target inseqTable) {
		e.Order, e.Methods[name] = append(e.Order, name), inseqResult(e, over, target)
	}
	add(method, over, target)
	for _, name := range slices.Sorted(maps.Keys(t.OtherMethods)) {
		x, err := inseqNumbers("the scores "+message.Quote(name), t.OtherMethods[name], 2)
		if _, taken := e.Methods[name]; err == nil && !taken && x.fits(name, rows, n) == nil {
			add(name, x, inseqTable{})
		}
	}
	return nil
}

// mostInseq is how many values of all methods are kept: 256 MiB of them.
const mostInseq = MaxFile / 8

// shareError is how far the sum of shares may be from 1, which half precision needs.
const shareError = 0.005

// inseqResult returns the values of a method over the sources of the first table and, after the
// start of a target, over those of the second.
func inseqResult(e *attribution.Explanation, over, target inseqTable) *attribution.Result {
	m, n := len(e.Prompt.IDs), len(e.Steps)
	r := &attribution.Result{
		Options: map[string]string{"read from": "a file of Inseq"},
		Facts: attribution.Facts{
			Quantity: attribution.Share, AddsUp: true, Combined: true, Scorer: true,
		},
		Unit: "share of the row", Layers: []int{0}, Shape: [3]int{n, m, 1}, Shown: make([]int, n),
	}
	b := e.TargetBegin()
	for t := range n {
		row, sum, other := make([]float64, m+t), 0.0, 0.0
		for j := range row {
			switch {
			case b < 0 || j < b:
				row[j] = over.at(j, t)
			case j > b:
				row[j] = target.at(j-b-1, t)
			}
			if sum += row[j]; j >= m {
				other += row[j]
			}
			if row[j] < 0 {
				r.Quantity = attribution.Amount
			}
		}
		if !(math.Abs(sum-1) <= shareError) {
			r.Quantity = attribution.Amount
		}
		r.Rows, r.OtherMass = append(r.Rows, row), append(r.OtherMass, other)
	}
	if r.Quantity == attribution.Amount {
		r.Unit = "attribution"
	}
	return r
}

// inseqTable is a tensor of Inseq, row-major.
type inseqTable struct {
	shape  []int
	values []float64
}

// at returns a value, 0 where the tensor has none.
func (x inseqTable) at(row, column int) float64 {
	if len(x.shape) < 2 || row >= x.shape[0] || column >= x.shape[1] {
		return 0
	}
	if v := x.values[row*x.shape[1]+column]; !math.IsNaN(v) {
		return v
	}
	return 0
}

// fits returns an error unless a tensor has a shape.
func (x inseqTable) fits(what string, rows, columns int) error {
	if !slices.Equal(x.shape, []int{rows, columns}) {
		return fmt.Errorf("%s have the shape %v; want [%d,%d] for the tokens of the file", what,
			x.shape, rows, columns)
	}
	return nil
}

// inseqNumbers reads a tensor, nothing if there is none.
func inseqNumbers(what string, from json.RawMessage, axes int) (x inseqTable, err error) {
	if !has(from) {
		return x, nil
	}
	var text string
	if err := json.Unmarshal(from, &text); err != nil {
		return x, fmt.Errorf("%s are no tensor as Inseq 0.7 writes it, a safetensors file in "+
			"base64: save them by that version", what)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return x, fmt.Errorf("%s: %w", what, err)
	}
	file, err := checkpoint.FromBytes(what, data)
	if err != nil {
		return x, err
	}
	names := file.Names()
	if len(names) != 1 {
		return x, fmt.Errorf("%s have %d tensors; want 1", what, len(names))
	}
	if x.shape, err = file.Shape(names[0]); err != nil {
		return x, err
	}
	if len(x.shape) != axes {
		return x, fmt.Errorf("%s have the shape %v; want %d axes: aggregate them in Inseq first, "+
			"by out.aggregate()", what, x.shape, axes)
	}
	x.values, err = file.Float64(names[0])
	if slices.ContainsFunc(x.values, func(v float64) bool { return math.IsInf(v, 0) }) {
		return x, fmt.Errorf("%s have values that are not finite", what)
	}
	return x, err
}
