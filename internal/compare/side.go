package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Side is one side of a comparison: the values of one method in one explanation.
type Side struct {
	Explanation *attribution.Explanation
	// Method is the name of the method; default: the first one of the explanation.
	Method string
	// Layer is the layer whose values are compared, 0-based; nil is, for each token, the one that
	// [attribution.Result.Level] names.
	Layer *int
}

// ParseSide returns the side that a text names, without its explanation: a method, or a method and
// a layer, counted from 0, as in value-zeroing@5. Whether they exist is for [New] to find out.
func ParseSide(text string) (Side, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return Side{Method: text}, nil
	}
	layer, err := strconv.Atoi(text[at+1:])
	if err != nil || layer < 0 || at == 0 {
		return Side{}, usagef("%s is not a method and its layer; write it as "+
			"value-zeroing@5, with layers counted from 0", message.Quote(text))
	}
	return Side{Method: text[:at], Layer: &layer}, nil
}

// String returns what [ParseSide] reads.
func (s Side) String() string {
	if s.Layer == nil {
		return s.Method
	}
	return fmt.Sprintf("%s@%d", s.Method, *s.Layer)
}

// result returns the values of a side.
func (s *Side) result() *attribution.Result { return s.Explanation.Methods[s.Method] }

// check sets the default method and returns an error for a side that has nothing to compare. name
// is A or B.
func (s *Side) check(name string) error {
	if s.Explanation == nil {
		return usagef("side %s of the comparison has no explanation", name)
	}
	if s.Method == "" && len(s.Explanation.Order) > 0 {
		s.Method = s.Explanation.Order[0]
	}
	r := s.result()
	if r == nil {
		return usagef("explanation %s has no method %s; %s", name, message.Quote(s.Method),
			message.KnownAre(s.Method, s.Explanation.Order))
	}
	if err := r.Check(len(s.Explanation.Prompt.Texts)); err != nil {
		return usagef("method %s of explanation %s: its %v", message.Quote(s.Method), name,
			err)
	}
	return s.checkLayer(name)
}

// checkLayer returns an error if the model lacks the layer of a side, or its values were not kept.
func (s *Side) checkLayer(name string) error {
	r, model := s.result(), s.Explanation.Model
	switch {
	case s.Layer == nil || slices.Contains(r.Layers, *s.Layer) && *s.Layer >= 0:
		return nil
	case *s.Layer < 0:
		return usagef("layer %d of explanation %s; layers count from 0", *s.Layer, name)
	case model.Layers > 0 && *s.Layer >= model.Layers:
		return usagef("layer %d of explanation %s; %s has layers 0 to %d", *s.Layer, name,
			message.Quote(model.Name), model.Layers-1)
	}
	first, last := r.Layers[0], r.Layers[len(r.Layers)-1]
	kept := fmt.Sprintf("layers %d to %d", first, last)
	switch first {
	case attribution.LayerByToken:
		kept = "for each token the layer that wrote it"
	case last:
		kept = fmt.Sprintf("layer %d alone", last)
	}
	return usagef("layer %d of method %s was not kept in explanation %s, which has %s; "+
		"explain with %s, or for flow %s, of the options", *s.Layer, message.Quote(s.Method), name,
		kept, trace.Called("all layers", "AllLayers"), trace.Called("all levels", "AllLevels"))
}

// Shown returns the level of a side that is compared, or [attribution.ShownLevel] for that of each
// token.
func (s *Side) Shown() int {
	if s.Layer != nil {
		return s.level(0)
	}
	return attribution.ShownLevel
}

// level returns the level of a side that is compared of token t.
func (s *Side) level(t int) int {
	if s.Layer != nil {
		return slices.Index(s.result().Layers, *s.Layer)
	}
	return s.result().Level(t)
}

func usagef(format string, args ...any) error {
	return &trace.UsageError{Package: "compare", Reason: fmt.Sprintf(format, args...)}
}
