// Package transformer is the graph of a transformer. Attention, norms, positions and the
// feed-forward part exist here once, and a [spec.Spec] says how a model uses them; a model family
// is data in another package. A [Model] is such a graph with weights.
//
//	m, err := transformer.New(backend, s, dtypes.Float32, load) // load reads one array at a time
//	if err != nil {
//		return err
//	}
//	taps, err := m.Trace(ctx, []int{5, 3, 8}, []trace.Tap{trace.Attention, trace.Logits})
//	if err != nil {
//		return err
//	}
//	fmt.Println(taps[0].Shape, taps[1].Shape) // [L,H,3,3] and [3,V]
//
// # Parts
//
//   - [Model.Trace] and [Model.Forward] record tensors.
//   - [Model.Read] reads a whole text. [Model.NewSession] generates, with a cache of keys and
//     values. Both return the rows of mixings.
//   - [Model.Predict] and [Model.Gradients] answer queries about the scores of the head.
//   - [Model.LogitTerms] and [Model.Decompose] take a logit apart.
//   - [Model.WithoutValue] zeroes one value vector: the definition of Value Zeroing.
//   - [Scores] builds the graph for a training loop, without a model.
//
// A prompt has many targets and a decode step has one. Both build their blocks with the same
// function, and the same mixings read them.
//
// Sizes: B batch, L layers, H heads, G heads with keys and values, T targets (N of them in one
// step), S sources, D width of the residual stream, W width of the embedding, E width of a head, F
// width of the feed-forward part, V vocabulary, K classes. Shapes are written outermost axis
// first.
//
// # Mixings
//
// A [Mixing] is the way one layer mixes positions: graph code over one [Block] that returns a
// number C[t,s] ≥ 0 for every target and source. Built in are
//
//	attention                           the softmax of the scores
//	norms                               length of the vector that a target gets from a source
//	norms-residual                      the same with the residual
//	norms-residual-norm                 the same through the norm after the attention
//	globenc                             the same through the whole block
//	alti                                how much closer a source's vector brings the sum
//	value-zeroing                       how far the output turns without the value of a source
//	value-zeroing-euclidean             how far it moves
//	value-zeroing-final-norm            as value-zeroing, the last layer after the final norm
//	value-zeroing-euclidean-final-norm  as value-zeroing-euclidean, likewise
//
// # Writing a mixing
//
// First write a type with the three methods of [Mixing], and register it from init:
//
//	type valueNorms struct{}
//
//	func (valueNorms) Mix(b *transformer.Block, heads trace.Heads) *Node {
//		length := Sqrt(ReduceSum(Square(b.Values()), -1))                            // [B,H,S]
//		return transformer.FuseHeads(Mul(b.Attention, InsertAxes(length, 2)), heads) // [B,N,S]
//	}
//
//	func (valueNorms) Check(trace.Heads) error { return nil }
//
//	func (valueNorms) PerPair() bool { return false }
//
//	func init() { transformer.RegisterMixing("value-norms", valueNorms{}) }
//
// Then describe it under the same name with RegisterMixing of package attribution, which knows
// nothing of graphs; in a notebook, RegisterMixing of gonbext/local does both. After that
// "value-norms+rollout" is a method. The first test is modeltest.Mixing(t, "value-norms",
// valueNorms{}).
//
// A mixing reads the exported fields and methods of [Block] only. What else it may do depends on
// its methods:
//
//   - PerPair, which every mixing has. If it returns true, a prompt is computed layer by layer in
//     tiles of targets, so that an array [B,N,S,D] fits the memory. Only then may Mix call
//     [Block.Contributions].
//   - [SharesOutput], optional: Mix calls [Block.AfterEach] or [Block.OutputsWithoutSource] before
//     it reads [Block.Output], so a decode step computes the output together with the changed ones.
//   - [ZeroesSources], optional: Mix calls [Block.OutputsWithoutSource], so the targets of a prompt
//     share what each source adds. PerPair must then return true.
//   - [ReadsFinalNorm], optional: Mix may call [Block.FinalNorm]. PerPair must then return true.
//
// # Errors
//
//   - A [*spec.SpecError] from [New]: the spec contradicts itself.
//   - A [*trace.MemoryError]: the pass would need more memory than [Model.MaxBytes]. Nothing has
//     been computed. It names what would fit.
//   - An error that wraps ctx.Err(): the caller stopped the pass. It names the layer.
//   - An unknown mixing or tap: the error lists the known ones.
//   - An error that names a mixing after the pass: its graph code panicked, or returned nil or
//     another shape than [Mixing] says.
//
// GoMLX panics while a graph is built; [Model] turns that into an error. The package never prints,
// and asks neither the network nor the environment.
package transformer

