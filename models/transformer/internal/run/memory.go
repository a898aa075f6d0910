package run

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/edit"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
)

// defaultMaxBytes is the limit of one pass by default: more is refused, because the system would
// end the program.
const defaultMaxBytes = 8 << 30

// Need is what a pass will do, for an estimate of its memory.
type Need struct {
	// Tokens is the length of the longest text, Texts the number of texts; 0 texts means 1.
	Tokens, Texts int
	// Taps are recorded; Asks are the mixings whose rows are returned.
	Taps []trace.Tap
	Asks []trace.MixingAsk
	// Slots is how many tokens keys and values are kept for.
	Slots int
	// Terms is whether what each layer did to the last token is kept.
	Terms bool
	// Tile is how many targets are computed at a time; 0 means all. Streams is whether the residual
	// stream before each layer is kept for as many tokens as Slots.
	Tile    int
	Streams bool
	// Edits are those of each text, which keep their values during the pass.
	Edits [][]trace.Edit
	// Head is whether the head reads one position of each text, and Lens whether it reads the
	// stream before and after every layer, at one position at a time.
	Head, Lens bool
	// Gradient is whether a number of each text is differentiated, AttentionGradient whether also
	// with respect to the attention of every layer.
	Gradient, AttentionGradient bool
	// Edges is whether the edges between nodes are patched; see [ask.edgeRuns].
	Edges bool
	// Parts is whether the parts of every token are carried through the layers; see
	// [transformer.Model.Decompose]. KeptParts is for how many tokens those of the values are kept.
	Parts     bool
	KeptParts int
}

// refused returns the error that a pass over texts of so many tokens needs more memory than it may
// take. what is the part of the pass that needs it.
func (m *Model) refused(what string, texts, tokens int, need int64, instead string) error {
	if texts > 1 {
		what = fmt.Sprintf("%s for %d texts of %s tokens", what, texts, thousands(tokens))
	} else {
		what += fmt.Sprintf(" for %s tokens", thousands(tokens))
	}
	left := m.Limit()
	return &trace.MemoryError{
		Package: "transformer", What: "a pass with " + what, Need: need, Instead: instead,
		Memory: trace.Memory{Left: left, Limit: left + m.Beside, Chosen: m.Chosen},
	}
}

// thousands writes n with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// passArrays is how many arrays [B,H,T,T] a layer holds at a time besides those that it returns:
// scores, mask, softmax, and room to compute them.
const passArrays = 4

// backwardArrays is what a layer holds on the way back, in units of what it holds on the way
// forward. Measured with GPT-2 small and 4 texts of 256 tokens: 3 in pure Go and 4 with XLA,
// compiling included.
const backwardArrays = 4

// rowCopies is how many float32 numbers the rows of a text become, for each of their numbers,
// where aggregations use them: they are held in float64, normalised in float64, and flow holds
// three for each visible pair, which are half of all.
const rowCopies = 2 + 2 + 3

// partArrays is how many arrays [N,K,D] a tile of parts holds at a time.
const partArrays = 6

// Estimate returns about how many bytes a pass needs besides the weights, including what it
// returns. Layers are computed and fetched one after the other, so that is what it returns plus
// the working memory of one layer.
func (m *Model) Estimate(n Need) int64 {
	returned, layer := estimate(m.Spec, n)
	total := returned + layer + m.compiling(n) + m.headTable(n) + m.decoded(n)
	if total < maxEstimate {
		return int64(total)
	}
	return maxEstimate
}

const maxEstimate = 1 << 62

// What XLA takes to compile the graphs of a pass, and keeps, beyond the few of an ordinary one:
// parts have a graph for every size of their tiles. Seen with the 12 layers of GPT-2 small: 40 MB
// a graph. A prompt in tiles has a graph for every number of sources, and products of vectors have
// one more for each: with 4 layers of 4 heads up to 35 and 15 MB each were seen.
const (
	gradientGraphs = 64 << 20
	partsGraphs    = 320 << 20
	tileGraph      = 36 << 20
	productGraph   = 18 << 20
)

