package ask

import (
	"context"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// LogitTerms implements [transformer.Model.LogitTerms].
func LogitTerms(ctx context.Context, m *run.Model, q trace.Query) (*trace.LogitTerms, error) {
	if err := checkParted(m.Spec, q); err != nil {
		return nil, err
	}
	need := run.Need{Tokens: len(q.IDs), Taps: []trace.Tap{trace.Value}}
	if err := m.CheckMemory(need); err != nil {
		return nil, err
	}
	p := &termsPass{m: m, q: q}
	defer func() { p.Free(); host.Free(p.value...) }()
	terms, err := p.run(ctx)
	if err != nil {
		return nil, pkg.Errorf("%s parts of a logit of %d tokens: %w", m.Spec.Family,
			len(q.IDs), err)
	}
	return terms, nil
}

// checkParted returns an error for a query whose number is not a sum of parts.
func checkParted(s *spec.Spec, q trace.Query) error {
	if q.Quantity != trace.Logit {
		return pkg.Errorf("the quantity %q is not a sum of parts; take %s", q.Quantity, trace.Logit)
	}
	if len(q.Edits) > 0 {
		return pkg.Errorf("the parts of a logit of a whole text are not computed under edits")
	}
	if s.MeanPooled {
		return pkg.Errorf("the %s model reads the mean of all tokens, and the parts of a logit "+
			"are those of one token; take a method of attention or of gradients", s.Family)
	}
	return checkQuery(s, q)
}

// targetOf is where the head reads.
func targetOf(s *spec.Spec, q trace.Query) int {
	if s.Head == spec.ClassifierHead {
		return s.ReadsAt(q.IDs)
	}
	return q.Position
}

// termsPass is a pass that keeps what each layer did to the target, and the way back.
type termsPass struct {
	m *run.Model
	q trace.Query
	// latest has what is known of the target, and in final the residual stream of all tokens after
	// the last block, [1,N,D], with padding. value are the values of each layer, [1,G,S,E].
	run.Latest
	value []*tensors.Tensor
}

func (p *termsPass) run(ctx context.Context) (*trace.LogitTerms, error) {
	b := batchOf(p.m, []trace.Query{p.q}, []int{0}, Batching{Texts: 1})
	x, err := b.embed()
	if err != nil {
		return nil, err
	}
	at := tensors.FromScalar(int32(targetOf(p.m.Spec, p.q)))
	defer host.Free(at)
	for step, err := range b.inputs.Layers(ctx, x, "terms", ofTarget, at) {
		if err != nil {
			return nil, err
		}
		own := step.Collected
		p.Input, p.Output = append(p.Input, own[0]), append(p.Output, own[1])
		p.Attention, p.value = append(p.Attention, own[2]), append(p.value, own[3])
		x, step.Collected = step.Out, nil
	}
	p.Final = x
	return p.back(ctx, b.inputs, at)
}

// ofTarget collects what a layer did to one target, whose slot is an input of the graph.
func ofTarget(_ *graph.Builder, b *graph.Block, now graph.Cache, in []*Node) []*Node {
	at := in[0]
	return []*Node{
		graph.OneRow(b.Input, at), graph.OneRow(b.AttentionOutput, at),
		graph.OneRow(b.Attention, at), now.Value,
	}
}

// back reads the terms of every layer, the last layer first, along the direction that gives the
// logit.
func (p *termsPass) back(ctx context.Context, inputs *run.Inputs,
	at *tensors.Tensor,
) (*trace.LogitTerms, error) {
	layers, n := p.m.Spec.Layers, len(p.q.IDs)
	terms := &trace.LogitTerms{
		L: layers, S: n,
		Attention: make([]float64, layers*n),
		MLP:       make([]float64, layers), AttentionBias: make([]float64, layers),
	}
	along, err := p.head(inputs, at, terms)
	if err != nil {
		return nil, err
	}
	back := func(l int, along *tensors.Tensor) (*tensors.Tensor, error) {
		return p.layerBack(l, along, terms)
	}
	along, err = p.m.LayersBack(ctx, along, back)
	if err != nil {
		return nil, err
	}
	defer host.Free(along)
	if terms.Embedding, err = dotted(p.Input[0], along); err != nil {
		return nil, err
	}
	terms.Value = terms.Embedding + terms.Bias
	for l := range layers {
		for _, x := range terms.Attention[l*n : (l+1)*n] {
			terms.Value += x
		}
		terms.Value += terms.MLP[l] + terms.AttentionBias[l]
	}
	return terms, nil
}

// head returns the direction on the residual stream after the last layer, [1,1,D], and puts the
// constant into terms.
func (p *termsPass) head(inputs *run.Inputs, at *tensors.Tensor,
	terms *trace.LogitTerms,
) (*tensors.Tensor, error) {
	asked := run.AskedTensors(p.m.Spec, []*trace.Objective{&p.q.Objective}, []int{0}, 1)
	defer host.Free(asked...)
	out, err := inputs.End(p.Final, "direction",
		func(d *graph.Builder, x *Node, in []*Node) []*Node {
			r := logit.BeforeHead(d, graph.OneRow(x, in[0]), in[1], in[2])
			return []*Node{r.Along, r.Constant}
		}, append([]*tensors.Tensor{at}, asked...)...)
	if err != nil {
		return nil, err
	}
	defer host.Free(out[1])
	return out[0], host.Read(out[1], func(data []float32) { terms.Bias = float64(data[0]) })
}

// layerBack puts the terms of layer l into terms, given the direction after it, and returns the
// direction before it.
func (p *termsPass) layerBack(l int, along *tensors.Tensor,
	terms *trace.LogitTerms,
) (*tensors.Tensor, error) {
	length := tensors.FromScalar(int32(len(p.q.IDs)))
	defer host.Free(length)
	model := p.m // the graph is kept with it, so nothing else of this pass may stay in the graph
	kind := graph.LayerKind(model.Spec, l)
	out, err := p.m.Machine.Run("terms back "+kind, codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			k := logit.TargetNodes{Input: in[1], Output: in[2], Attention: in[3], Value: in[4]}
			t := logit.TermsOf(model.Builder(w, graph.Text{Length: in[0]}), l, k, in[5])
			return []*Node{t.Input.Along, t.Sources, t.MLP(), t.Input.Constant}
		}, length, p.Input[l], p.Output[l], p.Attention[l], p.value[l], along)
	if err != nil {
		return nil, err
	}
	defer host.Free(out[1:]...)
	number := func(t *tensors.Tensor, to *float64) error {
		return host.Read(t, func(data []float32) { *to = float64(data[0]) })
	}
	if err := host.Read(out[1], func(data []float32) {
		for s := range terms.S {
			terms.Attention[l*terms.S+s] = float64(data[s])
		}
	}); err != nil {
		return nil, err
	}
	if err := number(out[2], &terms.MLP[l]); err != nil {
		return nil, err
	}
	return out[0], number(out[3], &terms.AttentionBias[l])
}

// dotted is the dot product of two tensors of one size, summed in float64.
func dotted(a, b *tensors.Tensor) (sum float64, err error) {
	x, err := host.Floats(a)
	if err != nil {
		return 0, err
	}
	return sum, host.Read(b, func(y []float32) {
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
	})
}
