package figures

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// lack is the error of a figure that does not fit its model: the model has no classes of that
// name, reads a name as several tokens, or has a context that is too short. [Make] leaves such a
// figure out. All other errors, of files, memory or an interruption, are returned.
type lack struct{ reason string }

func (l *lack) Error() string { return l.reason }

// lackf returns a [lack].
func lackf(format string, args ...any) error { return &lack{fmt.Sprintf(format, args...)} }

// lacking returns an error of usage as a [lack], and others as they are. What a figure asks for is
// fixed, so a model that refuses it is one that the figure does not fit.
func lacking(err error) error {
	if errors.Is(err, trace.ErrUsage) {
		return &lack{message.Words(err, nil)}
	}
	return err
}

// omit returns a figure that is left out for a reason, which becomes one line. The folders of
// the model are left out of it.
func omit(f Figure, info trace.Info, reason string) *reproduction.Reproduction {
	if info.Name != "" {
		reason = strings.ReplaceAll(reason, info.Name, modelName(info.Name))
	}
	return &reproduction.Reproduction{
		Head: f.Head, Model: info.Name, Hash: info.Hash, Backend: info.Backend,
		LeftOut: fmt.Sprintf("%s is left out: %s", f.ID, strings.Join(strings.Fields(reason), " ")),
	}
}

// needLayers returns a [lack] if the model has fewer than n layers.
func (r *run) needLayers(n int) error {
	if r.info.Layers < n {
		return lackf("it compares %d or more layers, and %s has %d", n, r.info.Name,
			r.info.Layers)
	}
	return nil
}

// encode returns the tokens of a text and their numbers. It returns a [lack] if the model cannot
// read the text: without a tokenizer, or because its context is too short.
func (r *run) encode(text string) ([]trace.Token, []int, error) {
	tokens, err := r.m.Encode(text, trace.SpecialsAuto)
	if err != nil {
		return nil, nil, &lack{message.Words(err, nil)}
	}
	if limit := r.info.Context; limit > 0 && len(tokens) > limit {
		return nil, nil, lackf("its text has %d tokens, more than the context of %s, %d",
			len(tokens), r.info.Name, limit)
	}
	return tokens, trace.IDs(tokens), nil
}

// maskToken is the mask token in the texts of the figures.
const maskToken = "[MASK]"

// mask returns the mask token of the model as it stands in a text, and its number.
func (r *run) mask() (text string, id int, err error) {
	replacer, ok := r.m.(trace.Replacer)
	if !ok {
		return "", 0, lackf("it needs a mask token, and %s has none", r.info.Name)
	}
	if id, ok = replacer.Replacement("mask"); !ok {
		return "", 0, lackf("it needs a mask token, and %s has none", r.info.Name)
	}
	// The text of the token is what the tokenizer reads as that token.
	// Both have as many bytes, so what stands after one in a text stays at its place.
	for _, spelling := range []string{maskToken, "<mask>"} {
		tokens, err := r.m.Encode(spelling, trace.SpecialsOff)
		if err == nil && len(tokens) == 1 && tokens[0].ID == id {
			return spelling, id, nil
		}
	}
	return "", 0, lackf("it masks a word of a text, and the mask token of %s, number %d, is "+
		"written neither %s nor <mask>", r.info.Name, id, maskToken)
}

// masked returns a text with the mask token of the model in place of [MASK].
func (r *run) masked(text string) (string, error) {
	mask, _, err := r.mask()
	return strings.ReplaceAll(text, maskToken, mask), err
}

// masking returns the numbers of the tokens of a text and the position of its mask token. It
// returns a [lack] if the tokenizer finds none.
func (r *run) masking(text string) (ids []int, position int, err error) {
	_, ids, err = r.encode(text)
	if err != nil {
		return nil, 0, err
	}
	_, mask, err := r.mask()
	if err != nil {
		return nil, 0, err
	}
	position = slices.Index(ids, mask)
	if position < 0 {
		return nil, 0, lackf("%s reads no mask token in its text %q", r.info.Name, text)
	}
	return ids, position, nil
}

// candidate returns the number of the token that a word is inside a text. It returns a [lack] if
// the word is several tokens.
func (r *run) candidate(word string) (int, error) {
	// Some tokenizers read a word after a space as another token, and a candidate follows a space.
	for _, text := range []string{" " + word, word} {
		tokens, err := r.m.Encode(text, trace.SpecialsFollow)
		if err != nil {
			return 0, &lack{message.Words(err, nil)}
		}
		if len(tokens) == 1 {
			return tokens[0].ID, nil
		}
	}
	return 0, lackf("the candidate %q is not one token of %s", word, r.info.Name)
}

// explain explains a prompt.
func (r *run) explain(
	prompt string, o attribution.Options,
) (*attribution.Explanation, error) {
	_, ids, err := r.encode(prompt)
	if err == nil && r.info.Head == trace.MaskedToken {
		_, _, err = r.masking(prompt)
	}
	if err != nil {
		return nil, err
	}
	if n, limit := len(ids), r.info.Context; 0 < limit && limit < n+o.MaxTokens {
		return nil, lackf("its text has %d tokens and %d are generated, more than the context of "+
			"%s, %d", n, o.MaxTokens, r.info.Name, limit)
	}
	o.OnProgress = r.o.Progress
	e, err := attribution.Explain(r.ctx, r.m, prompt, o)
	return e, lacking(err)
}

// trace records tensors of one pass over ids.
func (r *run) trace(ids []int, taps ...trace.Tap) ([]trace.Tensor, error) {
	t, ok := r.m.(trace.Tracer)
	if !ok {
		return nil, lackf("it records tensors, which %s cannot", r.info.Name)
	}
	return t.Trace(r.ctx, ids, taps)
}

// predict returns the number that each query asks for.
func (r *run) predict(queries ...trace.Query) ([]float64, error) {
	predictor, ok := r.m.(trace.Predictor)
	if !ok {
		return nil, lackf("it compares predictions, and %s predicts no texts", r.info.Name)
	}
	return predictor.Predict(r.ctx, queries)
}
