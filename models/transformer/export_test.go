package transformer

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/ask"
	"github.com/headwater-ml/headwater/models/transformer/internal/codes"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
	"github.com/headwater-ml/headwater/models/transformer/internal/host"
	"github.com/headwater-ml/headwater/models/transformer/internal/logit"
	"github.com/headwater-ml/headwater/models/transformer/internal/run"
)

// UnregisterMixing takes a mixing of a test out of the registry.
func UnregisterMixing(name string) { graph.Mixings.Remove(name) }

// Bucket is the size that a prompt or cache of n tokens gets.
func Bucket(n int) int { return host.Bucket(n) }

// RoundUp makes the model round lengths up as it does where every new shape is compiled.
func (m *Model) RoundUp() { m.core.Machine.PromptStep = host.SlotStep }

// TermsAtOnce makes a view of the model that reads so many layers in one graph of the parts.
func (m *Model) TermsAtOnce(layers int) *Model {
	core := *m.core
	core.TermsAtOnce = layers
	return m.on(&core)
}

// ProjectAlways makes the model project sources also where that does not pay.
func (m *Model) ProjectAlways() { m.core.ProjectAlways = true }

// CanProject reports whether rows that are asked for can be computed from projected sources.
func (m *Model) CanProject(ask trace.MixingAsk) bool {
	mix, err := graph.LookupMixing(ask.Name)
	return err == nil && run.CanProject(m.core, graph.Asked{MixingAsk: ask, Mixing: mix})
}

// ThroughHeld is how many bytes the model keeps for projecting sources.
func (m *Model) ThroughHeld() int64 { return m.core.Through.Held(m.Spec) }

// KeptTokens is how many tokens of its text the model has parts of.
func (m *Model) KeptTokens() int {
	if m.parted.Session == nil {
		return 0
	}
	return m.parted.Session.Length()
}

// OnDevice makes the model keep its caches as where the host cannot write into them.
func (m *Model) OnDevice() { m.core.Machine.OnHost = false }

// Prepared waits for what is compiled while the prompt is read.
func Prepared(s *Session) { run.Prepared(s) }

// Slots returns for how many tokens the session's cache has room.
func Slots(s *Session) int { return run.SlotsOf(s) }

// Graphs returns what the model built graphs for, sorted.
func (m *Model) Graphs() []string { return m.core.Machine.Keys() }

// Need is what a pass is to do.
type Need = run.Need

// ForSizes is a model without weights, which is asked for sizes alone.
func ForSizes(s *spec.Spec) *Model {
	m, _ := newModel(&run.Model{Settings: &run.Settings{Spec: s}}, nil)
	return m
}

// Estimate is about how many bytes a pass needs besides the weights.
func (m *Model) Estimate(n Need) int64 { return m.core.Estimate(n) }

// Activate is f(x) of an activation without weights.
func Activate(f spec.Activation, x *Node) *Node { return graph.Activate(f, x, nil) }

// ActivationSlope is [Activate] divided by x.
func ActivationSlope(f spec.Activation, x *Node) *Node {
	return graph.ActivationSlope(f, x, nil)
}

// InTiles returns the model with prompts of more than above tokens computed in tiles of so many
// targets over at least so many sources.
func (m *Model) InTiles(above, targets, sources int) *Model {
	core := *m.core
	core.Tiling = run.Tiling{Above: above, Targets: targets, Sources: sources}
	return m.on(&core)
}

// TileOf is how many targets a tile has in a text of n tokens.
func (m *Model) TileOf(n int) int { return m.core.TileOf(n) }

// LogProbability is logProbability.
var LogProbability = logit.LogProbability

// TreeRows is how many rows queries have in trees of their texts, 0 if they run as they are.
func (m *Model) TreeRows(queries []trace.Query, how ask.Batching) (rows int) {
	trees, err := ask.PrefixTrees(m.core, queries, how)
	if err != nil {
		panic(err)
	}
	for _, t := range trees {
		rows += len(t.IDs)
	}
	return rows
}

// KeepCodes makes pure Go keep matrices in codes that would take more than so many bytes in
// float32. It returns what undoes that.
func KeepCodes(bytes int64) (undo func()) {
	before := codes.HostFloats
	codes.HostFloats = bytes
	return func() { codes.HostFloats = before }
}
