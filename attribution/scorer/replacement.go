package scorer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// The kinds of replacement that every model has: no token at all, and an embedding of zeros.
const (
	deleteKind = "delete"
	zeroKind   = "zero"
)

// replacementKinds are those that a [trace.Replacer] may have.
var replacementKinds = []string{"mask", "unknown", "pad", "end"}

// replacement is what replaces a token that is taken away: nothing, zeros or another token.
type replacement struct {
	delete, zero bool
	ids          sides[int]
	// rows are the embeddings of the replacement, [D], and inputs are those of the whole text,
	// [T,D]. Both are nil if replacing the token's id is enough.
	rows   sides[[]float32]
	inputs []float32
}

// sides has something for the tokens of a source, and for all others. The two differ only if the
// source has a vocabulary of its own.
type sides[T any] struct{ source, other T }

// at returns what there is for token j of a text whose target begins at boundary, -1 for none.
func (s sides[T]) at(j, boundary int) T {
	if j < boundary {
		return s.source
	}
	return s.other
}

// replacement returns the replacement that kind names. The error, a usage error, lists the kinds
// that the model has.
func (x *question) replacement(kind string) (*replacement, error) {
	switch {
	case kind == deleteKind:
		return &replacement{delete: true}, nil
	case kind == zeroKind:
		return &replacement{zero: true}, nil
	case slices.Contains(replacementKinds, kind):
		if ids, ok := x.specialToken(kind); ok {
			return &replacement{ids: ids}, nil
		}
		return nil, trace.Usagef(
			"replacement %s: %s has no such token; it has %s, and any of its own tokens will do",
			message.Quote(kind), message.Quote(x.info.Name), message.List(x.availableKinds()),
		)
	}
	// Any other text must be one token of the model, on each side.
	ids, ok := x.oneToken(kind)
	if !ok {
		return nil, trace.Usagef(
			"replacement %s is not one of %s, nor is it one token of %s",
			message.Quote(kind),
			message.List(append(slices.Clone(replacementKinds), deleteKind, zeroKind)),
			message.Quote(x.info.Name),
		)
	}
	return &replacement{ids: ids}, nil
}

// oneToken returns a text as a token, and whether it is one.
func (x *question) oneToken(text string) (ids sides[int], ok bool) {
	tokens, err := x.m.Encode(text, trace.SpecialsFollow)
	if err != nil || len(tokens) != 1 {
		return ids, false
	}
	ids = sides[int]{tokens[0].ID, tokens[0].ID}
	if x.info.SourceVocab > 0 {
		source, err := x.m.Encode(text, trace.SpecialsOff)
		if err != nil || x.info.TargetBegin(trace.IDs(source)) != 1 {
			return ids, false
		}
		ids.source = source[0].ID
	}
	return ids, true
}

// specialToken returns the model's token of a kind, if it has one on each side.
func (x *question) specialToken(kind string) (ids sides[int], ok bool) {
	r, ok := x.m.(trace.Replacer)
	if !ok {
		return ids, false
	}
	id, ok := r.Replacement(kind)
	ids = sides[int]{id, id}
	if s, has := x.m.(trace.SourceReplacer); ok && x.info.SourceVocab > 0 {
		if ok = has; ok {
			ids.source, ok = s.SourceReplacement(kind)
		}
	}
	return ids, ok
}

// availableKinds lists the kinds of replacement that the model has. Mask and unknown come first,
// because they say the least about the text.
func (x *question) availableKinds() []string {
	var has []string
	for _, kind := range replacementKinds {
		if _, ok := x.specialToken(kind); ok {
			has = append(has, kind)
		}
	}
	return append(has, deleteKind, zeroKind)
}

// defaultKind returns the first of mask, unknown and delete that the model has. A token that stands
// for nothing keeps all positions, and deleting one moves the positions of those after it, so
// deleting comes last.
func (x *question) defaultKind() string {
	if _, ok := x.specialToken("mask"); ok {
		return "mask"
	}
	if ids, ok := x.specialToken("unknown"); ok && x.meansUnknown(ids.other) {
		return "unknown"
	}
	return deleteKind
}

// meansUnknown reports whether the model's unknown token stands for an unknown word. Tokenizers of
// bytes know every word, and many of their checkpoints name the token between texts instead, such
// as <|endoftext|> in GPT-2 and SmolLM2. What comes before that token counts for nothing. Names of
// real ones are [UNK], <unk> and the like.
func (x *question) meansUnknown(id int) bool {
	m, ok := x.m.(trace.TokenTexter)
	return !ok || strings.Contains(strings.ToLower(m.TokenText(id)), "unk")
}

