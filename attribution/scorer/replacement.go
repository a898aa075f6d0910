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
	id           int
	// row is the embedding of the replacement, [D], and inputs are those of the whole text, [T,D].
	// Both are nil if replacing the token's id is enough.
	row, inputs []float32
}

// replacement returns the replacement that kind names. The error, a usage error, lists the kinds
// that the model has.
func (x *question) replacement(kind string) (*replacement, error) {
	switch {
	case kind == deleteKind:
		return &replacement{delete: true}, nil
	case kind == zeroKind:
		return &replacement{zero: true}, nil
	case x.info.SourceVocab > 0:
		return nil, trace.Usagef(
			"replacement %s: source and target of %s have a vocabulary each, so no token can "+
				"replace others on both sides; take %s", message.Quote(kind),
			message.Quote(x.info.Name), message.List(x.availableKinds()),
		)
	case slices.Contains(replacementKinds, kind):
		if id, ok := x.specialToken(kind); ok {
			return &replacement{id: id}, nil
		}
		return nil, trace.Usagef(
			"replacement %s: %s has no such token; it has %s, and any of its own tokens will do",
			message.Quote(kind), message.Quote(x.info.Name), message.List(x.availableKinds()),
		)
	}
	// Any other text must be one token of the model.
	tokens, err := x.m.Encode(kind, trace.SpecialsFollow)
	if err != nil || len(tokens) != 1 {
		return nil, trace.Usagef(
			"replacement %s is not one of %s, nor is it one token of %s",
			message.Quote(kind),
			message.List(append(slices.Clone(replacementKinds), deleteKind, zeroKind)),
			message.Quote(x.info.Name),
		)
	}
	return &replacement{id: tokens[0].ID}, nil
}

// specialToken returns the model's token of a kind, if it has one.
func (x *question) specialToken(kind string) (int, bool) {
	if r, ok := x.m.(trace.Replacer); ok {
		return r.Replacement(kind)
	}
	return 0, false
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
	if id, ok := x.specialToken("unknown"); ok && x.meansUnknown(id) {
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
	// Ids are enough, unless the embedding is 0, which no id has, or the query brings its own.
	if err != nil || r.delete || !r.zero && x.q.Embeddings == nil {
		return r, err
	}
	if r.inputs, err = x.inputs(ctx); err != nil {
		return nil, err
	}
	r.row = make([]float32, len(r.inputs)/len(x.q.IDs))
	if r.zero {
		return r, nil
	}
	if r.row, err = x.embed(ctx, []int{r.id}); err == nil &&
		len(r.row)*len(x.q.IDs) != len(r.inputs) {
		err = x.modelError("an embedding of width %d for %d numbers of %d tokens", len(r.row),
			len(r.inputs), len(x.q.IDs))
	}
	return r, err
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
	q := x.q
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
	case r.row != nil:
		q.Embeddings = slices.Clone(r.inputs)
		for _, j := range tokens {
			copy(q.Embeddings[j*len(r.row):], r.row)
		}
	default:
		q.IDs = slices.Clone(q.IDs)
		for _, j := range tokens {
			q.IDs[j] = r.id
		}
	}
	return q
}