import (
	"context"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/ask"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("transformer")

// Model is a transformer with its weights on a backend. It is safe for concurrent use.
type Model struct {
	*Settings
	// core runs passes, and parted is what is kept of the text of [Model.ForText], nil for a model
	// of no text.
	core   *run.Model
	parted *ask.PartedText
}

// New puts a transformer on a backend. dtype is the type of its matrices: float32, or bfloat16 for
// half the memory; norms and biases are always float32. Every array goes from load straight to its
// place, without a copy. It returns a [*spec.SpecError] for a spec that contradicts itself, an
// error for another dtype, and the errors of load and of the backend.
func New(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader,
) (*Model, error) {
	return newModel(run.Open(backend, spec, dtype, load, nil, 1))
}

// NewQuantized is [New] for a checkpoint some of whose matrices may be quantised, and which several
// goroutines may read at once. Where XLA computes in float32 it reads those from q, and keeps their
// codes alone. A token on the cache then takes less time, because it reads less memory;
// a graph with products of several columns computes the numbers first, which are those of load. q
// may be nil.
func NewQuantized(backend compute.Backend, spec *spec.Spec, dtype dtypes.DType,
	load spec.Loader, q spec.Quantized,
) (*Model, error) {
	return newModel(run.Open(backend, spec, dtype, load, q, 0))
}

func newModel(core *run.Model, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	return &Model{Settings: core.Settings, core: core}, nil
}

// WithMaxBytes returns a model on the same weights and compiled graphs whose passes may take so
// many bytes besides the weights; see [Model.MaxBytes]. m does not change.
func (m *Model) WithMaxBytes(bytes int64) *Model {
	settings := *m.Settings
	settings.MaxBytes = bytes
	return m.on(m.core.With(settings))
}

// on returns a view of the model that computes with another core.
func (m *Model) on(core *run.Model) *Model {
	return &Model{Settings: core.Settings, core: core, parted: m.parted}
}

// Watched returns a model on the same weights and compiled graphs that reports to w until stop is
// called. m does not change.
func (m *Model) Watched(w Watch) (watched *Model, stop func()) {
	core, stop := m.core.Watched(w)
	return m.on(core), stop
}

// ForText returns the model for one text that grows, and what frees the memory of it.
// [Model.Decompose] then keeps the parts of all values beside the keys and values, 4·L·T²·GE bytes
// and at most 1 GiB, so that each further token costs about one pass over the text. The returned
// model must not be asked for parts by two goroutines at once.
func (m *Model) ForText() (*Model, func()) {
	view := m.on(m.core)
	view.parted = &ask.PartedText{}
	return view, view.parted.Free
}

// WeightBytes returns how many bytes the weights take.
func (m *Model) WeightBytes() int64 { return m.core.Machine.Held.Bytes() }

// RoundedBytes returns how many bytes the buffers of the weights have if sizes are rounded up as
// the pure-Go backend does: to 2ⁿ or 3·2ⁿ.
func (m *Model) RoundedBytes() int64 { return m.core.Machine.Held.RoundedBytes() }

// Compiled returns how many graphs were compiled for the model so far, one for every use and
// shape, and how long that took. Graphs that were compiled at the same time count once in it.
func (m *Model) Compiled() (graphs int, took time.Duration) { return m.core.Machine.Compiled() }

// CheckIDs returns an error if ids is empty, longer than the context, or contains an id outside
// the vocabulary, and for two stacks if it does not have a source and one target.
func (m *Model) CheckIDs(ids []int) error { return run.CheckIDs(m.Spec, ids) }

// CheckVocabulary returns an error if ids is empty, contains an id outside the vocabulary, or parts
// source and target twice. Ids without a boundary are of the target.
func (m *Model) CheckVocabulary(ids []int) error { return run.CheckVocabulary(m.Spec, ids) }

// Trace runs ids once, T tokens, and returns one tensor per tap, in the order of wanted; package
// trace has their shapes. In a decoder, entries of sources after their target are 0. The tap
// logits is [T,V], [T,K] of a token classifier and [K] of a classifier; without a head it is an
// error. Other errors are those of [Model.Forward].
func (m *Model) Trace(
	ctx context.Context, ids []int, wanted []trace.Tap,
) ([]trace.Tensor, error) {
	return m.core.Trace(ctx, ids, wanted)
}

// Forward runs a batch in one pass and returns for each text what [Model.Trace] returns, without
// padding. It returns an error for an unknown tap, an empty batch, ids that the model cannot take,
// padding on the left for an encoder, which would move the positions of its texts; a
// [*trace.MemoryError]; and one that wraps ctx.Err() within a layer.
func (m *Model) Forward(
	ctx context.Context, batch Batch, wanted []trace.Tap,
) ([][]trace.Tensor, error) {
	return m.core.Forward(ctx, batch, wanted)
}

// Read runs a whole text at once and returns the rows of every target for the mixings of
// asks, as in [Model.NewSession]; their AllRows has no effect. types are the token types, [T], nil
// for type 0. Under edits, nil for none, of all mixings only attention has rows. progress, if not
// nil, is told of every layer of a long text and of every tile layer. It returns an error for ids
// or types that the model cannot take, for a mixing that does not exist or cannot fuse heads as
// asked, and a [*trace.MemoryError].
func (m *Model) Read(
	ctx context.Context, ids, types []int, asks []trace.MixingAsk, edits []trace.Edit,
	progress func(trace.Progress),
) (*Reading, error) {
	return m.core.Read(ctx, ids, types, asks, edits, progress)
}

// NewSession starts an empty text. asks are the mixings whose rows every pass returns. The text is
// expected to have room tokens in the end, so that its cache need not grow; 0 means unknown. It
// returns an error for an encoder, for a mixing that does not exist or cannot fuse heads as asked,
// and for a head that the model does not have.
func (m *Model) NewSession(asks []trace.MixingAsk, room int) (*Session, error) {
	return m.core.NewSession(asks, room)
}

// NewBatchSession opens a session without texts. It returns an error of [Model.CheckBatch] and a
// [*trace.MemoryError] if the session would need more memory than a pass may take.
func (m *Model) NewBatchSession(ask BatchAsk) (*BatchSession, error) {
	return m.core.NewBatchSession(ask)
}

// CheckBatch returns an error if the model cannot run what is asked for in a batch: it is an
// encoder, a mixing costs a pass for each pair of tokens or cannot fuse heads as asked, or the
// length of a text changes how all its keys are turned.
func (m *Model) CheckBatch(ask BatchAsk) error { return m.core.CheckBatch(ask) }

// BatchBytes returns about how many bytes a session needs besides the weights: keys and values, and
// its largest pass.
func (m *Model) BatchBytes(ask BatchAsk) int64 { return m.core.BatchBytes(ask) }

// BatchSlots returns how many slots the cache of a text of so many tokens has. Texts with as many
// slots can share a session without waste.
func (m *Model) BatchSlots(tokens int) int { return host.Bucket(tokens) }

// BatchTexts returns how many rows a session for n texts should have: n, but at most most, and the
// next power of two where every size is compiled.
func (m *Model) BatchTexts(n, most int) int { return m.core.BatchTexts(n, most) }

// BatchPrompts returns how many of n waiting texts should be read in one pass in a session of so
// many rows: all, or a power of two where every size is compiled.
func (m *Model) BatchPrompts(n, rows int) int { return m.core.BatchPrompts(n, rows) }

// Predict returns the number that each query asks for, computed in float64 from the scores of the
// head; the head reads only the positions asked for. Texts may have any lengths and run in
// batches. In a decoder, the tokens with which several texts begin run once. The texts of a batch
// change each other's numbers by no more than rounding, and the same queries give the same bits.
//
// It returns an error that names a query whose text, position, token or contrast the model does
// not have, a [*trace.MemoryError] if one text alone does not fit, and one that wraps ctx.Err()
// within a layer.
func (m *Model) Predict(ctx context.Context, queries []trace.Query) ([]float64, error) {
	return ask.Predict(ctx, m.core, queries)
}

// PredictIn is [Model.Predict] with a choice of the batches and word of the progress.
func (m *Model) PredictIn(ctx context.Context, queries []trace.Query, how Batching) (
	[]float64, error,
) {
	return ask.PredictIn(ctx, m.core, queries, how)
}

// PredictContinuation returns how probable a continuation of C tokens is after each of several
// prompts. What a prompt has in common with the one before it, in an order that the model chooses,
// is read once: the keys and values of the common beginning stay in the cache. done, if not nil, is
// called after each prompt with the number of prompts so far. Equal calls give equal bits.
//
// If a rotary embedding depends on the length of the text (long-context Phi-3 models, dynamic
// scaling), texts longer than it was trained for are read as a whole.
//
// It returns an error for an encoder and for a model without a head that scores tokens, for ids
// that the model cannot take, and for a prompt that is longer than the context together with the
// continuation; a [*trace.MemoryError]; and one that wraps ctx.Err() within a layer.
func (m *Model) PredictContinuation(
	ctx context.Context, prompts [][]int, continuation []int, done func(prompts int),
) (*trace.Continuations, error) {
	return ask.PredictContinuation(ctx, m.core, prompts, continuation, done)
}

// ReadLogits runs a text once, under edits, and calls use, in order, with the scores after each
// token from position first on, [V]; see [trace.LogitReader]. The errors are those of
// [Session.Extend] and [Session.Prompt], and one for a position outside the text, or outside of the
// target of a model of two stacks.
func (m *Model) ReadLogits(
	ctx context.Context, ids []int, edits []trace.Edit, first int,
	use func(position int, logits []float32) error,
) error {
	return run.ReadLogits(ctx, m.core, ids, edits, first, use)
}

// Embed returns the rows of the embedding for ids, [T,W], before positions are added and before it
// is scaled or normalised. W is the width of the residual stream except in models that project
// their embedding; see [spec.Spec.Embedded]. It returns an error for ids that the model cannot
// take.
func (m *Model) Embed(ctx context.Context, ids []int) ([]float32, error) {
	return ask.Embed(ctx, m.core, ids)
}

// Gradients returns what each query asks for and its derivative with respect to the embedding of
// the text and, by the rules [trace.WithAttention] and [trace.WithTaps], the attention or some taps
// of every layer; see [trace.Gradient]. A batch goes through all layers and back, and each layer is
// computed again on the way back: that costs about three times as much as [Model.Predict], and
// keeps one hidden state per layer and the intermediate results of one layer. With bfloat16 weights
// the derivative of rounding is taken as 1. Errors are those of [Model.Predict].
func (m *Model) Gradients(ctx context.Context, queries []trace.Query, rule trace.Backward) (
	[]trace.Gradient, error,
) {
	return ask.Gradients(ctx, m.core, queries, rule)
}

// GradientsIn is [Model.Gradients] with a choice of the batches and word of the progress.
func (m *Model) GradientsIn(
	ctx context.Context, queries []trace.Query, rule trace.Backward, how Batching,
) ([]trace.Gradient, error) {
	return ask.GradientsIn(ctx, m.core, queries, rule, how)
}

// LogitTerms takes the query's logit, or difference of two logits, apart into the vectors that
// were added to the residual stream of its target t (Ferrando et al. 2023, §3):
//
//	logit = w·N(x_0 + Σ_l (Σ_s Σ_h α^h[t,s] v^h_s W_O^h + b_O + m_l)) + b
//
// N is what the stream passes on its way to the logit. Each norm divides by the deviation that it
// has for this text, so N is linear. In the paper's models the only such norm is the last one.
// Here N also includes norms after attention and feed-forward (Gemma 2 and 3), norms that the
// stream passes in every layer (BERT, OPT-350m, BLOOM with normed residuals), and the hidden layer
// of a head (BERT's transform, a classifier's pooler) and the cap of logits. The last two are
// lines through the origin with slope f(x)/x, the rule of DecompX. In every model a term is the
// direct path; what later layers compute from it belongs to them. A value includes its bias, as in
// the paper. AttentionBias includes the biases of norms within a layer on the way, and Bias those
// of the head.
//
// The sum of the terms is the logit of the text, up to rounding, which includes that of
// activations if weights are bfloat16. It costs one pass, and for each layer about as much as one
// token. The text may have tokens after the target; a decoder does not see them. It returns an
// error for a quantity other than [trace.Logit], for a text, position, token or contrast that the
// model does not have, and for a model without a head; a [*trace.MemoryError]; and one that wraps
// ctx.Err() within a layer. Numbers of the model that are infinite or NaN stay so in the terms.
func (m *Model) LogitTerms(ctx context.Context, q trace.Query) (*trace.LogitTerms, error) {
	return ask.LogitTerms(ctx, m.core, q)
}

// Decompose returns the part of the query's logit, or difference of two logits, that comes from
// each token, [T], and the rest: the logit minus all parts. Every vector in every layer is the sum
// of T parts, one per token (DecompX, Modarressi et al. 2023, §3):
//
//	attention   Σ_h Σ_s α^h[t,s] x_{s,k} W_V^h W_O^h       α unchanged (eq. 4)
//	norms       (x_k - mean x_k)/σ(x)·g                    σ of the whole vector (eq. 8)
//	activation  f(x)/x·x_k                                 its limit at 0 (eq. 10)
//	biases      ω_k b, ω_k = |b·p_k| / Σ_j |b·p_j|         AbsDot, p what b is added to (eq. 5)
//
// It goes from the embedding, which with its position and norm belongs to its token, through all
// layers and the head (eq. 13); a cap of logits counts as an activation. As in the paper, but not
// in its programs, the bias of an attention is shared before the residual is added, and includes
// the bias of the values in every layer.
//
// Parts that the paper's encoders do not have are treated in the same way: RMS norms, norms after
// attention and feed-forward, parallel blocks; rotary positions and ALiBi are in α. A gate times
// another projection gives half to each, the Shapley value of a product. In a decoder, tokens
// after the target have the part 0.
//
// The rest is what no token gets: rounding, that of activations if weights are bfloat16, and
// biases at right angles to all parts. It costs about T passes, half as many in a decoder, and
// 4·T²·(D+2GE) bytes. Errors are those of [Model.LogitTerms].
//
// In a model of two stacks the tokens of both have parts, which go through the encoder, the
// attention to the source and the decoder. A layer leaves those of the other stack as they are.
//
// A model of [Model.ForText] goes on with the text of the last call where it can, if it has one
// stack.
func (m *Model) Decompose(
	ctx context.Context, q trace.Query,
) (parts []float64, rest float64, err error) {
	return ask.Decompose(ctx, m.core, m.parted, q)
}

// Lens runs a text once and calls use with what [Session.Lens] computes at each position, in their
// order. It returns an error for a position outside the text, for a head that scores no tokens, and
// those of [Model.Forward].
func (m *Model) Lens(
	ctx context.Context, q trace.LensQuery, use func(i int, scores []float32) error,
) error {
	return ask.Lens(ctx, m.core, q, use)
}

// EdgeGraph implements [trace.EdgePatcher]. What a head sends is what it adds to the residual
// stream, [trace.HeadAdded]: where a norm follows the attention, it has the spread that the whole
// output of the attention has in the same run. (EAP-IG by Hanna et al. instead normalises the
// heads that a receiver reads once more for each receiver.)
func (m *Model) EdgeGraph() (trace.EdgeGraph, error) { return ask.EdgeGraph(m.Spec) }

// PatchEdges implements [trace.EdgePatcher]. It costs a run of each prompt. It returns a
// [*trace.MemoryError] if the runs do not fit, and the errors of [Model.Predict].
func (m *Model) PatchEdges(
	ctx context.Context, clean, corrupted []int, edits []trace.Edit, o trace.Objective,
) (trace.EdgeRuns, error) {
	return ask.PatchEdges(ctx, m.core, clean, corrupted, edits, o)
}

// WithoutValue runs layer l on x, the residual stream before it of T tokens, [T,D], with the value
// vector of one source set to zero in every head. It returns the residual stream after the layer,
// [T,D]: the definition of Value Zeroing, computed without any shortcut (Mohebbi et al. 2023, §3).
// A source of -1 zeroes none. It returns an error for a layer, source or size that does not exist.
func (m *Model) WithoutValue(
	ctx context.Context, l int, x []float32, source int,
) ([]float32, error) {
	return ask.WithoutValue(ctx, m.core, l, x, source)
}
