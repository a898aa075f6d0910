package gguftest

import "maps"

// The names of tensors in GGUF, by those in Hugging Face, with %d for the layer and without ends.

var llamaNames = map[string]string{
	"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
	"layers.%d.input_layernorm":          "blk.%d.attn_norm",
	"layers.%d.self_attn.q_proj":         "blk.%d.attn_q",
	"layers.%d.self_attn.k_proj":         "blk.%d.attn_k",
	"layers.%d.self_attn.v_proj":         "blk.%d.attn_v",
	"layers.%d.self_attn.o_proj":         "blk.%d.attn_output",
	"layers.%d.self_attn.q_norm":         "blk.%d.attn_q_norm",
	"layers.%d.self_attn.k_norm":         "blk.%d.attn_k_norm",
	"layers.%d.post_attention_layernorm": "blk.%d.ffn_norm",
	"layers.%d.mlp.gate_proj":            "blk.%d.ffn_gate",
	"layers.%d.mlp.gate":                 "blk.%d.ffn_gate_inp",
	"layers.%d.mlp.up_proj":              "blk.%d.ffn_up",
	"layers.%d.mlp.down_proj":            "blk.%d.ffn_down",
}

var mixtralNames = merged(llamaNames, map[string]string{
	"layers.%d.block_sparse_moe.gate": "blk.%d.ffn_gate_inp",
})

var sharedNames = merged(llamaNames, map[string]string{
	"layers.%d.mlp.shared_expert.gate_proj": "blk.%d.ffn_gate_shexp",
	"layers.%d.mlp.shared_expert.up_proj":   "blk.%d.ffn_up_shexp",
	"layers.%d.mlp.shared_expert.down_proj": "blk.%d.ffn_down_shexp",
	"layers.%d.mlp.shared_expert_gate":      "blk.%d.ffn_gate_inp_shexp",
})

var graniteMoENames = merged(llamaNames, map[string]string{
	"layers.%d.block_sparse_moe.router.layer": "blk.%d.ffn_gate_inp",
})

var gptOSSNames = merged(llamaNames, map[string]string{
	"layers.%d.post_attention_layernorm": "blk.%d.post_attention_norm",
	"layers.%d.mlp.router":               "blk.%d.ffn_gate_inp",
	"layers.%d.self_attn.sinks":          "blk.%d.attn_sinks",
})

var gemmaNames = merged(afterNames, map[string]string{
	"layers.%d.pre_feedforward_layernorm": "blk.%d.ffn_norm",
})

var phiNames = merged(llamaNames, map[string]string{
	"final_layernorm":           "output_norm",
	"layers.%d.self_attn.dense": "blk.%d.attn_output",
	"layers.%d.mlp.fc1":         "blk.%d.ffn_up",
	"layers.%d.mlp.fc2":         "blk.%d.ffn_down",
})

var starcoderNames = merged(llamaNames, map[string]string{
	"layers.%d.mlp.c_fc": "blk.%d.ffn_up", "layers.%d.mlp.c_proj": "blk.%d.ffn_down",
})

var apertusNames = merged(llamaNames, map[string]string{
	"layers.%d.attention_layernorm":   "blk.%d.attn_norm",
	"layers.%d.feedforward_layernorm": "blk.%d.ffn_norm",
})

var afterNames = merged(llamaNames, map[string]string{
	"layers.%d.post_attention_layernorm":   "blk.%d.post_attention_norm",
	"layers.%d.post_feedforward_layernorm": "blk.%d.post_ffw_norm",
})

var glmNames = merged(llamaNames, map[string]string{
	"layers.%d.mlp.gate_up_proj":         "blk.%d.ffn_up",
	"layers.%d.post_self_attn_layernorm": "blk.%d.post_attention_norm",
	"layers.%d.post_mlp_layernorm":       "blk.%d.post_ffw_norm",
})

var neoxNames = map[string]string{
	"embed_in": "token_embd", "final_layer_norm": "output_norm", "embed_out": "output",
	"lm_head":                             "output",
	"layers.%d.input_layernorm":           "blk.%d.attn_norm",
	"layers.%d.attention.query_key_value": "blk.%d.attn_qkv",
	"layers.%d.attention.dense":           "blk.%d.attn_output",
	"layers.%d.post_attention_layernorm":  "blk.%d.ffn_norm",
	"layers.%d.mlp.dense_h_to_4h":         "blk.%d.ffn_up",
	"layers.%d.mlp.dense_4h_to_h":         "blk.%d.ffn_down",
}

var mptNames = map[string]string{
	"wte": "token_embd", "norm_f": "output_norm", "lm_head": "output",
	"blocks.%d.norm_1": "blk.%d.attn_norm", "blocks.%d.norm_2": "blk.%d.ffn_norm",
	"blocks.%d.attn.Wqkv": "blk.%d.attn_qkv", "blocks.%d.attn.out_proj": "blk.%d.attn_output",
	"blocks.%d.ffn.up_proj": "blk.%d.ffn_up", "blocks.%d.ffn.down_proj": "blk.%d.ffn_down",
}

var modernNames = map[string]string{
	"embeddings.tok_embeddings": "token_embd", "embeddings.norm": "token_embd_norm",
	"final_norm":          "output_norm",
	"layers.%d.attn_norm": "blk.%d.attn_norm", "layers.%d.mlp_norm": "blk.%d.ffn_norm",
	"layers.%d.attn.Wqkv": "blk.%d.attn_qkv", "layers.%d.attn.Wo": "blk.%d.attn_output",
	"layers.%d.mlp.Wi": "blk.%d.ffn_up", "layers.%d.mlp.Wo": "blk.%d.ffn_down",
}

