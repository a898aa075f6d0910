package family

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/spec"
)

func init() {
	Register(deepseekV2)
	Register(deepseekV3)
}

// deepseekV2 is DeepSeek V2: queries, keys and values from latents, and experts of which the one
// that every token passes has the width of several. Experts may come in groups.
var deepseekV2 = namedAsLlama(Family{
	Name:          "deepseek_v2",
	Architectures: []string{"DeepseekV2ForCausalLM", "DeepseekV2Model"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := latentSpec(c, "deepseek_v2")
		c.Only("mlp_bias", false)
		neighbours(s)
		routed(c, s, 0, 1)
		c.AllowNull("n_group", "topk_group")
		groups, chosen := c.AtLeast(1, 1, "n_group"), c.AtLeast(1, 1, "topk_group")
		if OneOf(c, "topk_method", "greedy", groupsOfMethod) {
			s.Mixture.Groups, s.Mixture.ChosenGroups, s.Mixture.GroupBest = groups, chosen, 1
		}
		return s, c.firstErr()
	},
	Weights: latentWeights,
	Unused:  beyondLayers,
})

// groupsOfMethod is whether experts are chosen by groups, by topk_method.
var groupsOfMethod = map[string]bool{"greedy": false, "group_limited_greedy": true}

// deepseekV3 is DeepSeek V3 and R1: DeepSeek V2 whose experts have probabilities of their own, and
// are chosen by these and a number that balances their use.
var deepseekV3 = namedAsLlama(Family{
	Name:          "deepseek_v3",
	Architectures: []string{"DeepseekV3ForCausalLM", "DeepseekV3Model"},
	Spec: func(c *Config) (*spec.Spec, error) {
		s := latentSpec(c, "deepseek_v3")
		if c.Bool("rope_interleave", true) {
			neighbours(s)
		}
		routed(c, s, 3, 2.5)
		sigmoidGroups(c, s, 8, 4)
		return s, c.firstErr()
	},
	Weights: slices.Concat(latentWeights, []Weight{balance}),
	Unused:  beyondLayers,
})

// latentSpec reads attention with latents.
func latentSpec(c *Config, name string) *spec.Spec {
	// head_dim may stand in the file for the part of a head that turns.
	s := llamaSpec(c, llamaLike{name: name, headWidth: 1})
	c.Only("attention_bias", false)
	if s.KeyValueHeads != s.Heads {
		c.fail("%s is not %s; with latents each head has its own keys", c.keyOf("KeyValueHeads"),
			c.keyOf("Heads"))
	}
	c.AllowNull("q_lora_rank")
	s.Latent = &spec.Latent{
		KeysAndValues: c.SizeOr(512, "HeadWidth", "kv_lora_rank"),
		Shared:        c.SizeOr(64, "HeadWidth", "qk_rope_head_dim"),
		Values:        c.SizeOr(128, "HeadWidth", "v_head_dim"),
		Epsilon:       1e-6, // whatever the other norms have
	}
	if !c.isNull("q_lora_rank") {
		s.Latent.Queries = c.SizeOr(1536, "HeadWidth", "q_lora_rank")
	}
	s.HeadWidth = s.Latent.Shared + c.SizeOr(128, "HeadWidth", "qk_nope_head_dim")
	scores := 1.0
	s.Rotary = ropeReader{
		width: s.Latent.Shared, context: s.Context, theta: 10000, scores: &scores,
	}.of(c)
	s.ScoreScale = scores / math.Sqrt(float64(s.HeadWidth))
	return s
}

// sigmoidGroups reads the router of DeepSeek V3, with defaults for its groups.
func sigmoidGroups(c *Config, s *spec.Spec, groups, chosen int) {
	m := s.Mixture
	m.Sigmoid, m.ChoiceBias = true, true
	m.Renormalize = c.Bool("norm_topk_prob", true)
	m.Groups, m.ChosenGroups = c.AtLeast(1, groups, "n_group"), c.AtLeast(1, chosen, "topk_group")
	m.GroupBest = 2
}

// routed reads the experts, how many of them every token passes as if they were one, and, with
// defaults, how many of the lower layers have none and what their weights are multiplied by.
func routed(c *Config, s *spec.Spec, dense int, scale float64) {
	s.Mixture = mixture(c, "n_routed_experts", "num_experts", "num_local_experts")
	s.Mixture.Width = c.Size("ExpertWidth", "moe_intermediate_size")
	s.Mixture.Scale = c.Above(0, spec.MaxScale, "routed_scaling_factor", scale)
	s.Mixture.Shared = s.Mixture.Width * c.AtLeast(1, 1, "n_shared_experts")
	c.setOrigin("SharedWidth", "n_shared_experts")
	if first := c.AtLeast(0, dense, "first_k_dense_replace"); first > 0 {
		for l := range min(max(s.Layers, 0), spec.MaxSize("Layers")) {
			s.Mixture.Dense = append(s.Mixture.Dense, l < first)
		}
	}
}

// beyondLayers reports whether a tensor belongs to a layer above the last: one that was trained to
// predict the token after the next (DeepSeek V3).
func beyondLayers(s *spec.Spec, tensor string) bool {
	var l int
	_, rest, _ := strings.Cut(tensor, "layers.")
	n, _ := fmt.Sscanf(rest, "%d.", &l)
	return n == 1 && l >= s.Layers
}

// balance is the number that is added to the probability of an expert where experts are chosen.
var balance = Weight{
	"blocks.%d.router.choice", "layers.%d.mlp.gate.e_score_correction_bias", AsIs,
}

// sharedExperts are the tensors of the experts that every token passes.
var sharedExperts = []Weight{
	{"blocks.%d.shared.gate.weight", "layers.%d.mlp.shared_experts.gate_proj.weight", Transposed},
	{"blocks.%d.shared.up.weight", "layers.%d.mlp.shared_experts.up_proj.weight", Transposed},
	{"blocks.%d.shared.down.weight", "layers.%d.mlp.shared_experts.down_proj.weight", Transposed},
}

// latentWeights are the tensors of DeepSeek V2.
var latentWeights = slices.Concat(llamaWeights, expertWeights, sharedExperts, []Weight{
	{"blocks.%d.query-latent.weight", "layers.%d.self_attn.q_a_proj.weight", Transposed},
	{"blocks.%d.query-latent-norm.gain", "layers.%d.self_attn.q_a_layernorm.weight", AsIs},
	{"blocks.%d.query-up.weight", "layers.%d.self_attn.q_proj.weight", TurnedFirst},
	{"blocks.%d.query-up.weight", "layers.%d.self_attn.q_b_proj.weight", TurnedFirst},
	{"blocks.%d.latent.weight", "layers.%d.self_attn.kv_a_proj_with_mqa.weight", LatentRows},
	{"blocks.%d.latent-norm.gain", "layers.%d.self_attn.kv_a_layernorm.weight", AsIs},
	{"blocks.%d.shared-key.weight", "layers.%d.self_attn.kv_a_proj_with_mqa.weight", SharedKeyRows},
	{"blocks.%d.key-up.weight", "layers.%d.self_attn.kv_b_proj.weight", KeyOfHead},
	{"blocks.%d.value-up.weight", "layers.%d.self_attn.kv_b_proj.weight", ValueOfHead},
})
