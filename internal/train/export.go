package train

import (
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// bloomTensors returns the parameters as tensors of a BLOOM checkpoint in half precision:
// projections are [out,in], and query, key and value of each head are together in [H,3,E,in].
func bloomTensors(spec *spec.Spec, weights map[string][]float32) ([]checkpoint.Tensor,
	error,
) {
	if err := covered(spec, weights); err != nil {
		return nil, err
	}
	var out []checkpoint.Tensor
	put := func(name string, data []float32, shape ...int) {
		out = append(out, checkpoint.Tensor{
			Name: "transformer." + name, Shape: shape, Data: halves(data),
		})
	}
	d, f := spec.Width, spec.FeedForward
	norm := func(tensor, param string) {
		put(tensor+".weight", weights[param+".gain"], d)
		put(tensor+".bias", weights[param+".bias"], d)
	}
	put("word_embeddings.weight", weights["embedding"], spec.Vocab, d)
	norm("word_embeddings_layernorm", "embedding-norm")
	for l := range spec.Layers {
		block, tensor := fmt.Sprintf("blocks.%d.", l), fmt.Sprintf("h.%d.", l)
		dense := func(name, param string, in, width int) {
			put(tensor+name+".weight", transposed(weights[block+param+".weight"], in, width), width,
				in)
			put(tensor+name+".bias", weights[block+param+".bias"], width)
		}
		norm(tensor+"input_layernorm", block+"attention-norm")
		put(tensor+"self_attention.query_key_value.weight",
			fused(spec, weights, block, ".weight", d), 3*d, d)
		put(tensor+"self_attention.query_key_value.bias", fused(spec, weights, block, ".bias", 1),
			3*d)
		dense("self_attention.dense", "output", d, d)
		norm(tensor+"post_attention_layernorm", block+"mlp-norm")
		dense("mlp.dense_h_to_4h", "up", d, f)
		dense("mlp.dense_4h_to_h", "down", f, d)
	}
	norm("ln_f", "final-norm")
	return out, nil
}

// encoderTensors returns the parameters as tensors of a checkpoint of BERT or DistilBERT in half
// precision, under the names that the family reads.
func encoderTensors(s *spec.Spec, weights map[string][]float32) ([]checkpoint.Tensor, error) {
	if err := covered(s, weights); err != nil {
		return nil, err
	}
	f, err := family.Lookup(family.NewConfig("config.json", map[string]any{"model_type": s.Family}))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var out []checkpoint.Tensor
	for _, p := range s.Params() {
		name, layout, err := tensorOf(f, p.Name)
		if err != nil {
			return nil, err
		}
		data, shape := weights[p.Name], p.Shape
		if layout == family.Transposed && len(shape) == 2 {
			data, shape = transposed(data, shape[0], shape[1]), []int{shape[1], shape[0]}
		}
		out = append(out, checkpoint.Tensor{Name: name, Shape: shape, Data: halves(data)})
	}
	return out, nil
}

// tensorOf returns the name of the tensor of a parameter, with the prefix of the body if it is not
// of a head, and how the tensor stores it.
func tensorOf(f *family.Family, param string) (name string, layout family.Layout, err error) {
	layer, rest, general := 0, "", param
	if n, _ := fmt.Sscanf(param, "blocks.%d.%s", &layer, &rest); n == 2 {
		general = "blocks.%d." + rest
	}
	for _, w := range f.Weights {
		if w.Param != general {
			continue
		}
		name = w.Tensor
		if general != param {
			name = fmt.Sprintf(name, layer)
		}
		if hasPrefix(name, "embeddings.", "encoder.", "transformer.", "pooler.") {
			name = f.Prefixes[0] + name
		}
		return name, w.Layout, nil
	}
	return "", 0, fmt.Errorf("train: %s has no tensor for parameter %s", f.Name, param)
}

// halves rounds numbers to half precision.
func halves(data []float32) []checkpoint.Float16 {
	half := make([]checkpoint.Float16, len(data))
	for i, x := range data {
		half[i] = checkpoint.NewFloat16(x)
	}
	return half
}

// covered returns an error if weights lacks a parameter. So a change of the graph cannot leave one
// out without notice.
func covered(spec *spec.Spec, weights map[string][]float32) error {
	var missing []string
	for _, p := range spec.Params() {
		if len(weights[p.Name]) != p.Size() {
			missing = append(missing, p.Name)
		}
	}
	if len(missing) > 0 || len(weights) != len(spec.Params()) {
		return fmt.Errorf("train: %d arrays for %d parameters; without their numbers are %s",
			len(weights), len(spec.Params()), strings.Join(missing, ", "))
	}
	return nil
}

// fused returns query, key and value [in,HE] as [H,3,E,in].
func fused(spec *spec.Spec, weights map[string][]float32, block, suffix string,
	in int,
) []float32 {
	var out []float32
	for h := range spec.Heads {
		for _, part := range []string{"query", "key", "value"} {
			rows := transposed(weights[block+part+suffix], in, spec.Width) // [HE,in]
			out = append(out, rows[h*spec.HeadWidth*in:(h+1)*spec.HeadWidth*in]...)
		}
	}
	return out
}

// transposed returns the [rows,cols] matrix data as [cols,rows].
func transposed(data []float32, rows, cols int) []float32 {
	out := make([]float32, len(data))
	for r := range rows {
		for c := range cols {
			out[c*rows+r] = data[r*cols+c]
		}
	}
	return out
}