var phi3Names = merged(llamaNames, map[string]string{
	"layers.%d.self_attn.qkv_proj": "blk.%d.attn_qkv",
	"layers.%d.mlp.gate_up_proj":   "blk.%d.ffn_up",
})

var gpt2Names = map[string]string{
	"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output",
	"h.%d.ln_1": "blk.%d.attn_norm", "h.%d.attn.c_attn": "blk.%d.attn_qkv",
	"h.%d.attn.c_proj": "blk.%d.attn_output", "h.%d.ln_2": "blk.%d.ffn_norm",
	"h.%d.mlp.c_fc": "blk.%d.ffn_up", "h.%d.mlp.c_proj": "blk.%d.ffn_down",
}

var bloomNames = map[string]string{
	"word_embeddings": "token_embd", "word_embeddings_layernorm": "token_embd_norm",
	"ln_f": "output_norm", "lm_head": "output",
	"h.%d.input_layernorm":                "blk.%d.attn_norm",
	"h.%d.self_attention.query_key_value": "blk.%d.attn_qkv",
	"h.%d.self_attention.dense":           "blk.%d.attn_output",
	"h.%d.post_attention_layernorm":       "blk.%d.ffn_norm",
	"h.%d.mlp.dense_h_to_4h":              "blk.%d.ffn_up",
	"h.%d.mlp.dense_4h_to_h":              "blk.%d.ffn_down",
}

var falconNames = merged(bloomNames, map[string]string{
	"h.%d.ln_mlp": "blk.%d.attn_norm", "h.%d.ln_attn": "blk.%d.attn_norm_2",
})

var bertNames = map[string]string{
	"embeddings.word_embeddings":          "token_embd",
	"embeddings.position_embeddings":      "position_embd",
	"embeddings.token_type_embeddings":    "token_types",
	"embeddings.LayerNorm":                "token_embd_norm",
	"layer.%d.attention.self.query":       "blk.%d.attn_q",
	"layer.%d.attention.self.key":         "blk.%d.attn_k",
	"layer.%d.attention.self.value":       "blk.%d.attn_v",
	"layer.%d.attention.output.dense":     "blk.%d.attn_output",
	"layer.%d.attention.output.LayerNorm": "blk.%d.attn_output_norm",
	"layer.%d.intermediate.dense":         "blk.%d.ffn_up",
	"layer.%d.output.dense":               "blk.%d.ffn_down",
	"layer.%d.output.LayerNorm":           "blk.%d.layer_output_norm",
}

// t5Names: the prefix of the encoder is cut off before.
var t5Names = map[string]string{
	"shared": "token_embd", "lm_head": "output", "final_layer_norm": "enc.output_norm",
	"decoder.final_layer_norm":                                       "dec.output_norm",
	"block.%d.layer.0.layer_norm":                                    "enc.blk.%d.attn_norm",
	"block.%d.layer.0.SelfAttention.q":                               "enc.blk.%d.attn_q",
	"block.%d.layer.0.SelfAttention.k":                               "enc.blk.%d.attn_k",
	"block.%d.layer.0.SelfAttention.v":                               "enc.blk.%d.attn_v",
	"block.%d.layer.0.SelfAttention.o":                               "enc.blk.%d.attn_o",
	"block.%d.layer.1.layer_norm":                                    "enc.blk.%d.ffn_norm",
	"block.%d.layer.1.DenseReluDense.wi":                             "enc.blk.%d.ffn_up",
	"block.%d.layer.1.DenseReluDense.wi_0":                           "enc.blk.%d.ffn_gate",
	"block.%d.layer.1.DenseReluDense.wi_1":                           "enc.blk.%d.ffn_up",
	"block.%d.layer.1.DenseReluDense.wo":                             "enc.blk.%d.ffn_down",
	"decoder.block.%d.layer.0.layer_norm":                            "dec.blk.%d.attn_norm",
	"decoder.block.%d.layer.0.SelfAttention.q":                       "dec.blk.%d.attn_q",
	"decoder.block.%d.layer.0.SelfAttention.k":                       "dec.blk.%d.attn_k",
	"decoder.block.%d.layer.0.SelfAttention.v":                       "dec.blk.%d.attn_v",
	"decoder.block.%d.layer.0.SelfAttention.o":                       "dec.blk.%d.attn_o",
	"decoder.block.%d.layer.1.layer_norm":                            "dec.blk.%d.cross_attn_norm",
	"decoder.block.%d.layer.1.EncDecAttention.q":                     "dec.blk.%d.cross_attn_q",
	"decoder.block.%d.layer.1.EncDecAttention.k":                     "dec.blk.%d.cross_attn_k",
	"decoder.block.%d.layer.1.EncDecAttention.v":                     "dec.blk.%d.cross_attn_v",
	"decoder.block.%d.layer.1.EncDecAttention.o":                     "dec.blk.%d.cross_attn_o",
	"decoder.block.%d.layer.2.layer_norm":                            "dec.blk.%d.ffn_norm",
	"decoder.block.%d.layer.2.DenseReluDense.wi":                     "dec.blk.%d.ffn_up",
	"decoder.block.%d.layer.2.DenseReluDense.wi_0":                   "dec.blk.%d.ffn_gate",
	"decoder.block.%d.layer.2.DenseReluDense.wi_1":                   "dec.blk.%d.ffn_up",
	"decoder.block.%d.layer.2.DenseReluDense.wo":                     "dec.blk.%d.ffn_down",
	"block.%d.layer.0.SelfAttention.relative_attention_bias":         "enc.blk.%d.attn_rel_b",
	"decoder.block.%d.layer.0.SelfAttention.relative_attention_bias": "dec.blk.%d.attn_rel_b",
}

// merged is a with the names of b added or in their place.
func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
