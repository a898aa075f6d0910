package render

import (
	"context"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/compare"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Recorded is what a picture shows that is recorded of a model, beside an explanation.
type Recorded struct {
	// Flow is the graph of attention flow, for KindFlow.
	Flow *attribution.FlowGraph
	// Attention is the attention of all heads over the prompt and the answer, as [Heads] takes it,
	// for KindHeads and KindHead.
	Attention *trace.Tensor
	// Map is what every token of the prompt and the answer has from every token by the method
	// shown, as [Maps] takes it, for KindMaps and KindMap.
	Map *attribution.Map
	// Experts are the experts of each token of the prompt and the answer, as [Experts] takes them,
	// for KindExperts.
	Experts *trace.Tensor
}

// Record records with m, the model of an explanation, what its picture shows beside it; opts are
// those of the explanation. The text must be short enough for [CheckHeads], for experts of any
// length.
func (s Show) Record(
	ctx context.Context, m trace.Tracer, e *attribution.Explanation, opts attribution.Options,
) (r Recorded, err error) {
	ids, ends := e.TokenIDs(), [2]int{}
	switch {
	case s.Kind == KindFlow:
		if ids, ends, err = e.FlowEnds(s.token(), s.Source); err != nil {
			return r, err
		}
	case s.Kind == KindExperts:
		if err := CheckExperts(e.Model); err != nil {
			return r, err
		}
	case s.Kind != KindHeads && s.Kind != KindHead && !s.Maps():
		return r, nil
	}
	if m, err = e.Traced(m); err != nil {
		return r, err
	}
	if s.Kind == KindExperts {
		tensors, err := m.Trace(ctx, ids, []trace.Tap{trace.Experts})
		if err != nil {
			return r, err
		}
		r.Experts = &tensors[0]
		return r, nil
	}
	if err := CheckHeads(e.Model.Layers, e.Model.Heads, len(ids)); err != nil {
		return r, err
	}
	if s.Maps() {
		method, err := s.MapMethod(e.Order)
		if err != nil {
			return r, err
		}
		r.Map, err = attribution.MapOf(ctx, m, ids, method, opts)
		return r, err
	}
	tensors, err := m.Trace(ctx, ids, []trace.Tap{trace.Attention})
	if err != nil {
		return r, err
	}
	if s.Kind == KindFlow {
		opts.Methods, opts.Lift, opts.AllLevels = []string{"flow"}, false, false
		in := attribution.InMemory(tensors)
		in.Prefix, in.Encoder = e.Model.Prefix(ids), e.Model.EncoderLayers
		in.Sinks = e.Model.Sinks
		r.Flow, err = attribution.NewFlowGraph(ctx, in, opts, ends[0], ends[1])
		return r, err
	}
	r.Attention = &tensors[0]
	return r, nil
}

// token is the generated token of a picture of one.
func (s Show) token() int {
	if s.Token == nil {
		return 0
	}
	return *s.Token
}

// Opened returns s with what a picture of an explanation opens with where s says nothing: for flow,
// as other pictures do, the first generated token that is a word and no article, and for layers the
// first 6 that are words, and the first method that has layers.
func (s Show) Opened(e *attribution.Explanation) Show {
	if s.Kind == KindLayers && s.Method == "" {
		for i, name := range e.Order {
			if r := e.Methods[name]; r != nil && r.Shape[2] > 1 {
				if i > 0 {
					s.Method = name
				}
				break
			}
		}
	}
	if named, err := s.AtWord(e); err == nil {
		s = named
	}
	switch {
	case s.Token != nil || s.Tokens != nil:
	case s.Kind == KindFlow:
		first := firstWord(e)
		s.Token = &first
	case s.Kind == KindLayers:
		s.Tokens = firstWords(e)
	}
	return s
}

// View returns the picture of an explanation. It returns a [trace.UsageError] if the explanation
// lacks what s names, or r what the picture shows.
func (s Show) View(e *attribution.Explanation, r Recorded) (View, error) {
	if e == nil {
		return Heatmap{}, nil
	}
	if err := s.CheckTokens(e); err != nil {
		return nil, err
	}
	s, _ = s.AtWord(e)
	h := Heatmap{
		Explanation: e, Layer: s.Layer, Token: s.Token, Filter: s.Filter, Look: s.Look(),
		Alignment: s.Alignment,
	}
	v := View(h)
	switch s.Kind {
	case KindLayers:
		l := Layers{Heatmap: h, Tokens: s.Tokens}
		if s.Token != nil {
			l.Tokens = []int{*s.Token}
		}
		v = l
	case KindFlow:
		if r.Flow == nil {
			return nil, trace.Usagef("a graph needs the widths of its edges, which this " +
				"explanation does not have; compute the method flow")
		}
		v = Flow{
			Explanation: e, Graph: r.Flow, Token: s.token(), Sinks: s.Sinks, Look: s.Look(),
		}
	case KindHeads, KindHead:
		if r.Attention == nil {
			return nil, trace.Usagef("%s need their attention, which this explanation does not "+
				"have; record it with the tap attention", KindHeads)
		}
		v = Heads{Explanation: e, Attention: *r.Attention, Token: s.Token, Look: s.Look()}
	case KindExperts:
		if r.Experts == nil {
			return nil, trace.Usagef("%s need the numbers of each token's experts, which this "+
				"explanation does not have; record them with the tap experts", KindExperts)
		}
		v = Experts{
			Explanation: e, Routes: *r.Experts, Token: s.Token, Layer: s.Layer, Look: s.Look(),
		}
	case KindMaps, KindMap:
		method := s.Method
		if method == "" {
			var err error
			if method, err = s.MapMethod(e.Order); err != nil {
				return nil, err
			}
		}
		if r.Map == nil {
			return nil, trace.Usagef("%s need what every token has from every token, which this "+
				"explanation does not have; compute it with attribution.MapOf", KindMaps)
		}
		v = Maps{Explanation: e, Method: method, Map: r.Map, Layer: s.Layer, Look: s.Look()}
	case KindLens:
		v = Lens{Explanation: e, Token: s.Token, Look: s.Look()}
	case KindPatch:
		v = Patch{Explanation: e, Look: s.Look()}
	case KindCompare:
		return s.compared(e)
	}
	return v, v.Check()
}

// compared compares two sides.
func (s Show) compared(e *attribution.Explanation) (View, error) {
	s, err := s.Sides(e)
	if err != nil {
		return nil, err
	}
	a, err := compare.ParseSide(s.Method)
	if err != nil {
		return nil, err
	}
	b, err := compare.ParseSide(s.AgainstMethod)
	if err != nil {
		return nil, err
	}
	if a.Explanation, b.Explanation = e, e; s.Against != nil {
		b.Explanation = s.Against
	}
	h, err := Compare(a, b)
	h.Token, h.Look = s.Token, s.Look()
	return h, err
}

// Sides returns s with the methods of both sides of a comparison: of two explanations the first
// method that both have, else the first one and the next.
func (s Show) Sides(e *attribution.Explanation) (Show, error) {
	if s.Against != nil {
		for _, name := range e.Order {
			if s.Method == "" && s.Against.Methods[name] != nil {
				s.Method = name
			}
		}
		if s.AgainstMethod == "" {
			s.AgainstMethod = s.Method
		}
		return s, nil
	}
	if s.Method == "" && len(e.Order) > 0 {
		s.Method = e.Order[0]
	}
	if s.AgainstMethod != "" {
		return s, nil
	}
	side, err := compare.ParseSide(s.Method)
	if err != nil {
		return s, err
	}
	for _, name := range e.Order {
		if name != side.Method {
			s.AgainstMethod = name
			return s, nil
		}
	}
	return s, trace.Usagef("a comparison needs two methods, and the explanation has %s alone",
		message.Quote(side.Method))
}

// CheckTokens returns a [trace.UsageError] if an explanation lacks a generated token that s names.
func (s Show) CheckTokens(e *attribution.Explanation) error {
	s, err := s.AtWord(e)
	if err != nil {
		return err
	}
	all := s.Tokens
	if s.Token != nil {
		all = append([]int{*s.Token}, all...)
	}
	for _, t := range all {
		if t >= len(e.Steps) {
			return trace.Usagef("token %d; the explanation has %s, from 0", t, e.Made())
		}
	}
	return nil
}
