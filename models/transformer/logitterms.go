package transformer

import (
	"context"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
)

// LogitTerms is what the method of the model of that name does.
func LogitTerms(ctx context.Context, m *core, q trace.Query) (*trace.LogitTerms, error) {
	if err := checkParted(m.Spec, q); err != nil {
		return nil, err
	}
	if err := m.checkMemory(need{Tokens: len(q.IDs), Taps: []trace.Tap{trace.Value}}); err != nil {
		return nil, err
	}
	p := &termsPass{m: m, q: q}
	defer func() { p.free(); free(p.value...) }()
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

// target is where the head reads.
func targetOf(s *spec.Spec, q trace.Query) int {
	if s.Head == spec.ClassifierHead {
		return s.ReadsAt(q.IDs)
	}
	return q.Position
}

// askedScores returns which scores of the head o wants, [N], and the factor of each. N is 2 or
// more, so that a query with a contrast and one without share a graph. A discriminator has one
// score, that of its second class.
func askedScores(s *spec.Spec, o trace.Objective) (ids []int32, weights []float32) {
	for _, w := range o.Sum() {
		ids, weights = append(ids, int32(w.Token)), append(weights, float32(w.Weight))
	}
	if len(ids) == 1 {
		ids, weights = append(ids, 0), append(weights, 0)
	}
	if s.Discriminates() {
		for i, id := range ids {
			weights[i] *= float32(id)
			ids[i] = 0
		}
	}
	return ids, weights
}

// askedStep is what [askedTensors] rounds the number of scores up to. By default there are 5 foils.
const askedStep = 8

// askedTensors are the scores and factors of [askedScores] for objectives of the texts in rows, of
// so many texts, [texts,N] each. A nil objective asks for none. N is a multiple of askedStep, so
// that with a contrast, with a few foils and without any they are inputs of one graph.
func askedTensors(s *spec.Spec, objectives []*trace.Objective, rows []int,
	texts int,
) []*tensors.Tensor {
	ids, weights, most := make([][]int32, texts), make([][]float32, texts), 0
	for i, o := range objectives {
		if o != nil {
			ids[rows[i]], weights[rows[i]] = askedScores(s, *o)
			most = max(most, len(ids[rows[i]]))
		}
	}
	most = roundUp(most, askedStep)
	flatIDs, flatWeights := make([]int32, texts*most), make([]float32, texts*most)
	for i := range ids {
		copy(flatIDs[i*most:], ids[i])
		copy(flatWeights[i*most:], weights[i])
	}
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(flatIDs, texts, most),
		tensors.FromFlatDataAndDimensions(flatWeights, texts, most),
	}
}

// termsPass is a pass that keeps what each layer did to the target, and the way back.
type termsPass struct {
	m *core
	q trace.Query
	// latest has what is known of the target, and in final the residual stream of all tokens after
	// the last block, [1,N,D], with padding. value are the values of each layer, [1,G,S,E].
	latest
	value []*tensors.Tensor
}

func (p *termsPass) run(ctx context.Context) (*trace.LogitTerms, error) {
	b := batchOf(p.m, []trace.Query{p.q}, []int{0}, Batching{Texts: 1})
	x, err := b.embed()
	if err != nil {
		return nil, err
	}
	at := tensors.FromScalar(int32(targetOf(p.m.Spec, p.q)))
	defer free(at)
	for step, err := range b.inputs.layers(ctx, x, "terms", ofTarget, at) {
		if err != nil {
			return nil, err
		}
		own := step.collected
		p.input, p.output = append(p.input, own[0]), append(p.output, own[1])
		p.attention, p.value = append(p.attention, own[2]), append(p.value, own[3])
		x, step.collected = step.out, nil
	}
	p.final = x
	return p.back(ctx, b.inputs, at)
}

// ofTarget collects what a layer did to one target, whose slot is an input of the graph.
func ofTarget(_ *builder, b *Block, now cache, in []*Node) []*Node {
	at := in[0]
	return []*Node{
		oneRow(b.Input, at), oneRow(b.AttentionOutput, at), oneRow(b.Attention, at), now.value,
	}
}

