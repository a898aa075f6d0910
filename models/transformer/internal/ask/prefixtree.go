package ask

import (
	"context"
	"slices"

	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// prefixTree is the texts of queries as a tree of tokens: a beginning that texts share is in it
// once. In a decoder a token's stream depends on the tokens before it alone, so one pass over the
// rows of the tree computes what a pass over each text does. Such are the texts that are left when
// tokens of one text are deleted or replaced. Products with weights run over the M rows; attention
// runs over the B texts, each with its S sources and those N targets that no text before it has.
type prefixTree struct {
	m       *run.Model
	queries []trace.Query
	at      []int // index of each query
	// IDs and positions are those of each row, [M].
	IDs, positions []int
	// paths are the rows of the tokens of each text, [B][≤S], and firsts the first slot of each
	// text whose row is its own, [B].
	paths  [][]int
	firsts []int
	// ends are the rows that predict, one for each query.
	ends []int
}

// treeTexts is how many queries are answered in one pass over a tree by default.
const treeTexts = 32

// mostOfTexts is how large a part of the tokens of its texts a tree may have. Above it, the texts
// run as they are.
const mostOfTexts = 7. / 8

// PrefixTrees divides queries among trees. It returns none if the texts share too little, or if a
// token changes those before it, or may count otherwise than by its slot, as with embeddings and
// edits of a query. The errors are those of [queryBatches].
func PrefixTrees(m *run.Model, queries []trace.Query, how Batching) ([]*prefixTree, error) {
	s := m.Spec
	if s.Bidirectional || s.Encoder > 0 || s.Head != spec.LanguageHead || s.SkipPosition ||
		slices.ContainsFunc(queries, func(q trace.Query) bool {
			return q.Embeddings != nil || q.Types != nil || len(q.Edits) > 0
		}) || len(queries) < 2 {
		return nil, nil
	}
	if err := checkQueries(m.Spec, queries, how); err != nil {
		return nil, err
	}
	order, longest, tokens, rows := make([]int, len(queries)), 0, 0, 0
	for i, q := range queries {
		longest, tokens, order[i] = max(longest, len(q.IDs)), tokens+len(q.IDs), i
	}
	if run.TurnedByLength(m.Spec, longest) != nil {
		return nil, nil
	}
	// In this order no text shares more with another one than with its neighbour. The sort is
	// stable, so the same queries give the same trees.
	slices.SortStableFunc(order, func(i, j int) int {
		return slices.Compare(readIDs(queries[i]), readIDs(queries[j]))
	})
	if how.Texts == 0 {
		how.Texts = max(1, min(treeTexts, batchTokens/longest))
	}
	n, err := batchSize(m, longest, how, func(tokens, texts int) run.Need {
		return run.Need{Tokens: tokens, Texts: texts, Head: true}
	})
	if err != nil {
		return nil, err
	}
	var all []*prefixTree
	for at := range slices.Chunk(order, host.Evenly(len(order), n)) {
		t := &prefixTree{m: m, queries: queries, at: at}
		for _, i := range at {
			t.add(readIDs(queries[i]))
		}
		all, rows = append(all, t), rows+len(t.IDs)
	}
	if float64(rows) > mostOfTexts*float64(tokens) {
		return nil, nil
	}
	return all, nil
}

// readIDs are the ids of a query up to the one that predicts.
func readIDs(q trace.Query) []int { return q.IDs[:q.Position+1] }

// add adds the text of the next query, which shares no more with an earlier one than with the last.
func (t *prefixTree) add(ids []int) {
	var path []int
	if len(t.paths) > 0 {
		last := t.paths[len(t.paths)-1]
		for n := 0; n < min(len(ids), len(last)) && ids[n] == t.IDs[last[n]]; n++ {
			path = append(path, last[n])
		}
	}
	if first := len(path); first < len(ids) {
		for p, id := range ids[first:] {
			path = append(path, len(t.IDs))
			t.IDs, t.positions = append(t.IDs, id), append(t.positions, first+p)
		}
		t.paths, t.firsts = append(t.paths, path), append(t.firsts, first)
	}
	t.ends = append(t.ends, path[len(ids)-1])
}

// predict puts the values of the queries in their places.
func (t *prefixTree) predict(ctx context.Context, values []float64) error {
	rows := t.rows()
	defer host.Free(rows...)
	x, err := host.Only(t.m.Machine.Execute(treeEmbedding(t.m), rows[:treeTokens]...))
	if err != nil {
		return err
	}
	for step, err := range t.m.Layers(ctx, x, nil,
		func(l int, x *tensors.Tensor) ([]*tensors.Tensor, error) {
			return t.m.Machine.Execute(treeLayer(t.m, l), append(slices.Clone(rows), x)...)
		}) {
		if err != nil {
			return err
		}
		x = step.Out
	}
	defer host.Free(x)
	ends := host.Int32Tensor(filledTo(t.ends, t.m.TextsOfPass(len(t.ends), treeTexts)))
	defer host.Free(ends)
	scores, err := host.Only(t.m.Machine.Execute(treeScores(t.m),
		append(slices.Clone(rows[:treeTokens]), x, ends)...))
	if err != nil {
		return err
	}
	defer host.Free(scores)
	return host.Read(scores, func(data []float32) {
		size := scores.Shape().Dimensions[1]
		for k, i := range t.at {
			values[i] = logit.ObjectiveValue(t.m.Spec, t.queries[i].Objective, data[k*size:][:size])
		}
	})
}

// treeTokens is how many of [prefixTree.rows] are about the tokens alone.
const treeTokens = 3

// rows are the inputs of the graphs of a tree: ids and positions, [1,M] each, the length of the
// longest text; and then the firsts, [B], the rows of each text's own targets, [B,N], and of its
// sources, [B,S], and of each row the text that has it as a target, and which, [2,M]. All are
// filled up to sizes of which there are few, so that few graphs are compiled: with zeros, whose
// results nobody reads.
func (t *prefixTree) rows() []*tensors.Tensor {
	own, sources := 0, 0
	for i, path := range t.paths {
		own, sources = max(own, len(path)-t.firsts[i]), max(sources, len(path))
	}
	length := sources
	M, B := len(t.IDs), t.m.TextsOfPass(len(t.paths), treeTexts)
	if t.m.Machine.PromptStep > 1 {
		M, own, sources = host.Bucket(M), host.Bucket(own), host.Bucket(sources)
	}
	targets, paths, back := make([]int, B*own), make([]int, B*sources), make([]int, 2*M)
	firsts := make([]int, B)
	for i, path := range t.paths {
		firsts[i] = t.firsts[i]
		copy(paths[i*sources:], path)
		for k, row := range path[t.firsts[i]:] {
			targets[i*own+k], back[row], back[M+row] = row, i, k
		}
	}
	return []*tensors.Tensor{
		host.Int32Tensor(filledTo(t.IDs, M), 1, M),
		host.Int32Tensor(filledTo(t.positions, M), 1, M),
		host.Int32Tensor([]int{length}),
		host.Int32Tensor(firsts), host.Int32Tensor(targets, B, own),
		host.Int32Tensor(paths, B, sources),
		host.Int32Tensor(back, 2, M),
	}
}

// filledTo returns numbers, followed by zeros up to n of them.
func filledTo(numbers []int, n int) []int {
	return append(slices.Clone(numbers), make([]int, n-len(numbers))...)
}

// treeBuilder builds graphs whose inputs begin with those of [prefixTree.rows].
func treeBuilder(m *run.Model, w codes.Weights, in []*Node) *graph.Builder {
	return m.Builder(w, graph.Text{IDs: in[0], Positions: in[1], Length: Squeeze(in[2], 0)})
}

// treeEmbedding is the graph of the residual stream of all rows before block 0, [1,M,D].
func treeEmbedding(m *run.Model) program.Program {
	return program.New("tree embed", codes.EndsWeights, func(w codes.Weights, in []*Node) []*Node {
		return []*Node{treeBuilder(m, w, in).Embed()}
	})
}

// treeLayer is the graph of layer l. Its inputs are [prefixTree.rows] and the stream x [1,M,D]
// before the layer; it returns that after it.
func treeLayer(m *run.Model, l int) program.Program {
	return program.New("tree "+graph.LayerKind(m.Spec, l), codes.OfLayer(l),
		func(w codes.Weights, in []*Node) []*Node {
			firsts, targets, paths, back, x := in[3], in[4], in[5], in[6], in[7]
			d := treeBuilder(m, w, in)
			return []*Node{d.TreeBlock(l, x, firsts, targets, paths, back).Output}
		})
}

// treeScores is the graph of what the head computes for some rows. Its inputs are those of the
// tokens, the stream after the last block [1,M,D] and the rows, [Q]; it returns [Q,V].
func treeScores(m *run.Model) program.Program {
	return program.New("tree scores", codes.EndsWeights, func(w codes.Weights, in []*Node) []*Node {
		x := Gather(Squeeze(in[3], 0), InsertAxes(in[4], -1)) // [Q,D]
		return []*Node{Squeeze(treeBuilder(m, w, in).Head(InsertAxes(x, 1)), 1)}
	})
}