// compiling returns how many bytes the graphs of a pass take where they are compiled.
func (m *Model) compiling(n Need) float64 {
	switch {
	// Without weights it is asked for sizes alone.
	case m.Machine == nil || codes.BackendName(m.Machine.Backend) == "go":
		return 0
	case n.Parts:
		return partsGraphs
	case n.Gradient:
		return gradientGraphs
	case n.Tile > 0 && n.Streams:
		return float64(m.tileSizes(n.Tokens)) * (tileGraph + productGraph)
	case n.Tile > 0:
		return float64(m.tileSizes(n.Tokens)) * tileGraph
	}
	return 0
}

// headTable returns how many bytes the table of the head takes in float32 during a pass that scores
// several positions, where it is kept in codes.
func (m *Model) headTable(n Need) float64 {
	several := n.Head && n.Texts > 1 || n.Lens || slices.Contains(n.Taps, trace.Logits)
	// the host computes it where it is differentiated
	if m.Machine != nil && m.Machine.Held.Hosted != nil {
		several = n.Gradient
	}
	if m.Machine == nil || !several {
		return 0
	}
	name := "head"
	if m.Spec.TiedHead {
		name = "embedding"
	}
	if len(m.Machine.WeightsOf(codes.FormName(name, 0)).Tensors) == 0 {
		return 0
	}
	return 4 * float64(m.Spec.Vocab) * float64(m.Spec.Embedded())
}

// decoded returns how many bytes a pass takes for the matrices that are kept in codes.
func (m *Model) decoded(n Need) float64 {
	if m.Machine == nil {
		return 0
	}
	return m.Machine.Held.Decoded.Of(n.Gradient || n.Parts || !m.Machine.OnHost)
}

// PassBytes returns about how many bytes an explanation by the default methods of a text of so many
// tokens needs besides the weights: a pass over them, and keys and values of as many more. inTurn
// is whether experts in codes are computed one after the other, as on a CPU.
func PassBytes(s *spec.Spec, q spec.Quantized, tokens int, inTurn bool) int64 {
	returned, layer := estimate(s, Need{
		Tokens: tokens, Slots: host.Bucket(2 * tokens), Terms: !s.Bidirectional,
	})
	return int64(returned + layer + codes.DecodedBytes(s, q).Of(!inTurn))
}

// editBytes returns the bytes that a layer takes for the edits of taps, [graph.EditNodes] on the
// host and on the device, in a pass of so many rows in all, each of which has so many sources.
func editBytes(s *spec.Spec, edited []trace.Tap, rows, sources float64) (bytes float64) {
	stream := 4 * rows * float64(s.Width)
	vectors := 4 * rows * float64(s.Heads*max(s.HeadWidth, s.ValueWidth()))
	for _, tap := range edited {
		switch tap {
		case trace.Attention:
			bytes += 4 * 4 * rows * float64(s.Heads) * sources
		case trace.HeadOutput:
			bytes += 2 * stream * float64(s.Heads)
		default:
			bytes += max(4*stream, 2*vectors)
		}
	}
	return bytes
}

