package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/checkpoint"
)

// The classes of Inseq that its JSON names.
const (
	inseqOutput   = "FeatureAttributionOutput"
	inseqSequence = "CoarseFeatureAttributionSequenceOutput"
	inseqToken    = "TokenWithId"
)

// instance is an object of Python as Inseq writes it: its class and its attributes.
type instance struct {
	Type       [2]string `json:"__instance_type__"`
	Attributes any       `json:"attributes"`
}

// writeInseq writes the form that FeatureAttributionOutput.load of Inseq reads
// (inseq/data/attribution.py, version 0.7; 0.6 held tensors in another form): one sequence, with
// the values of a method as target_attributions, [m+n,n], and those of the other methods as
// sequence_scores. A generated token has NaN in the columns of those before it and of its own.
//
// Of a model of two stacks with a source of b tokens, source_attributions are the values over the
// source, [b,n], target_attributions those over the target, [n,n], and the other methods have those
// over the source alone. The token with which the target begins has no place there. If the source
// has a vocabulary of its own, its ids are those of that, and info has the sizes of both.
func (o Options) writeInseq(w io.Writer, e *attribution.Explanation, made string) error {
	if len(e.Steps) > 0 && e.Steps[0].IDs != nil {
		return trace.Usagef("Inseq has no form for generated tokens that are explained together; " +
			"save .json or .parquet, or explain each token")
	}
	if e.Model.Reads() {
		return trace.Usagef("Inseq has no form for encoders; save .json or .parquet")
	}
	method, err := o.method(e)
	if err != nil {
		return err
	}
	sequence, err := inseqSequenceOf(e, method)
	if err != nil {
		return err
	}
	text, answer := strings.ToValidUTF8(e.Prompt.Text, "\ufffd"), ""
	for _, s := range e.Steps {
		answer += s.Text
	}
	n := len(e.Steps)
	source, prompt := inseqSizes(e)
	generated := text + strings.ToValidUTF8(answer, "\ufffd")
	if prompt == 0 {
		generated = strings.ToValidUTF8(answer, "\ufffd")
	}
	info := map[string]any{
		"attribution_method": method, "model_name": modelName(e), "model_class": e.Model.Family,
		"tokenizer_name": modelName(e), "tokenizer_class": nil,
		"input_texts":      []any{text},
		"generated_texts":  []any{generated},
		"attribution_args": e.Methods[method].Options, "step_scores": []any{"probability"},
		"attr_pos_start": prompt, "attr_pos_end": prompt + n, "output_step_attributions": false,
		"include_eos_baseline": false, "constrained_decoding": false,
		"attribute_target": source > 0, madeKey: json.RawMessage(made),
	}
	if e.Model.SourceVocab > 0 {
		info["vocab"], info["source_vocab"] = e.Model.Vocab, e.Model.SourceVocab
	}
	return writeLine(w, instance{[2]string{"inseq.data.attribution", inseqOutput}, map[string]any{
		"sequence_attributions": []any{sequence}, "step_attributions": nil, "info": info,
	}})
}

// inseqSequenceOf returns the tokens of an explanation with the values of its methods.
func inseqSequenceOf(e *attribution.Explanation, method string) (s instance, err error) {
	var source, target []any
	token := func(id int, text string) instance {
		return instance{
			[2]string{"inseq.utils.typing", inseqToken},
			map[string]any{"id": id, "token": strings.ToValidUTF8(text, "\ufffd")},
		}
	}
	n := len(e.Steps)
	b, prompt := inseqSizes(e)
	for j, id := range e.Prompt.IDs[:max(b, prompt)] {
		if e.Model.SourceVocab > 0 {
			id -= e.Model.Vocab // as the tokenizer of the source has it
		}
		source = append(source, token(id, e.Prompt.Texts[j]))
	}
	target = append(target, source[:prompt]...)
	var probabilities []float32
	for _, s := range e.Steps {
		target = append(target, token(s.ID, s.Text))
		probabilities = append(probabilities, float32(s.Probability))
	}
	probability, err := inseqTensor([]int{n}, probabilities)
	if err != nil {
		return instance{}, err
	}
	values := map[string]any{}
	for _, name := range e.Order {
		if values[name], err = inseqValues(e, name, 0, max(b, prompt+n)); err != nil {
			return instance{}, err
		}
	}
	var ofSource any
	if b > 0 {
		ofSource = values[method]
	}
	own, err := inseqValues(e, method, len(e.Prompt.IDs)-prompt, prompt+n)
	if err != nil {
		return instance{}, err
	}
	delete(values, method)
	return instance{[2]string{"inseq.data.attribution", inseqSequence}, map[string]any{
		"source": source, "target": target, "source_attributions": ofSource,
		"target_attributions": own, "step_scores": map[string]any{"probability": probability},
		"sequence_scores": values, "attr_pos_start": prompt, "attr_pos_end": prompt + n,
	}}, nil
}

// writeLine writes a line of JSON. Texts are as they are.
func writeLine(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

func modelName(e *attribution.Explanation) string {
	name, _ := trace.WithoutFolder(e.Model.Name)
	return name
}

// inseqSizes returns how many tokens are a source of their own, 0 in a model of one stack, and how
// many begin the target, which is the prompt there, 0 in a model of two.
func inseqSizes(e *attribution.Explanation) (source, prompt int) {
	if at := e.TargetBegin(); at >= 0 {
		return at, 0
	}
	return 0, len(e.Prompt.IDs)
}

// inseqValues returns the values of a method over count sources from the first on, at the level
// shown, [count,n], a column for each generated token, with NaN where there is none.
func inseqValues(e *attribution.Explanation, method string, first, count int) (string, error) {
	r, n := e.Methods[method], len(e.Steps)
	values := make([]float32, count*n)
	for i := range values {
		values[i] = float32(math.NaN())
	}
	for t := range n {
		row := r.Row(t, r.Level(t))
		for j := first; j < min(first+count, len(row)); j++ {
			values[(j-first)*n+t] = float32(row[j])
		}
	}
	return inseqTensor([]int{count, n}, values)
}

// inseqTensor returns a tensor as Inseq holds it in JSON: a safetensors file in base64.
func inseqTensor(shape []int, values []float32) (string, error) {
	var b bytes.Buffer
	tensor := checkpoint.Tensor{Name: "attribution", Shape: shape, Data: values}
	if err := checkpoint.Write(&b, []checkpoint.Tensor{tensor}, nil); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
