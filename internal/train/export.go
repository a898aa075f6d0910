package train

import (
	"regexp"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// tensorsOf returns the parameters as tensors of a checkpoint in half precision, under the names
// and in the layouts that the family reads.
func tensorsOf(s *spec.Spec, weights map[string][]float32) ([]checkpoint.Tensor, error) {
	if err := covered(s, weights); err != nil {
		return nil, err
	}
	f, err := family.Lookup(family.NewConfig("config.json", map[string]any{"model_type": s.Family}))
	if err != nil {
		return nil, pkg.Errorf("%w", err)
	}
	var out []checkpoint.Tensor
	for _, p := range s.Params() {
		name, layout, err := tensorOf(f, family.InStack(s, p.Name))
		if err != nil {
			return nil, err
		}
		data, shape := weights[p.Name], p.Shape
		switch matrix := len(shape) == 2; {
		case layout == family.KeyOfGroup || layout == family.ValueOfGroup:
			continue // with the query
		case layout == family.QueryOfGroup && matrix:
			data, shape = fused(s, weights, p.Name, shape[0]), []int{3 * shape[1], shape[0]}
		case layout == family.QueryOfGroup:
			data, shape = fused(s, weights, p.Name, 1), []int{3 * shape[0]}
		case layout == family.Transposed && matrix:
			data, shape = transposed(data, shape[0], shape[1]), []int{shape[1], shape[0]}
		case layout == family.RowOrZeros:
			shape = []int{1, shape[0]}
		}
		out = append(out, checkpoint.Tensor{Name: name, Shape: shape, Data: halves(data)})
	}
	return out, nil
}

// ofBody matches the names of tensors that are not of a head.
var ofBody = regexp.MustCompile(
	`^(shared|embeddings|encoder|decoder|transformer|pooler|word_embeddings|h|ln_f)\.`)

// layered matches the parameters of a layer.
var layered = regexp.MustCompile(`^([a-z]+\.)([0-9]+)(\..+)$`)

// tensorOf returns the name of the tensor of a parameter, with the prefix of the body if it is not
// of a head, and how the tensor stores it.
func tensorOf(f *family.Family, param string) (name string, layout family.Layout, err error) {
	layer, general := "", param
	if found := layered.FindStringSubmatch(param); found != nil {
		layer, general = found[2], found[1]+"%d"+found[3]
	}
	for _, w := range f.Weights {
		if w.Param != general {
			continue
		}
		name = w.Tensor
		if general != param {
			name = strings.Replace(name, "%d", layer, 1)
		}
		if ofBody.MatchString(name) {
			name = f.Prefixes[0] + name
		}
		return name, w.Layout, nil
	}
	return "", 0, pkg.Errorf("%s has no tensor for parameter %s", f.Name, param)
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
		return pkg.Errorf("%d arrays for %d parameters; without their numbers are %s",
			len(weights), len(spec.Params()), strings.Join(missing, ", "))
	}
	return nil
}

// fused returns a query with its key and value, [in,HE] each, as [H,3,E,in].
func fused(spec *spec.Spec, weights map[string][]float32, query string, in int) []float32 {
	var out []float32
	for h := range spec.Heads {
		for _, part := range []string{"query", "key", "value"} {
			rows := transposed(weights[strings.Replace(query, "query", part, 1)], in, spec.Width)
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