// estimate returns the bytes of what a pass returns, and of what it holds while it computes a
// layer.
func estimate(s *spec.Spec, n Need) (returned, layer float64) {
	texts, t, layers := float64(max(1, n.Texts)), float64(n.Tokens), float64(s.Layers)
	// Bytes of [B,H,T,T] and of [B,T,D].
	pairs, stream := 4*texts*float64(s.Heads)*t*t, 4*texts*t*float64(s.Width)
	vectors := 4 * texts * t * float64(s.Heads*max(s.HeadWidth, s.ValueWidth())) // [B,H,T,E]
	layer = passArrays*pairs + stream*10 + 2*4*texts*t*float64(s.InnerWidth())
	if n.Tile > 0 {
		layer = tiledBytes(s, n)
	}
	add := func(bytes, times float64) { // bytes a layer: on the device, then on the host
		returned += times * bytes
		layer += bytes
	}
	for _, tap := range n.Taps {
		switch tap {
		case trace.Scores, trace.Attention:
			add(pairs, layers)
		case trace.Terms:
			add(3*pairs, layers)
		case trace.HeadOutput, trace.HeadAdded, trace.ValueOutput:
			add(stream*float64(s.Heads), layers)
		case trace.QueryVector, trace.KeyVector, trace.Value, trace.Context:
			add(vectors, layers)
		case trace.AttentionMean:
			add(pairs/float64(s.Heads), layers)
		case trace.ValueZeroing:
			returned += layers * pairs / float64(s.Heads)
			layer += tileBytes(s, n.Tokens)
		case trace.Router, trace.Experts:
			add(2*4*texts*t*float64(s.Experts()), layers)
		case trace.Logits:
			add(4*texts*t*float64(s.Vocab), 1)
		default:
			add(stream, layers+1)
		}
	}
	edited := edit.Taps(n.Edits...)
	layer += max(editBytes(s, edited, texts*t, t),
		editBytes(s, edited, texts, float64(n.Slots))) // of a pass over the texts, and of a step
	returned += 4 * float64(edit.Values(n.Edits...))
	consumed := 0.0
	for _, ask := range n.Asks {
		rows := pairs / float64(s.Heads)
		if ask.Heads.Fusion == trace.EachHead {
			rows = pairs
		}
		if !ask.AllRows {
			rows /= max(1, t)
		}
		add(rows, layers)
		if ask.AllRows {
			consumed += rowCopies * rows * layers
		}
		if mix, err := graph.LookupMixing(ask.Name); err == nil && mix.PerPair() {
			layer += tileBytes(s, n.Tokens)
		}
	}
	if n.Slots > 0 { // what is made of the rows takes the place of what the pass needed
		layer = max(layer, consumed)
	}
	returned += 4 * layers * float64(n.Slots) * float64(s.CacheWidth())
	if n.Streams {
		returned += 4 * layers * float64(n.Slots) * float64(s.Width)
	}
	if n.Terms {
		add((pairs+2*stream)/max(1, t), layers)
		// The row of a single layer, if it is asked for; see [Session.RowsOfLayer].
		layer = max(layer, targetBytes(s, n.Tokens))
	}
	if n.Head {
		add(4*texts*float64(logit.Scored(s)), 1)
	}
	if n.Lens {
		add(4*float64(logit.Scored(s)), layers+1)
	}
	// Hidden states wait for the way back; a layer then holds its forward pass and more.
	if n.Gradient {
		returned += (layers + 2) * stream
		layer *= backwardArrays
	}
	if n.Edges {
		heads, rows := float64(s.Heads), float64(host.Bucket(n.Tokens))/max(1, t)
		returned += rows * stream * (4*(1+layers*(heads+1)) + 2*layers)
		layer += backwardArrays * rows * heads *
			(6*stream + 3*vectors + 4*4*t*float64(s.CacheWidth()))
	}
	if n.AttentionGradient {
		add(2*pairs, layers)
	}
	// The parts of stream and values, and a tile with those of its feed-forward part.
	if n.KeptParts > 0 {
		slots := float64(host.Bucket(n.KeptParts + 1))
		returned += KeptPartsBytes(s, n.KeptParts) + 4*layers*slots*float64(s.CacheWidth())
	}
	if n.Parts {
		values, own := float64(s.Groups()*s.ValueWidth()), float64(PartsTile(s, n.Tokens))
		returned += 4 * t * t * (float64(s.Width) + 2*values)
		layer += 4 * own * float64(host.Bucket(n.Tokens)) * (partArrays*float64(s.Width) +
			float64(s.Heads*s.ValueWidth()) + 4*float64(s.InnerWidth()))
	}
	return returned, layer
}

// What a layer of a prompt in tiles holds at a time: so many arrays [T,D] (the stream before and
// after the layer, on the host and as a tensor, and room to compute the keys and values), and so
// many times the keys and values, [T,G,E] each (of the pass, on the host, and as tensors of a
// tile).
const (
	tiledStreams = 6
	tiledCaches  = 5
)

// tiledBytes is what a layer of a prompt in tiles holds at a time.
func tiledBytes(s *spec.Spec, n Need) float64 {
	t, tile := float64(n.Tokens), float64(n.Tile)
	slots := float64(host.SourceSlots(n.Tokens, tileSources))
	inner := float64(s.Heads*s.HeadWidth + s.CacheWidth())
	return 4 * (passArrays*float64(s.Heads)*tile*slots +
		t*(tiledStreams*float64(s.Width)+inner) +
		tiledCaches*slots*float64(s.CacheWidth()) +
		tile*(10*float64(s.Width)+4*float64(s.InnerWidth())))
}

