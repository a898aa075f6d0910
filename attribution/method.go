package attribution

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
)

// Method is a named pair of a mixing and an aggregation with their options, or a named scorer.
type Method struct {
	// Name is the name that users give: lower-case words joined by hyphens, or mixing+aggregation
	// for a pair without a name of its own.
	Name string `json:"name"`
	// Mixing and Aggregation are registered names, or Scorer is one and both are empty.
	Mixing      string `json:"mixing,omitempty"`
	Aggregation string `json:"aggregation,omitempty"`
	Scorer      string `json:"scorer,omitempty"`
	// Residual is the default residual weight r in Â = rownorm((1-r)C + rI), in [0,1]. 0 means that
	// the method adds none and that [Options.Residual] does not change it.
	Residual float64 `json:"residual"`
	// Normalize divides every row of the result by its sum.
	Normalize bool `json:"normalize,omitempty"`
	// Summary describes a value in one sentence. Formula and Paper are how it is computed and
	// where that was published; Cost is what one more token costs.
	Summary string `json:"summary"`
	Formula string `json:"formula"`
	Paper   string `json:"paper"`
	Cost    string `json:"cost"`
}

var methods = registry.Registry[Method]{Kind: "method"}

// builtinMethods is a list of the methods that are not scorers.
//
//go:embed methods.json
var builtinMethods []byte

func init() {
	var all []Method
	read := json.NewDecoder(bytes.NewReader(builtinMethods))
	read.DisallowUnknownFields()
	if err := read.Decode(&all); err != nil {
		panic("attribution: methods.json: " + err.Error())
	}
	for _, m := range all {
		RegisterMethod(m)
	}
}

// RegisterMethod registers a method by its name. It panics if the name is malformed, is [Classic],
// or is taken by another method or a scorer. Its mixing, aggregation and scorer may be registered
// later: [LookupMethod] looks for them.
func RegisterMethod(m Method) {
	if slices.Contains(scorer.Names(), m.Name) {
		panic("method " + m.Name + " has the name of a scorer")
	}
	if m.Name == Classic {
		panic("method " + m.Name + " has the name of a set of methods")
	}
	methods.Register(m.Name, m)
}

// LookupMethod returns the method of that name. A name "mixing+aggregation" gives a method for any
// registered pair. Its residual weight is the aggregation's if the mixing does not contain the
// residual. The error, a [trace.UsageError], names those that were probably meant, and lists the
// known names. A name that both a method and a scorer have is an error too.
func LookupMethod(name string) (Method, error) {
	mixing, combined, pair := strings.Cut(name, "+")
	if pair {
		return pairMethod(mixing, combined)
	}
	m, err := named(name)
	if errors.Is(err, trace.ErrUsage) {
		return m, err
	}
	if err != nil {
		return m, &trace.UsageError{
			Unknown: true, Reason: "unknown method " + message.Quote(name) + "; " + meant(name),
		}
	}
	return m, m.check()
}

// elsewhere has names that methods have in other tools, in small letters without hyphens, and what
// is meant by each here; docs/coming-from.md has the differences.
var elsewhere = []struct {
	names []string
	here  string
}{
	{
		[]string{"attention", "attentions", "attentionweights", "modelview", "headview"},
		"raw, which is attention as the model computed it",
	},
	{[]string{"attentionrollout"}, "rollout"},
	{[]string{"attentionflow", "maxflow"}, "flow"},
	{[]string{"saliency", "vanillagradient", "gradients", "gradnorm"}, "gradient"},
	{
		[]string{"inputxgradient", "gradientxactivation", "layergradientxactivation", "gradinput"},
		"gradient-x-input",
	},
	{[]string{"ig", "layerintegratedgradients", "intgrad"}, "integrated-gradients"},
	{[]string{"featureablation", "ablation", "leaveoneout", "erasure"}, "occlusion"},
	{[]string{"directlogitattribution", "logitattribution", "dla"}, "direct"},
	{[]string{"lrp", "layerwiserelevancepropagation", "attnlrp"}, "attn-lrp"},
	{
		[]string{
			"lime", "shap", "kernelshap", "gradientshap", "layergradientshap", "shapley",
			"shapleyvalues", "shapleyvaluesampling", "deeplift", "layerdeeplift", "deepliftshap",
			"sequentialintegratedgradients",
		},
		"attn-lrp or decompx, which divide the logit among the tokens without samples",
	},
}

