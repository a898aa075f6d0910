package gguf

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/models/family"
)

// t5Tensors: the biases of distances are in the first block of each stack, for all of them. Those
// of the attention to the source are read by nobody.
var t5Tensors = slices.Concat([]row{
	{"embedding", "token_embd.weight", family.AsIs},
	{"head", "output.weight", family.AsIs},
	{"final-norm.gain", "dec.output_norm.weight", family.AsIs},
	{"crossing.%d.memory-norm.gain", "enc.output_norm.weight", family.AsIs},
	{"encoding.%d.relative-bias", "enc.blk.0.attn_rel_b.weight", family.AsIs},
	{"decoding.%d.relative-bias", "dec.blk.0.attn_rel_b.weight", family.AsIs},
},
	stackAttention("encoding.%d.", "enc.blk.%d.attn_"),
	stackFeedForward("encoding.%d.", "enc.blk.%d.ffn_"),
	stackAttention("decoding.%d.", "dec.blk.%d.attn_"),
	stackAttention("crossing.%d.", "dec.blk.%d.cross_attn_"),
	stackFeedForward("crossing.%d.", "dec.blk.%d.ffn_"),
)

// encoderTensors are those of the encoder alone.
func encoderTensors(stacks []row) (all []row) {
	for _, r := range stacks {
		if rest, ok := strings.CutPrefix(r.param, "encoding."); ok {
			r.param = "blocks." + rest
		}
		r.param = strings.Replace(r.param, "crossing.%d.memory-norm", "final-norm", 1)
		if r.param != "head" && !strings.HasPrefix(r.tensor, "dec.") {
			all = append(all, r)
		}
	}
	return all
}

// unusedBias are biases of distances that files of the first T5 have and that nothing adds.
const unusedBias = "dec.blk.0.cross_attn_rel_b.weight"

// stackAttention are the tensors of an attention in a stack.
func stackAttention(param, tensor string) []row {
	return []row{
		{param + "attention-norm.gain", tensor + "norm.weight", family.AsIs},
		{param + "query.weight", tensor + "q.weight", family.Transposed},
		{param + "key.weight", tensor + "k.weight", family.Transposed},
		{param + "value.weight", tensor + "v.weight", family.Transposed},
		{param + "output.weight", tensor + "o.weight", family.Transposed},
	}
}

// stackFeedForward are the tensors of a feed-forward part in a stack, gated or not.
func stackFeedForward(param, tensor string) []row {
	return []row{
		{param + "mlp-norm.gain", tensor + "norm.weight", family.AsIs},
		{param + "gate.weight", tensor + "gate.weight", family.Transposed},
		{param + "up.weight", tensor + "up.weight", family.Transposed},
		{param + "down.weight", tensor + "down.weight", family.Transposed},
	}
}

// t5Settings reads T5. Two things are in no file, and follow from whether there is a gate, as in
// all published models: the activation, and whether logits are multiplied by 1/√D. Those of T5 1.0,
// without a gate, are; llama.cpp leaves it out, which changes no greedy text. Distances share
// biases up to 128, as in llama.cpp.
func t5Settings(s *settings) {
	s.size("num_layers", "block_count")
	s.config["num_decoder_layers"] = s.config["num_layers"]
	s.sizeIfAny("num_decoder_layers", "decoder_block_count")
	s.size("d_model", "embedding_length")
	s.size("d_ff", "feed_forward_length")
	s.size("num_heads", "attention.head_count")
	s.size("d_kv", "attention.key_length")
	for key, want := range map[string]string{
		"attention.value_length": "d_kv", "attention.head_count_kv": "num_heads",
	} {
		if n, ok := s.whole(key); ok && n != s.configInt(want) {
			s.fail("%s.%s is %d, but %s is %d; they must be the same", s.arch, key, n,
				s.origin[want], s.configInt(want))
		}
	}
	s.size("relative_attention_num_buckets", "attention.relative_buckets_count")
	s.config["relative_attention_max_distance"] = json.Number("128")
	s.required("layer_norm_epsilon", "attention.layer_norm_rms_epsilon")
	s.sizeIfAny("decoder_start_token_id", "decoder_start_token_id")
	s.whole("context_length") // of the texts that it was trained on, and no limit
	gated := s.file.Has("enc.blk.0.ffn_gate.weight")
	s.config["feed_forward_proj"] = map[bool]string{false: "relu", true: "gated-gelu"}[gated]
	s.config["scale_decoder_outputs"] = !gated
}