// What a tile of a mixing that costs a pass for every pair holds at a time: so many arrays [N,S,F]
// and [N,S,D]. Seen 85 MB in pure Go where one array [N,S,F] has 63 MB, and less with XLA.
const (
	tileInner = 2
	tileOuter = 2
)

// tileBytes is what such a tile holds for a text of so many tokens.
func tileBytes(s *spec.Spec, tokens int) float64 {
	rows := min(tokens, rowsOfTile(host.Bucket(tokens)*s.InnerWidth()))
	return float64(rows) * targetBytes(s, tokens)
}

// targetBytes is what one target of a tile holds.
func targetBytes(s *spec.Spec, tokens int) float64 {
	return 4 * float64(host.Bucket(tokens)) * (tileInner*float64(s.InnerWidth()) +
		tileOuter*float64(s.Width))
}

// Limit returns how many bytes a pass may take.
func (m *Model) Limit() int64 {
	if m.MaxBytes <= 0 {
		return defaultMaxBytes
	}
	return m.MaxBytes
}

// CheckMemory returns a [*trace.MemoryError] if a pass would need more than it may take. If it
// fits, but not beside what the model keeps of [throughHeads], it makes the model drop those.
func (m *Model) CheckMemory(n Need) error {
	limit, bytes := m.Limit(), m.Estimate(n)
	if bytes <= limit {
		if bytes+m.Through.Held(m.Spec) > limit {
			m.Through.drop()
		}
		return nil
	}
	instead := "take a shorter text or fewer taps"
	if n.Texts > 1 {
		instead = "take fewer texts at a time"
	} else if smaller, ok := headMean(n); ok {
		instead = "the mean over heads (attention-mean) needs " +
			message.FormatBytes(m.Estimate(smaller))
	}
	return m.refused(largestPart(n), n.Texts, n.Tokens, bytes, instead)
}

// largestPart names the largest thing that a pass returns.
func largestPart(n Need) string {
	for _, tap := range []trace.Tap{trace.Terms, trace.Scores, trace.Attention} {
		for _, t := range n.Taps {
			if t == tap {
				return string(tap) + " taps"
			}
		}
	}
	if len(n.Asks) > 0 {
		return n.Asks[0].Name + " rows"
	}
	if n.Parts {
		return "the parts of every token"
	}
	if n.Gradient {
		return "the gradient"
	}
	return "attention"
}

// headMean returns the same pass with the mean over heads, and whether there is anything to
// average: rows of each head, or the tap of attention.
func headMean(n Need) (Need, bool) {
	smaller, found := Need{Tokens: n.Tokens, Texts: n.Texts}, false
	for _, ask := range n.Asks {
		if ask.Heads.Fusion == trace.EachHead {
			ask.Heads, found = trace.Heads{}, true
		}
		smaller.Asks = append(smaller.Asks, ask)
	}
	for _, tap := range n.Taps {
		if tap == trace.Attention {
			tap, found = trace.AttentionMean, true
		}
		smaller.Taps = append(smaller.Taps, tap)
	}
	return smaller, found
}

// KeptPartsBytes is how many bytes of them a text of so many tokens has.
func KeptPartsBytes(s *spec.Spec, tokens int) float64 {
	slots := float64(host.Bucket(tokens))
	return 4 * float64(s.Layers*s.Groups()*s.ValueWidth()) * slots * slots
}

// PartsTile is how many targets fill a tile if each has parts of so many tokens.
func PartsTile(s *spec.Spec, tokens int) int {
	return max(1, min(host.SlotStep, tileFloats/(host.Bucket(tokens)*max(s.InnerWidth(),
		s.Heads*s.ValueWidth()))))
}

// tileFloats limits the largest array of a tile, [N,S,F]: 64 MiB. The array is the largest because
// a mixing runs the feed-forward part for every pair.
const tileFloats = 16 << 20