// meant ends the message about an unknown method: the names that are similar, or what a name of
// another tool is here, and the known names. Where nothing is similar it says of what pairs are
// made.
func meant(name string) string {
	known := append(MethodNames(), Classic)
	if message.DidYouMean(name, known) != "" {
		return message.KnownAre(name, known)
	}
	bare := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, other := range elsewhere {
		if message.Nearest(bare, other.names) != nil {
			return "did you mean " + other.here + "? known are " + message.List(known)
		}
	}
	return fmt.Sprintf("%s, and any mixing+aggregation of %s and %s",
		message.KnownAre(name, known), message.List(MixingNames()),
		message.List(aggregation.Names()))
}

// MethodNames returns the names of all registered methods, sorted. Every scorer is a method.
func MethodNames() []string {
	names := append(methods.Names(), scorer.Names()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// named returns the method registered by a name, or that of the scorer with this name. If there are
// both, it returns the method and a usage error.
func named(name string) (Method, error) {
	// Lookup of an unknown name compares it with every known one for its error, which takes longer.
	if !slices.Contains(scorer.Names(), name) {
		return methods.Lookup(name)
	}
	if slices.Contains(methods.Names(), name) {
		m, _ := methods.Lookup(name)
		return m, trace.Usagef("method %s and scorer %s have one name; register the scorer by "+
			"another one", name, name)
	}
	s, err := scorer.Lookup(name)
	if err != nil {
		return Method{}, err
	}
	i := s.Info()
	return Method{
		Name: name, Scorer: name, Summary: i.Summary, Formula: i.Formula, Paper: i.Paper,
		Cost: i.Cost,
	}, nil
}

// Methods returns all registered methods, sorted by name.
func Methods() []Method {
	names := MethodNames()
	all := make([]Method, len(names))
	for i, name := range names {
		all[i], _ = named(name)
	}
	return all
}

// DefaultMethods returns the methods that are used if an explanation of a model names none. For a
// decoder these are the two that found proven evidence best among those measured on real language
// models, at little cost; see docs/methods.md. Other models have no prediction of a next token to
// follow back.
func DefaultMethods(info trace.Info) []string {
	if info.Head == trace.NextToken && !info.Bidirectional {
		return []string{"direct", "value-zeroing"}
	}
	return []string{"rollout", "value-zeroing"}
}

// Classic may stand in [Options.Methods] for rollout, flow and value-zeroing, the methods of the
// papers that this project began with.
const Classic = "classic"

// LookupMethods returns the methods that a name in [Options.Methods] stands for: one method, or
// those of [Classic]. The error is that of [LookupMethod].
func LookupMethods(name string) ([]Method, error) {
	names := []string{name}
	if name == Classic {
		names = []string{"rollout", "flow", "value-zeroing"}
	}
	var all []Method
	for _, name := range names {
		m, err := LookupMethod(name)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// pairMethod returns a method for a pair that has no name of its own.
func pairMethod(mixing, combined string) (Method, error) {
	mi, err := LookupMixing(mixing)
	if err != nil {
		return Method{}, err
	}
	ag, err := aggregation.Lookup(combined)
	if err != nil {
		return Method{}, err
	}
	info := ag.Info()
	m := Method{
		Name: mixing + "+" + combined, Mixing: mixing, Aggregation: combined,
		Summary: fmt.Sprintf("%s; combined as %s", mi.Summary, info.Summary),
		Formula: info.Formula, Paper: mi.Paper + "; " + info.Paper, Cost: mi.Cost + "; " +
			info.Cost,
	}
	if !mi.IncludesResidual {
		m.Residual = info.Residual
	}
	return m, m.check()
}

// check returns an error if the method cannot be computed.
func (m Method) check() error {
	if m.Scorer != "" {
		_, err := scorer.Lookup(m.Scorer)
		if err == nil && (m.Mixing != "" || m.Aggregation != "" || m.Residual != 0 || m.Normalize) {
			err = trace.Usagef("method %s: scorer %s takes no mixing, aggregation, residual or "+
				"normalisation", m.Name, m.Scorer)
		}
		return err
	}
	mi, err := LookupMixing(m.Mixing)
	if err != nil {
		return fmt.Errorf("method %s: %w", m.Name, err)
	}
	if _, err := aggregation.Lookup(m.Aggregation); err != nil {
		return fmt.Errorf("method %s: %w", m.Name, err)
	}
	if !(m.Residual >= 0 && m.Residual <= 1) {
		return trace.Usagef("method %s: residual %v; it must be in [0,1]", m.Name, m.Residual)
	}
	if m.Residual > 0 && mi.IncludesResidual {
		return trace.Usagef("method %s: residual %v; it must be 0 over %s, which contains it",
			m.Name, m.Residual, m.Mixing)
	}
	return nil
}
