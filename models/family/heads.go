package family

import (
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

// classHeads are the heads that score classes, by the end of the name of an architecture. A family
// that has the architecture StemModel has StemForSequenceClassification and the others too. outputs
// are the names of the output layer without its end, ".weight" or ".bias", if no dense layer comes
// before it; the tables of the families have the others.
var classHeads = []struct {
	suffix  string
	head    spec.Head
	outputs []string
}{
	{"ForSequenceClassification", spec.ClassifierHead, []string{"score"}},
	{"ForTokenClassification", spec.TokenHead, []string{"classifier", "score"}},
	{"ForQuestionAnswering", spec.SpanHead, []string{"qa_outputs"}},
}

// covers reports whether an architecture is one of the family.
func (f *Family) covers(architecture string) bool {
	for _, h := range classHeads {
		if stem, ok := strings.CutSuffix(architecture, h.suffix); ok {
			return slices.Contains(f.Architectures, stem+"Model")
		}
	}
	return slices.Contains(f.Architectures, architecture)
}

// readClassHead sets the head if the architecture scores classes, and reads their number and their
// names. It reports whether it does.
func readClassHead(c *Config, s *spec.Spec) bool {
	for _, architecture := range c.Strings("architectures") {
		for _, h := range classHeads {
			if strings.HasSuffix(architecture, h.suffix) {
				s.Head, s.TiedHead = h.head, false
				// The classifiers of decoders have no bias.
				s.HeadBias = s.Bidirectional || h.head != spec.ClassifierHead
				classes(c, s)
				s.Scoring = scoring(c, s)
				return true
			}
		}
	}
	return false
}

// scoring returns what the scores of the classes mean. One score is a number: the reference can
// apply a sigmoid to it, and those who trained the model know whether it means a probability.
func scoring(c *Config, s *spec.Spec) spec.Scoring {
	c.AllowNull("problem_type")
	problem := c.String("problem_type", "")
	switch {
	case s.Head == spec.ClassifierHead && problem == "multi_label_classification":
		return spec.AnyOf
	case s.Head == spec.SpanHead, s.Classes == 1,
		s.Head == spec.ClassifierHead && problem == "regression":
		return spec.Quantity
	}
	return spec.OneOf
}

// readPadding sets the ids of padding tokens for a decoder's classifier. No other head uses them.
func (f *Family) readPadding(c *Config, s *spec.Spec) {
	c.AllowNull("pad_token_id")
	pad := c.Int(-1, "pad_token_id")
	switch {
	case s.Bidirectional || s.Head != spec.ClassifierHead:
	case !c.Has("pad_token_id") && !c.isNull("pad_token_id"):
		s.Padding = f.Padding
	case pad >= 0:
		s.Padding = []int{pad}
	}
}

// classTensors returns the tensors that a parameter of the output layer may come from, nil if the
// table of the family has them.
func classTensors(s *spec.Spec, param string) (found []Weight) {
	end, ok := strings.CutPrefix(param, "classifier.")
	if !ok || s.ClassifierDense || s.HeadTransform {
		return nil
	}
	layout := AsIs
	if end == "weight" {
		layout = Transposed
	}
	for _, h := range classHeads {
		for _, name := range h.outputs {
			if h.head == s.Head {
				found = append(found, Weight{param, name + "." + end, layout})
			}
		}
	}
	return found
}
