package family

import (
	"cmp"
	"slices"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() { Register(switchTransformers) }

// switchTransformers is the Switch Transformer: T5 in some of whose blocks each token passes one of
// several experts, times its probability. An expert takes the first expert_capacity tokens of each
// side that choose it, so that no text within that length is cut.
var switchTransformers = func() *Family {
	f := *t5
	f.Name, f.ModelTypes, f.OwnHead = "switch_transformers", nil, false
	f.Architectures = []string{
		"SwitchTransformersForConditionalGeneration", "SwitchTransformersModel",
	}
	f.Weights = slices.Concat(f.Weights[:len(f.Weights):len(f.Weights)],
		switchFeedForward("encoding", "encoder.block.%d.layer.1."),
		switchFeedForward("crossing", "decoder.block.%d.layer.2."))
	f.Spec = func(c *Config) (*spec.Spec, error) {
		s, err := t5Spec(c, "dense_act_fn")
		s.Family = "switch_transformers"
		s.Context = c.AtLeast(1, 64, "expert_capacity")
		c.setOrigin("Context", "expert_capacity")
		if name := c.String("router_dtype", "float32"); name != "float32" {
			c.fail("router_dtype is %s; experts are chosen in float32 here", shown(name))
		}
		s.Mixture = &spec.Mixture{
			Experts: c.Size("Experts", "num_experts"), Chosen: 1, Width: s.FeedForward,
			RouterBias: c.Bool("router_bias", false), Dense: switchDense(c, s),
		}
		if !slices.Contains(s.Mixture.Dense, false) {
			s.Mixture = nil
		}
		return s, cmp.Or(err, c.firstErr())
	}
	return &f
}()

// switchDense reads which layers have no experts: in each stack all but those that a step names.
func switchDense(c *Config, s *spec.Spec) []bool {
	if s.Check() != nil { // sizes that are refused
		return nil
	}
	sparse := func(stack string, blocks int) func(block int) bool {
		step := blocks
		if n := c.AtLeast(0, 3, "num_sparse_"+stack+"_layers"); n > 0 {
			step = blocks / n
		}
		step = c.AtLeast(0, step, stack+"_sparse_step")
		return func(block int) bool { return step == 1 || step > 0 && block%step == 1 }
	}
	encoder, decoder := sparse("encoder", s.Encoder), sparse("decoder", (s.Layers-s.Encoder)/2)
	dense := make([]bool, s.Layers)
	for l := range dense {
		switch s.Stack(l) {
		case spec.Encoding:
			dense[l] = !encoder(l)
		case spec.Crossing:
			dense[l] = !decoder((l - s.Encoder) / 2)
		default:
			dense[l] = true
		}
	}
	return dense
}

// switchFeedForward are the tensors of a feed-forward part with experts or without.
func switchFeedForward(stack, layer string) []Weight {
	part := layer + "mlp."
	expert := part + "experts.expert_%d."
	return []Weight{
		{stack + ".%d.up.weight", part + "wi.weight", Transposed},
		{stack + ".%d.down.weight", part + "wo.weight", Transposed},
		{stack + ".%d.router.weight", part + "router.classifier.weight", Transposed},
		{stack + ".%d.router.bias", part + "router.classifier.bias", AsIs},
		{stack + ".%d.experts.%d.up.weight", expert + "wi.weight", Transposed},
		{stack + ".%d.experts.%d.down.weight", expert + "wo.weight", Transposed},
	}
}