// newReplacement returns the replacement that the options name, or the default one.
func (x *question) newReplacement(ctx context.Context) (*replacement, error) {
	r, err := x.replacement(cmp.Or(x.opts.Replacement, x.defaultKind()))
	// Ids are enough, unless the embedding is 0, which no id has, the query brings its own, or the
	// token is padding, to which a model may give no position: the others are to keep theirs.
	if err != nil || r.delete || !r.zero && x.q.Embeddings == nil && !x.pads(r.ids) {
		return r, err
	}
	if r.inputs, err = x.inputs(ctx); err != nil {
		return nil, err
	}
	r.rows, err = r.embeddings(ctx, x, len(r.inputs)/len(x.q.IDs))
	return r, err
}

// pads reports whether tokens are the padding of a model that has embeddings and is not a decoder,
// which counts every token.
func (x *question) pads(ids sides[int]) bool {
	pad, ok := x.specialToken("pad")
	ok = ok && (x.info.Bidirectional || x.info.EncoderLayers > 0)
	_, embeds := x.m.(trace.Differentiable)
	return ok && embeds && pad == ids
}

// embeddings returns the rows of the replacement, [width].
func (r *replacement) embeddings(
	ctx context.Context, x *question, width int,
) (rows sides[[]float32], err error) {
	if r.zero {
		zeros := make([]float32, width)
		return sides[[]float32]{zeros, zeros}, nil
	}
	all, err := x.rowsOf(ctx, width, r.ids)
	if err != nil {
		return rows, err
	}
	return all[0], nil
}

// rowsOf returns the embeddings of tokens, [width] on each side. It returns an error if the model's
// rows have another width.
func (x *question) rowsOf(
	ctx context.Context, width int, tokens ...sides[int],
) (all []sides[[]float32], err error) {
	var text, after []int
	for _, t := range tokens {
		text, after = append(text, t.source), append(after, t.other)
	}
	other := 0 // where the tokens of the other side begin
	if x.info.SourceVocab > 0 {
		other = len(text) + 1
		text = slices.Concat(text, []int{x.info.Boundary()}, after)
	}
	rows, err := x.embed(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(rows) != width*len(text) {
		return nil, x.modelError("an embedding of width %d, and of width %d for another token",
			len(rows)/len(text), width)
	}
	row := func(j int) []float32 { return rows[j*width : (j+1)*width] }
	for j := range tokens {
		all = append(all, sides[[]float32]{row(j), row(other + j)})
	}
	return all, nil
}

// removable returns those of some tokens, in rising order, that can be taken away together. What
// parts source and target stays. If tokens are deleted, the position at which an encoder is asked
// stays, and one token of a text or of a source.
func (r *replacement) removable(x *question, tokens []int) []int {
	if at := x.info.TargetBegin(x.q.IDs); at >= 0 {
		tokens = slices.DeleteFunc(slices.Clone(tokens), func(j int) bool { return j == at })
		if r.delete && len(tokens) >= at && tokens[at-1] == at-1 {
			tokens = tokens[1:]
		}
	}
	if !r.delete {
		return tokens
	}
	if !x.info.Head.WholeText() && (x.info.Bidirectional || x.info.Head == trace.TokenClasses ||
		x.info.Head == trace.Spans) {
		tokens = slices.DeleteFunc(slices.Clone(tokens), func(j int) bool {
			return j == x.q.Position
		})
	}
	return tokens[:min(len(tokens), len(x.q.IDs)-1)]
}

// without returns the question without some tokens, in rising order. If a decoder's last tokens are
// deleted, the one before them predicts.
func (r *replacement) without(x *question, tokens []int) trace.Query {
	q, boundary := x.q, x.info.TargetBegin(x.q.IDs)
	switch {
	case r.delete:
		q.IDs, q.Embeddings = slices.Clone(q.IDs), slices.Clone(q.Embeddings)
		q.Types = slices.Clone(q.Types)
		D := len(q.Embeddings) / len(x.q.IDs)
		for _, j := range slices.Backward(tokens) {
			q.IDs = slices.Delete(q.IDs, j, j+1)
			q.Embeddings = slices.Delete(q.Embeddings, j*D, (j+1)*D)
			if q.Types != nil {
				q.Types = slices.Delete(q.Types, j, j+1)
			}
			if j < x.q.Position { // tokens after j have moved to the left by one
				q.Position--
			}
		}
		q.Position = min(q.Position, len(q.IDs)-1)
		q.Edits = trace.MoveEdits(q.Edits, func(p int) int {
			before, gone := slices.BinarySearch(tokens, p)
			if gone {
				return -1
			}
			return p - before
		})
	case r.inputs != nil:
		q.Embeddings = slices.Clone(r.inputs)
		for _, j := range tokens {
			row := r.rows.at(j, boundary)
			copy(q.Embeddings[j*len(row):], row)
		}
	default:
		q.IDs = slices.Clone(q.IDs)
		for _, j := range tokens {
			q.IDs[j] = r.ids.at(j, boundary)
		}
	}
	return q
}