// back reads the terms of every layer, the last layer first, along the direction that gives the
// logit.
func (p *termsPass) back(ctx context.Context, inputs *inputs,
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
	along, err = p.m.layersBack(ctx, along, back)
	if err != nil {
		return nil, err
	}
	defer free(along)
	if terms.Embedding, err = dotted(p.input[0], along); err != nil {
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
func (p *termsPass) head(inputs *inputs, at *tensors.Tensor,
	terms *trace.LogitTerms,
) (*tensors.Tensor, error) {
	asked := askedTensors(p.m.Spec, []*trace.Objective{&p.q.Objective}, []int{0}, 1)
	defer free(asked...)
	out, err := inputs.end(p.final, "direction", func(d *builder, x *Node, in []*Node) []*Node {
		r := beforeHead(d, oneRow(x, in[0]), in[1], in[2])
		return []*Node{r.along, r.constant}
	}, append([]*tensors.Tensor{at}, asked...)...)
	if err != nil {
		return nil, err
	}
	defer free(out[1])
	return out[0], read(out[1], func(data []float32) { terms.Bias = float64(data[0]) })
}

// layerBack puts the terms of layer l into terms, given the direction after it, and returns the
// direction before it.
func (p *termsPass) layerBack(l int, along *tensors.Tensor,
	terms *trace.LogitTerms,
) (*tensors.Tensor, error) {
	length := tensors.FromScalar(int32(len(p.q.IDs)))
	defer free(length)
	model := p.m // the graph is kept with it, so nothing else of this pass may stay in the graph
	kind := layerKind(model.Spec, l)
	out, err := p.m.machine.run("terms back "+kind, ofLayer(l), func(w byName, in []*Node) []*Node {
		k := targetNodes{input: in[1], output: in[2], attention: in[3], value: in[4]}
		t := termsOf(model, w, l, in[0], k, in[5])
		return []*Node{t.input.along, t.sources, t.mlp(), t.input.constant}
	}, length, p.input[l], p.output[l], p.attention[l], p.value[l], along)
	if err != nil {
		return nil, err
	}
	defer free(out[1:]...)
	number := func(t *tensors.Tensor, to *float64) error {
		return read(t, func(data []float32) { *to = float64(data[0]) })
	}
	if err := read(out[1], func(data []float32) {
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

// blockTerms are what one layer of one target added to the logit.
type blockTerms struct {
	// input is the direction before the layer; its constant is what the biases of the layer add.
	input direction
	// heads is what the target read from each source by each head, [B,H,S], and sources the sum
	// over heads, [B,S].
	heads, sources *Node
	// mlp builds the feed-forward part, a scalar. It costs the feed-forward layer again.
	mlp func() *Node
}

// targetNodes is what a layer did to B targets, in a graph: its input and attention output,
// [B,1,D], its attention, [B,H,1,S], and the values of all sources, [B,G,S,E]. Input and output are
// nil where nothing reads them; see [normsOnTheWay]. sum is what [Block.sumBeforeNorm] gave,
// [B,1,D]; nil if it is to be computed.
type targetNodes struct{ input, output, attention, value, sum *Node }

// termsOf builds the terms of layer l for one target of each text, given the length of the text,
// what the layer did to the targets and the direction after it, [B,1,D].
func termsOf(m *core, w byName, l int, length *Node, k targetNodes, along *Node) blockTerms {
	d := m.builder(w, text{length: length})
	b := &Block{
		Input: k.input, AttentionOutput: k.output, Attention: k.attention,
		sources: cache{value: k.value}, layer: d.layer(l),
	}
	b.layer.outputColumns = codesByColumn(w, ofLayer(l)+"output.weight")
	return termsAlong(b, along, k.sum)
}

// termsAlong returns the terms of a layer for one target, given the direction after it, [B,1,D],
// and what [Block.sumBeforeNorm] gave, nil if it is to be computed. It follows [Block.After]
// backwards.
func termsAlong(b *Block, along, sum *Node) blockTerms {
	r := direction{along: along, constant: ScalarZero(along.Graph(), along.DType())}
	x, a := b.Input, b.AttentionOutput
	none := func() *Node { return ScalarZero(along.Graph(), along.DType()) }
	switch stack := b.layer.spec.Stack(b.layer.number); {
	case stack == spec.Encoding: // the target is a token of the target
		heads := Squeeze(ZerosLike(b.Attention), 2)
		return blockTerms{input: r, mlp: none, heads: heads, sources: ReduceSum(heads, 1)}
	case stack == spec.Decoding:
		if b.layer.spec.Order == spec.PostNorm {
			r = beforeLayerNorm(b.layer, r, Add(x, a), "attention-norm")
		}
		return attentionTerms(b, blockTerms{input: r, mlp: none}, r)
	}
	if sum == nil && sumsBeforeNorm(b.layer.spec, b.layer.number) {
		sum = b.sumBeforeNorm()
	}
	switch b.layer.spec.Order {
	case spec.PostNorm:
		r = beforeLayerNorm(b.layer, r, sum, "mlp-norm")
		after := r
		mlp := func() *Node { return after.read(b.layer.mlp(b.layer.norm(Add(x, a), "attention-norm"))) }
		r = beforeLayerNorm(b.layer, r, Add(x, a), "attention-norm")
		return attentionTerms(b, blockTerms{input: r, mlp: mlp}, r)
	case spec.Parallel:
		name := "mlp-norm"
		if b.layer.spec.SharedNorm {
			name = "attention-norm"
		}
		mlp := func() *Node { return r.read(b.layer.mlp(b.layer.norm(x, name))) }
		return attentionTerms(b, blockTerms{input: r, mlp: mlp}, r)
	}
	after := r
	mlp := func() *Node {
		m := b.layer.mlp(b.layer.norm(b.attentionSum(), "mlp-norm"))
		return after.read(b.layer.norm(m, "mlp-after-norm"))
	}
	if b.layer.spec.NormedResidual {
		r = beforeLayerNorm(b.layer, r, sum, "mlp-norm")
	}
	// Before z, residual and attention output have directions of their own; the biases of both
	// count once.
	attention := beforeLayerNorm(b.layer, r, a, "attention-after-norm")
	r.constant = attention.constant
	if b.layer.spec.NormedResidual {
		r = beforeLayerNorm(b.layer, r, x, "attention-norm")
	}
	return attentionTerms(b, blockTerms{input: r, mlp: mlp}, attention)
}

// attentionTerms adds what the target read from each source, Σ_h α^h[t,s] v^h_s·(W_O^h d), given
// the direction d on the attention output, and the output bias.
func attentionTerms(b *Block, t blockTerms, on direction) blockTerms {
	heads := outputAlong(b, on.along) // [B,1,HE]
	each := valuesAlong(b, Reshape(heads, -1, b.layer.spec.Heads, b.layer.spec.ValueWidth()))
	t.heads = Mul(each, Squeeze(b.Attention, 2)) // [B,H,S]
	t.sources = ReduceSum(t.heads, 1)            // [B,S]
	if b.layer.spec.OutputBias {
		t.input.constant = Add(t.input.constant, on.read(b.layer.w("output.bias")))
	}
	return t
}

// outputAlong is W_O d for a direction d on the attention output, [B,1,HE] of [B,1,D].
func outputAlong(b *Block, d *Node) *Node {
	if b.layer.outputColumns != nil {
		return Reshape(b.layer.outputColumns.times(b.layer.product.isolated(d)), 1, 1, -1)
	}
	w := b.layer.w("output.weight")
	if !b.layer.product.outFirst { // W_O is [HE,D]
		return b.layer.product.with(d, float(w), 1)
	}
	if y := quantizedOf(w).leftTimes(b.layer.product.isolated(d)); y != nil {
		return y
	}
	return b.layer.product.with(d, float(w), 0)
}

// valuesAlong is v^h_s·d^h for a direction d [B,H,E], [B,H,S]. The values of a group are not
// repeated for its heads.
func valuesAlong(b *Block, d *Node) *Node {
	value := b.sources.value // [B,G,S,E]
	if narrow(value) {
		return ReduceSum(Mul(b.Values(), InsertAxes(d, 2)), -1)
	}
	dims := value.Shape().Dimensions
	byGroup := Reshape(d, dims[0], dims[1], b.layer.spec.Heads/dims[1], dims[3]) // [B,G,R,E]
	along := b.layer.einsum("bgse,bgre->bgsr", value, byGroup)
	along = TransposeAllAxes(along, 0, 1, 3, 2)
	return Reshape(along, dims[0], b.layer.spec.Heads, dims[2])
}

// dotted is the dot product of two tensors of one size, summed in float64.
func dotted(a, b *tensors.Tensor) (sum float64, err error) {
	x, err := floats(a)
	if err != nil {
		return 0, err
	}
	return sum, read(b, func(y []float32) {
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
	})
}
