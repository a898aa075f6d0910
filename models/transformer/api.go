package transformer

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph" //nolint:staticcheck // graph code reads like formulas

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/ask"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/program"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// Settings are what a model is, and how much memory its passes may take.
type Settings = run.Settings

// Block is one layer in a graph, for N targets over S sources: what a [Mixing] may read. Shapes are
// in the legend of the package comment.
//
//   - Fields: Input [B,N,D], Scores and Attention [B,H,N,S], AttentionOutput and Output [B,N,D].
//   - What targets see: Visible and Self [B or 1,N,S].
//   - Values [B,H,S,E], and Context, WeightedValues [B,H,N,E] and ProjectContext [B,N,D] of them.
//   - The rest of the block: Residual, After, AfterEach, FinalNorm.
//   - What a source adds: Contributions [B,K,N,S,D], ValueWeights [B,H,N,S], and on the way through
//     norms AddedPart, NormedPart, OutputPart; the outputs without it: WithoutSource,
//     OutputsWithoutSource [B,N,S,D].
//   - Einsum, a product that every backend computes.
type Block = graph.Block

// Mixing is the way one layer mixes positions: graph code over one [Block]. The same function
// serves the many rows of a prompt and the single row of a decode step. A plugin of another module
// implements it and calls [RegisterMixing]; the mixings of this package use only what such a plugin
// can use.
type Mixing = graph.Mixing

// SharesOutput is implemented by a mixing that calls [Block.AfterEach], or
// [Block.OutputsWithoutSource], before it reads [Block.Output], which may be nil until then. Its
// decode step then computes the block's output only once.
type SharesOutput = graph.SharesOutput

// ZeroesSources is implemented by a mixing that calls [Block.OutputsWithoutSource] for all heads
// together. In a prompt, what each source adds through each head is then computed once for all
// targets, and its rows cost about half as much. If it is also [SharesOutput], so do those of
// steps; see [Session.CachesSources]. It must be PerPair.
type ZeroesSources = graph.ZeroesSources

// ReadsFinalNorm is implemented by a mixing that may call [Block.FinalNorm]. It must be PerPair:
// other graphs do not have the weights of that norm.
type ReadsFinalNorm = graph.ReadsFinalNorm

// RegisterMixing makes a mixing known under a name, in lower case with hyphens. It panics if m is
// nil, or if the name is taken or malformed.
func RegisterMixing(name string, m Mixing) { graph.RegisterMixing(name, m) }

// LookupMixing returns the mixing of that name, or an error that lists the known names.
func LookupMixing(name string) (Mixing, error) { return graph.LookupMixing(name) }

// MixingNames returns the names of all mixings, sorted.
func MixingNames() []string { return graph.MixingNames() }

// FuseHeads makes one matrix of the heads of a [B,H,N,S]: the mean, maximum or minimum over the
// heads or one of them, [B,N,S], or a itself for each head apart.
func FuseHeads(a *Node, heads trace.Heads) *Node { return graph.FuseHeads(a, heads) }

// Scores builds the graph from ids [B,T] to the scores of the head, without a cache or taps:
// [B,T,V], [B,K] for a class of the whole text, or [B,T,K] for a class of each token. A training
// loop differentiates it. weights returns the node of the array with a name of [spec.Spec.Params].
// real [B,T], in float32, is 1 for tokens and 0 for padding; nil means that there is no padding. It
// also returns the attention of each layer, [B,H,T,T], for losses that use it. It panics like all
// GoMLX graph code.
func Scores(spec *spec.Spec, weights func(name string) *Node, ids, real *Node) (
	scores *Node, attention []*Node,
) {
	return graph.Scores(spec, weights, ids, real)
}

// Batch is several texts for one pass; shorter ones are padded to the longest. If a rotary
// embedding depends on the length of the text (long-context Phi-3 models, dynamic scaling), the
// longest text decides for all, as in the reference implementation.
type Batch = run.Batch

// Output is what one pass of a session returns.
type Output = run.Output

// Session is a text that grows token by token, with its keys and values in every layer. It belongs
// to one goroutine.
type Session = run.Session

// BatchSession is a [Session] of several texts that grow together, and BatchAsk what it is opened
// for.
type (
	BatchSession = run.BatchSession
	BatchAsk     = run.BatchAsk
)

// Reading is a text of T tokens that went through all layers once; encoders are explained with it.
// It belongs to one goroutine.
type Reading = run.Reading

// Batching is how many queries run at once. The zero value takes the defaults.
type Batching = ask.Batching

// Watch is who is told when graphs are compiled, and Compilation is one such graph.
type (
	Watch       = program.Watch
	Compilation = program.Compilation
)

// Bytes returns how many bytes the weights of the layers of a model take, and all others, with the
// matrices of q in codes; q may be nil.
func Bytes(s *spec.Spec, dtype dtypes.DType, q spec.Quantized) (layers, others int64) {
	return codes.Bytes(s, dtype, q)
}

// OnHost returns q for a model whose matrices pure Go keeps in codes, and nil for one that it keeps
// in float32: where that takes at most 600 MB, because reading it is fastest, and where there are
// experts, whose matrices are not multiplied one by one.
func OnHost(s *spec.Spec, q spec.Quantized) spec.Quantized { return codes.OnHost(s, q) }

// PassBytes returns about how many bytes an explanation by the default methods of a text of so many
// tokens needs besides the weights: a pass over them, and keys and values of as many more. inTurn
// is whether experts in codes are computed one after the other, as on a CPU.
func PassBytes(s *spec.Spec, q spec.Quantized, tokens int, inTurn bool) int64 {
	return run.PassBytes(s, q, tokens, inTurn)
}
