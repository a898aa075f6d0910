package trace

import "context"

// Lens is a model whose head can read the residual stream after every layer as if it were the last
// one (the logit lens, nostalgebraist 2020):
//
//	p_l = softmax(W_U N(x_l))
//
// x_l is the residual stream after l layers at the position that predicts, so x_0 is the output of
// the embedding, and N what the model does to x_L: the final norm if it has one, and the transform
// of a head that fills in masks. p_L is the model's own prediction. If [Ask.Lens] is set, the steps
// of a model that generates have [Step.Lens].
type Lens interface {
	Model
	// CheckLens returns an error that tells why a model has no lens: its head scores no tokens.
	CheckLens() error
	// Lens returns p_l for each position of a query, [P][L+1], from one pass over its text.
	Lens(ctx context.Context, q LensQuery) ([][]LensLayer, error)
}

// LensQuery asks for the lens at P positions of a text.
type LensQuery struct {
	// IDs are the T tokens of the text, and Types their token types, nil for type 0.
	IDs, Types []int
	// Positions are the targets whose streams are read, [P], and Tokens the token of each whose
	// probability and rank are asked for, [P].
	Positions, Tokens []int
	// Likely is the number of most probable tokens that are named, at least 1.
	Likely int
	// Edits change what the model computes, if it is [Editable].
	Edits []Edit
	// Progress, if not nil, is called after each position.
	Progress func(Progress)
}

// LensLayer is what the head reads in the residual stream after a layer.
type LensLayer struct {
	// Likely are the most probable tokens, the most probable first.
	Likely []Alternative
	// Probability is that of the token that is asked for, in [0,1], and Rank is 1 more than the
	// number of tokens that are more probable.
	Probability float64
	Rank        int
}
