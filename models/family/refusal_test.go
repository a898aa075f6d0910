package family

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// with returns the configuration of a golden with some values replaced. A path is a key, or the
// keys of nested objects joined by dots. Values are JSON; the empty text deletes a key.
func with(t *testing.T, golden string, changes map[string]string) map[string]any {
	t.Helper()
	values, err := decode([]byte(goldenConfigs(t, "config.json")[golden]))
	must(t, err)
	for _, path := range slices.Sorted(maps.Keys(changes)) { // an object before its keys
		value := changes[path]
		at, key := values, path
		for {
			before, after, nested := strings.Cut(key, ".")
			if !nested {
				break
			}
			if at[before] == nil {
				at[before] = map[string]any{}
			}
			at, key = at[before].(map[string]any), after
		}
		if value == "" {
			delete(at, key)
			continue
		}
		wrapped, err := decode([]byte(`{"value":` + value + `}`))
		must(t, err)
		at[key] = wrapped["value"]
	}
	return values
}

// TestRefusals provokes each error text of a configuration.
func TestRefusals(t *testing.T) {
	one := func(key, value string) map[string]string { return map[string]string{key: value} }
	rope := func(kind string, more ...string) map[string]string {
		changes := map[string]string{"rope_parameters": `{"rope_theta":10000.0,"rope_type":"` +
			kind + `"}`}
		for i := 0; i < len(more); i += 2 {
			changes["rope_parameters."+more[i]] = more[i+1]
		}
		return changes
	}
	for _, c := range []struct {
		name, golden string
		changes      map[string]string
		want         string
	}{
		// Kinds of values.
		{
			"missing", "llama_linear", one("rope_parameters.factor", ""),
			"key rope_parameters.factor is missing; it must be a number",
		},
		{
			"text for a number", "gpt2", one("n_layer", `"two"`),
			`n_layer is "two"; it must be a whole number from 1 to 1024`,
		},
		{
			"fraction", "gpt2", one("n_layer", "2.5"),
			"n_layer is 2.5; it must be a whole number from 1 to 1024, written without a point " +
				"and an exponent",
		},
		{
			"33 bits", "gpt2", one("n_layer", "4294967296"),
			"n_layer is 4294967296; it must be a whole number from 1 to 1024",
		},
		{
			"text for a real number", "gpt2", one("layer_norm_epsilon", `"small"`),
			`layer_norm_epsilon is "small"; it must be a number`,
		},
		{
			"beyond 64 bits", "gpt2", one("layer_norm_epsilon", "1e999"),
			"layer_norm_epsilon is 1e999; it must be a number of at most 64 bits",
		},
		{
			"number for a truth value", "gpt2", one("scale_attn_weights", "1"),
			"scale_attn_weights is 1; it must be true or false",
		},
		{
			"number for a text", "gpt2", one("activation_function", "1"),
			"activation_function is 1; it must be a text",
		},
		{
			"text for a list of texts", "gpt2", one("architectures", `"GPT2LMHeadModel"`),
			`architectures is "GPT2LMHeadModel"; it must be a list of texts`,
		},
		{
			"list of numbers for texts", "gpt2", one("architectures", `[3]`),
			"architectures[0] is 3; it must be a text",
		},
		{
			"list of texts for ids", "gpt2", one("eos_token_id", `["a"]`),
			`eos_token_id[0] is "a"; it must be a whole number of at most 32 bits`,
		},
		{
			"number for an object", "llama", one("rope_parameters", `3`),
			"rope_parameters is 3; it must be an object",
		},
		{
			"number for a list", "phi3_long", one("rope_parameters.long_factor", `3`),
			"rope_parameters.long_factor is 3; it must be a list of numbers",
		},
		{
			"list of texts for numbers", "phi3_long", one("rope_parameters.long_factor", `["x"]`),
			`rope_parameters.long_factor[0] is "x"; it must be a number of at most 64 bits`,
		},

		{
			"boolean for a number", "gpt2", one("n_layer", "true"),
			"n_layer is true; it must be a whole number",
		},
		{
			"null for a number", "llama", one("rms_norm_eps", "null"),
			"rms_norm_eps is null; it must be a number above 0 and below 1, or the key left out",
		},
		{
			"null for a required number", "llama", one("hidden_size", "null"),
			"hidden_size is null; it must be a whole number from 1 to 131072",
		},
		{
			"exponent", "llama", one("hidden_size", "1e2"),
			"hidden_size is 1e2; it must be a whole number from 1 to 131072, written without a " +
				"point",
		},
		{
			"two names", "gpt2", one("num_hidden_layers", "5"),
			"n_layer is 3, but num_hidden_layers is 5; both mean the same",
		},
		{
			"text of a number", "gpt2", one("eos_token_id", `"3"`),
			`eos_token_id is "3"; it must be a whole number or a list of them`,
		},
		{
			"width", "llama", one("hidden_size", "0"),
			"hidden_size is 0; it must be a whole number from 1 to 131072",
		},
		{
			"context", "llama", one("max_position_embeddings", "0"),
			"max_position_embeddings is 0; it must be a whole number from 1",
		},
		{
			"head width", "llama", one("head_dim", "0"),
			"head_dim is 0; it must be a whole number from 1",
		},
		{
			"no head width", "qwen3", one("head_dim", "null"),
			"head_dim is null; it must be a whole number from 1",
		},
		{
			"feed-forward width", "gpt2", one("n_inner", "0"),
			"n_inner is 0; it must be a whole number from 1",
		},
		{
			"token types", "bert", one("type_vocab_size", "0"),
			"type_vocab_size is 0; it must be a whole number from 1",
		},
		{
			"norm", "falcon7", one("layer_norm_epsilon", "-1"),
			"layer_norm_epsilon is -1; it must be a number above 0 and below 1",
		},
		{
			"label", "bert_cls", one("id2label", `{"a":"x"}`),
			`id2label has the key "a"; its keys must be numbers of classes`,
		},
		{
			"all heads", "llama",
			map[string]string{
				"head_dim": "65536", "num_attention_heads": "4096",
				"num_key_value_heads": "1",
			},
			"num_attention_heads (4096), head_dim (65536)",
		},
		{
			"model type", "llama", one("model_type", `"mistral"`),
			`model_type is "mistral"; it must be "llama" to go with architectures ` +
				`["LlamaForCausalLM"]`,
		},

		// Values that mean something else to the reference implementation than one would expect.
		{
			"window", "mistral", one("sliding_window", "0"),
			"sliding_window is 0; it must be a whole number from 1",
		},
		{
			"negative window", "phi3", one("sliding_window", "-1"),
			"sliding_window is -1; it must be a whole number from 1",
		},
		{
			"no window", "gemma2", one("sliding_window", "null"),
			"layer_types[0] is sliding_attention, but sliding_window is null",
		},
		{
			"windows not used", "qwen2_window", one("use_sliding_window", "false"),
			"layer_types[1] is sliding_attention, but use_sliding_window is not true",
		},
		{
			"layer types of Mistral", "mistral",
			one("layer_types", `["sliding_attention","full_attention","sliding_attention"]`),
			`layer_types[1] is "full_attention"; it must be sliding_attention in all layers`,
		},
		{
			"number of layer types of Mistral", "mistral",
			one("layer_types", `["sliding_attention"]`),
			"layer_types has 1 entries; it must have one for each of the layers",
		},
		{
			"rotation of Phi-3", "phi3", rope("linear", "factor", "2"),
			`rope_parameters.rope_type is "linear"; it must be default or longrope for this ` +
				`architecture`,
		},
		{
			"factors of Phi-3", "phi3", rope("yarn", "factor", "2"),
			"the key rope_parameters.short_factor is missing",
		},
		{
			"pattern", "gemma3",
			map[string]string{"layer_types": "", "_sliding_window_pattern": "2"},
			"_sliding_window_pattern is 2; it must be 6",
		},
		{
			"no pattern", "gemma3", one("sliding_window_pattern", "0"),
			"sliding_window_pattern is 0; it must be a whole number from 1",
		},
		{
			"cap", "gemma2", one("final_logit_softcapping", "0.0"),
			"final_logit_softcapping is 0.0; it must be a number above 0",
		},
		{
			"both rotations", "llama", one("rope_scaling", `{"type":"linear","factor":2}`),
			"rope_parameters and rope_scaling are both there and differ",
		},
		{
			"padding of another kind", "llama", one("pad_token_id", `"0"`),
			`pad_token_id is "0"; it must be a whole number`,
		},
		{
			"base of GPT-NeoX", "gpt_neox", one("rope_theta", "500"),
			"rope_theta is 500; it must be 10000, the value or the default of rotary_emb_base",
		},
		{
			"part of GPT-NeoX", "gpt_neox", one("partial_rotary_factor", "0.5"),
			"partial_rotary_factor is 0.5; it must be 0.25",
		},
		{
			"scale of YaRN", "llama_yarn", one("rope_parameters.attention_factor", "0"),
			"rope_parameters.attention_factor is 0; it must be a number above 0",
		},
		{
			"old blocks with two norms", "falcon7", one("num_ln_in_parallel_attn", "2"),
			"num_ln_in_parallel_attn is 2; it must be 1",
		},
		{
			"new blocks one after the other", "falcon_new", one("parallel_attn", "false"),
			"parallel_attn is false; it must be true",
		},
		{
			"norms of new blocks", "falcon_new", one("num_ln_in_parallel_attn", "3"),
			"num_ln_in_parallel_attn is 3; it must be 1 or 2",
		},
		{
			"keys of old blocks", "falcon_rw", one("num_kv_heads", "2"),
			"num_kv_heads (2) must be the number of heads",
		},

		// Arithmetic that is not supported.
		{
			"keys that the reference reads, sorted", "llama",
			map[string]string{"per_layer_config": `{"0":{}}`, "is_causal": "false"},
			"key is_causal, per_layer_config is not supported: it may change the arithmetic",
		},
		{
			"the width of a head", "falcon7", one("head_dim", "16"),
			"key head_dim is not supported",
		},
		{
			"a rotation beside those of the kinds of layers", "gemma3_global",
			one("rope_parameters.factor", "8"), "key rope_parameters.factor is not supported",
		},
		{
			"quantised", "llama",
			one("quantization_config", `{"bits":4,"quant_method":"awq","version":"gemm"}`),
			"quantization_config: weights are quantised (AWQ, 4 bits); open the unquantised " +
				"checkpoint or a GGUF file",
		},
		{
			"quantised by bitsandbytes", "llama",
			one("quantization_config", `{"load_in_4bit":true,"load_in_8bit":false,`+
				`"quant_method":"bitsandbytes"}`), "weights are quantised (bitsandbytes, 4 bits)",
		},
		{
			"quantised in groups", "llama",
			one("quantization_config", `{"config_groups":{"group_0":{"weights":{"num_bits":8}}},`+
				`"quant_method":"compressed-tensors"}`),
			"weights are quantised (compressed-tensors, 8 bits)",
		},
		{
			"quantised, without bits", "llama",
			one("quantization_config", `{"quant_method":"fp8","weight_block_size":[128,128]}`),
			"weights are quantised (FP8);",
		},
		{
			"quantised by MLX", "llama", one("quantization", `{"group_size":64,"bits":4}`),
			"quantization: weights are quantised (4 bits);",
		},
		{
			"cross attention", "gpt2", one("add_cross_attention", "true"),
			"add_cross_attention is true, which changes the arithmetic and is not supported; " +
				"only false is",
		},
		{"encoder as a decoder", "bert", one("is_decoder", "true"), "is_decoder is true"},
		{
			"relative positions", "bert", one("position_embedding_type", `"relative_key_query"`),
			`position_embedding_type is "relative_key_query"; it must be "absolute": others ` +
				`change the arithmetic and are not supported`,
		},
		{
			"activation", "gpt2", one("activation_function", `"mish"`),
			`activation_function "mish" is not supported; supported are gelu, gelu_accurate, ` +
				`gelu_fast, gelu_new`,
		},
		{
			"both directions", "gemma3", one("use_bidirectional_attention", "true"),
			"use_bidirectional_attention is true",
		},
		{
			"norm without gain", "opt", one("layer_norm_elementwise_affine", "false"),
			"layer_norm_elementwise_affine is false",
		},
		{
			"residual after the norm", "falcon_rw",
			one("apply_residual_connection_post_layernorm", "true"), "only false is",
		},

		// Sizes that do not fit together.
		{
			"heads", "gpt2", one("n_head", "5"),
			"n_embd (32) must be a multiple of the number of heads, n_head (5)",
		},
		{
			"no heads", "bloom", one("n_head", "0"),
			"n_head is 0; it must be a whole number from 1 to 4096",
		},
		{
			"groups", "llama", one("num_key_value_heads", "3"),
			"num_key_value_heads (3) must divide the number of heads, num_attention_heads (4); " +
				"where it is missing it is 4",
		},
		{
			"no groups", "llama", one("num_key_value_heads", "0"),
			"num_key_value_heads is 0; it must be a whole number from 1 to 4096",
		},
		{
			"groups of Falcon", "falcon_new", one("num_kv_heads", "3"),
			"num_kv_heads (3) must divide the number of heads, num_attention_heads (4)",
		},
		{
			"layers", "llama", one("num_hidden_layers", "2147483647"),
			"num_hidden_layers is 2147483647; it must be a whole number from 1 to 1024",
		},
		{
			"heads of ALiBi", "bloom",
			map[string]string{"n_head": "2147483647", "hidden_size": "2147483647"},
			"n_head is 2147483647; it must be a whole number from 1 to 4096",
		},
		{
			"width of a head", "llama", one("head_dim", "2147483646"),
			"head_dim is 2147483646; it must be a whole number from 1 to 131072",
		},
		{
			"classes", "bert_cls", one("num_labels", "100000000"),
			"num_labels is 100000000; it must be a whole number from 1 to 65536",
		},
		{
			"no classes", "bert_cls",
			map[string]string{"id2label": "{}"},
			"id2label has 0 names; it must have from 1 to 65536",
		},
		{
			"padding", "roberta", one("pad_token_id", "66"),
			"pad_token_id is 66; it must be from 0 to 62, because positions begin after it, and " +
				"there are as many as max_position_embeddings (64)",
		},
		{
			"scale of queries", "gemma2", one("query_pre_attn_scalar", "0"),
			"query_pre_attn_scalar is 0; it must be a number above 0 and at most 1e+09",
		},
		{
			"negative cap", "gemma2", one("attn_logit_softcapping", "-1"),
			"attn_logit_softcapping is -1; it must be a number above 0 and at most 1e+06",
		},

		// Windows.
		{
			"layer types", "qwen2_window",
			one("layer_types", `["full_attention","chunked_attention"]`),
			`layer_types[1] is "chunked_attention"; supported are full_attention, ` +
				`sliding_attention`,
		},
		{
			"number of layer types", "qwen2_window", one("layer_types", `["full_attention"]`),
			"layer_types has 1 entries; it must have one for each of the layers, " +
				"num_hidden_layers (2)",
		},

		// Rotations.
		{
			"kind of rotation", "llama", rope("xpos"),
			`rope_parameters.rope_type "xpos" is not supported; supported are default, dynamic, ` +
				`linear, llama3, longrope, yarn`,
		},
		{
			"old kind of rotation", "llama",
			map[string]string{"rope_parameters": "", "rope_scaling": `{"type":"xpos"}`},
			`rope_scaling.type "xpos" is not supported; supported are default, dynamic, linear, ` +
				`llama3, longrope, yarn`,
		},
		{
			"part of a head", "llama", rope("default", "partial_rotary_factor", "0.5"),
			"rope_parameters.partial_rotary_factor is 0.5, which changes the arithmetic and is " +
				"not supported for this architecture; only 1 is",
		},
		{
			"odd part", "gpt_neox", one("rope_parameters.partial_rotary_factor", "0.4"),
			"rope_parameters.partial_rotary_factor is 0.4, so that 3 components of each head are " +
				"turned by its position; their number must be even and from 2 to 65536; a head " +
				"has 8, from hidden_size (32)",
		},
		{
			"more than a head", "gpt_neox", one("rope_parameters.partial_rotary_factor", "2"),
			"rope_parameters.partial_rotary_factor is 2; it must be a number above 0 and at most 1",
		},
		{
			"base", "llama", one("rope_parameters.rope_theta", "0"),
			"rope_parameters.rope_theta is 0; it must be a number above 1 and at most 1e+12",
		},
		{
			"no factor", "llama", rope("linear"),
			"key rope_parameters.factor is missing; it must be a number from 1 to 1e+06",
		},
		{
			"factor below 1", "llama", rope("linear", "factor", "0.5"),
			"rope_parameters.factor is 0.5; it must be a number from 1 to 1e+06",
		},
		{
			"no trained length", "llama",
			rope("llama3", "factor", "2", "low_freq_factor", "1", "high_freq_factor", "4",
				"original_max_position_embeddings", "-1"),
			"rope_parameters.original_max_position_embeddings is -1; it must be a whole number " +
				"from 1",
		},
		{
			"no ramp", "llama",
			rope("llama3", "factor", "2", "low_freq_factor", "4", "high_freq_factor", "4"),
			"rope_parameters.low_freq_factor and rope_parameters.high_freq_factor are both 4; " +
				"they must differ",
		},
		{
			"lists of factors", "phi3_long", one("rope_parameters.long_factor", "[1]"),
			"rope_parameters.short_factor and rope_parameters.long_factor have 4 and 1 numbers; " +
				"they must have 4, one for each pair of components of a head that is turned",
		},
		{
			"factor of a frequency", "phi3_long", one("rope_parameters.short_factor", "[1,0,1,1]"),
			"rope_parameters.short_factor[1] is 0; it must be above 0",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := Read(NewConfig("config.json", with(t, c.golden, c.changes)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), ": ") {
				t.Errorf("error %v does not say which package it is from", err)
			}
		})
	}
}

// TestUnknownArchitecture: the error lists the supported families, or of a known one the heads.
func TestUnknownArchitecture(t *testing.T) {
	_, _, err := read(t, `{"architectures":["T5ForConditionalGeneration"],"model_type":"t5"}`)
	if err == nil {
		t.Fatal("an unknown architecture is read")
	}
	for _, want := range []string{
		`architectures ["T5ForConditionalGeneration"]`, `model_type "t5"`,
		"bert, ", "gpt2", "qwen3",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
	_, _, err = read(t, `{"architectures":["BertForNextSentencePrediction"],"model_type":"bert"}`)
	if want := `the head of architectures ["BertForNextSentencePrediction"] is not supported for ` +
		`model_type "bert"; supported are BertForMaskedLM, `; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %s", err, want)
	}
}

// TestHarmless: keys that change nothing are accepted, null counts as an absent key, and a file
// without architectures is recognised by its model_type.
func TestHarmless(t *testing.T) {
	for name, changes := range map[string]map[string]string{
		"dropout":            {"attn_pdrop": "0.5"},
		"null":               {"tanh_residual": "null"},
		"the default":        {"is_causal": "true"},
		"no architectures":   {"architectures": ""},
		"no model type":      {"model_type": ""},
		"null architectures": {"architectures": "null"},
	} {
		f, s, err := Read(NewConfig("config.json", with(t, "gpt2", changes)))
		if err != nil || f.Name != "gpt2" {
			t.Errorf("%s: error %v, want none", name, err)
		} else if s.Remarks != nil {
			t.Errorf("%s: remarks %q, want none", name, s.Remarks)
		}
	}
}

// TestRemarks: what the reference implementation does not read is ignored and named, and what is
// missing is its default.
func TestRemarks(t *testing.T) {
	for _, c := range []struct {
		name, golden string
		changes      map[string]string
		want         []string
	}{
		{
			"keys that nobody reads, sorted", "llama",
			map[string]string{"zeta": "1", "is_llama_config": "true", "num_heads": `"x"`},
			[]string{"keys that transformers does not read were ignored: is_llama_config, " +
				"num_heads, zeta"},
		},
		{
			"a key of another family", "distilbert", map[string]string{"layer_norm_eps": "0.001"},
			[]string{"keys that transformers does not read were ignored: layer_norm_eps"},
		},
		{
			"within", "llama", map[string]string{"rope_parameters.finetuned": "true"},
			[]string{"keys that transformers does not read were ignored: " +
				"rope_parameters.finetuned"},
		},
		{
			"the old style", "llama",
			map[string]string{
				"rope_parameters": "", "rope_theta": "10000.0",
				"rope_scaling": `{"type":"linear","factor":2,"original_max_position_embeddings":9}`,
			},
			[]string{"keys that transformers does not read were ignored: " +
				"rope_scaling.original_max_position_embeddings"},
		},
		{
			"both styles", "llama",
			map[string]string{
				"rope_parameters": `{"rope_type":"linear","factor":2,"rope_theta":100}`,
				"rope_theta":      "100", "rope_scaling": `{"type":"linear","factor":2.0}`,
			}, nil,
		},
		{
			"one kind of layers", "gemma3_global",
			map[string]string{"rope_parameters.full_attention.foo": "1"},
			[]string{"keys that transformers does not read were ignored: " +
				"rope_parameters.full_attention.foo"},
		},
		{
			"code of the publisher", "phi3", map[string]string{"auto_map": `{"AutoConfig":"a.B"}`},
			[]string{"auto_map names the publisher's own code, which may differ from the usual " +
				"code of phi3 that runs here"},
		},
		{
			"the length of the first LLaMA", "llama",
			map[string]string{"max_position_embeddings": ""},
			[]string{"max_position_embeddings is missing; 2048 is the default of transformers"},
		},
		{
			"an end of text outside the vocabulary", "gpt2",
			map[string]string{"eos_token_id": "[2,96]", "bos_token_id": "50256"},
			[]string{
				"bos_token_id is 50256 and was ignored; ids are from 0 to 95, because of " +
					"vocab_size (96)",
				"eos_token_id is [2, 96] and was ignored; ids are from 0 to 95, because of " +
					"vocab_size (96)",
			},
		},
	} {
		_, s, err := Read(NewConfig("config.json", with(t, c.golden, c.changes)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i := range c.want {
			c.want[i] = "config.json: " + c.want[i]
		}
		if !slices.Equal(s.Remarks, c.want) {
			t.Errorf("%s: remarks %q, want %q", c.name, s.Remarks, c.want)
		}
	}
}

// TestReferenceDefaults: a configuration without keys means the same as one with the defaults of
// the reference implementation, as the table has them.
func TestReferenceDefaults(t *testing.T) {
	for _, f := range registered() {
		if referenceKeys()[f.Name] == nil {
			t.Errorf("reference.tsv has no rows of %s", f.Name)
			continue
		}
		empty := map[string]any{"architectures": []any{f.Architectures[0]}}
		full := maps.Clone(empty)
		for key, k := range referenceKeys()[f.Name] {
			if k.fallback != nil {
				full[key] = k.fallback
			}
		}
		_, got, err := Read(NewConfig("config.json", empty))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		_, want, err := Read(NewConfig("config.json", full))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if len(got.Remarks) == 0 || want.Remarks != nil {
			t.Errorf("%s: remarks %q without keys, %q with all", f.Name, got.Remarks, want.Remarks)
		}
		got.Remarks = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-with all defaults +without keys):\n%s", f.Name, d)
		}
	}
}

// TestNotNumbers: NaN and infinity, which Python reads as numbers, are not what any key may have.
func TestNotNumbers(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"rms_norm_eps", "NaN", "rms_norm_eps is NaN; it must be a number above 0 and below 1"},
		{"rope_theta", "Infinity", "rope_theta is Infinity; it must be a number above 1"},
		{"hidden_size", "-Infinity", "hidden_size is -Infinity; it must be a whole number"},
		{"bos_token_id", "NaN", "bos_token_id is NaN; it must be a whole number"},
	} {
		values := with(t, "llama", map[string]string{"rope_parameters": ""})
		values[c.key] = json.Number(c.value)
		if _, _, err := Read(NewConfig("config.json", values)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// TestLoaderKeys: keys that transformers and related tools write for themselves are accepted. Keys
// that change the weights are not.
func TestLoaderKeys(t *testing.T) {
	changes := map[string]string{"tie_encoder_decoder": "false", "unsloth_fixed": "true"}
	for _, key := range strings.Fields(`_name_or_path _model_name_or_path name_or_path _commit_hash _attn_implementation
		_attn_implementation_internal _attn_implementation_autoset transformers_version _auto_class _experts_implementation`) {
		changes[key] = `"x"`
	}
	for _, golden := range []string{"gemma2", "bert", "falcon7"} {
		if _, _, err := Read(NewConfig("config.json", with(t, golden, changes))); err != nil {
			t.Errorf("%s: %v", golden, err)
		}
		refused := with(t, golden,
			map[string]string{"quantization_config": `{"quant_method":"gptq"}`})
		if _, _, err := Read(NewConfig("config.json", refused)); err == nil ||
			!strings.Contains(err.Error(), "quantization_config: weights are quantised (GPTQ);") {
			t.Errorf("%s: error %v, want one about quantization_config", golden, err)
		}
	}
}

// TestNullWindow: null means no window for those families for which it does in the reference
// implementation.
func TestNullWindow(t *testing.T) {
	for golden, changes := range map[string]map[string]string{
		"mistral":      {"sliding_window": "null"},
		"phi3":         {"sliding_window": "null"},
		"qwen2_window": {"sliding_window": "null", "layer_types": ""},
		"qwen2":        {"sliding_window": "0", "use_sliding_window": "false"},
		"qwen3":        {"layer_types": `["attention","attention","full_attention"]`},
	} {
		_, spec, err := Read(NewConfig("config.json", with(t, golden, changes)))
		if err != nil {
			t.Errorf("%s: %v", golden, err)
		} else if spec.Windows != nil {
			t.Errorf("%s has windows %v, want none", golden, spec.Windows)
		}
	}
}

// TestLabelsOfAnotherNumber: num_labels counts if id2label has another number of names, as in the
// reference implementation.
func TestLabelsOfAnotherNumber(t *testing.T) {
	_, spec, err := Read(NewConfig("config.json",
		with(t, "bert_cls", map[string]string{"num_labels": "5"})))
	must(t, err)
	if spec.Classes != 5 || spec.Labels != nil {
		t.Errorf("%d classes with labels %q, want 5 without", spec.Classes, spec.Labels)
	}
}

// TestManyLabels: a classifier may have many classes, and some of their names may be missing.
func TestManyLabels(t *testing.T) {
	const n = 3000
	labels := map[string]string{}
	for i := range n {
		labels[fmt.Sprint(i)] = fmt.Sprintf("intent %d", i)
	}
	text, err := json.Marshal(labels)
	must(t, err)
	_, spec, err := Read(NewConfig("config.json",
		with(t, "bert_cls", map[string]string{"id2label": string(text)})))
	must(t, err)
	if spec.Classes != n || len(spec.Labels) != n || spec.Labels[n-1] != "intent 2999" {
		t.Errorf("%d classes with %d labels, want %d", spec.Classes, len(spec.Labels), n)
	}
	_, spec, err = Read(NewConfig("config.json",
		with(t, "bert_cls", map[string]string{"id2label": `{"1":5,"2":"bad"}`})))
	must(t, err)
	if spec.Classes != 2 || spec.Labels[0] != "" || spec.Labels[1] != "5" {
		t.Errorf("classes %d with labels %q, want 2 with the name 5 of class 1", spec.Classes,
			spec.Labels)
	}
}

// TestWeightRefusals provokes each error text for a checkpoint whose tensors do not fit its
// configuration.
func TestWeightRefusals(t *testing.T) {
	var gpt2 published
	for _, c := range readPublished(t) {
		if c.Name == "openai-community/gpt2" {
			gpt2 = c
		}
	}
	for _, c := range []struct {
		name   string
		config func(config string) string
		change func(h header)
		want   string
	}{
		{
			"no embedding", nil, func(h header) { delete(h, "transformer.wte.weight") },
			"family: model.safetensors: tensor wte.weight is missing, with transformer. before " +
				"its name or without",
		},
		{
			"missing", nil, func(h header) { delete(h, "transformer.h.11.mlp.c_fc.bias") },
			"tensor transformer.h.11.mlp.c_fc.bias is missing",
		},
		{
			"missing beside the blocks", nil,
			func(h header) { delete(h, "transformer.wpe.weight") }, "tensor wpe.weight is missing",
		},
		{
			"shape", nil, func(h header) {
				h["transformer.h.3.mlp.c_fc.weight"] = []int{3072, 768}
			},
			"tensor transformer.h.3.mlp.c_fc.weight has shape [3072 768]; config.json makes it " +
				"[768 3072]",
		},
		{
			"shape of a fused bias", nil,
			func(h header) { h["transformer.h.3.attn.c_attn.bias"] = []int{768} },
			"has shape [768]; config.json makes it [2304]",
		},
		{
			"no head", func(s string) string {
				return strings.Replace(s, `"vocab_size"`,
					`"tie_word_embeddings":false,"vocab_size"`, 1)
			},
			func(header) {
			}, "tensor lm_head.weight is missing, and tie_word_embeddings of config.json is false",
		},
		{
			"unknown in a block", nil,
			func(h header) { h["transformer.h.0.ln_3.weight"] = []int{768} },
			"tensor transformer.h.0.ln_3.weight has no place in the gpt2 that config.json " +
				"describes",
		},
		{
			"a layer too many", nil,
			func(h header) { h["transformer.h.12.ln_1.weight"] = []int{768} },
			"tensor transformer.h.12.ln_1.weight has no place",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := string(gpt2.Config)
			if c.config != nil {
				text = c.config(text)
			}
			f, spec, err := read(t, text)
			must(t, err)
			tensors := whole(gpt2.Tensors, spec.Layers)
			c.change(tensors)
			if _, err := f.Loader("model.safetensors", tensors, spec); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestSharedPrefix: a prefix before all names of tensors is cut off with a remark; one before some
// of them is not.
func TestSharedPrefix(t *testing.T) {
	for _, c := range readPublished(t) {
		if c.Name != "openai-community/gpt2" && c.Name != "google-bert/bert-base-uncased" {
			continue
		}
		for _, prefix := range []string{
			"_orig_mod.", "module.", "base_model.model.", "_orig_mod.module.", "0.auto_model.",
		} {
			f, s, err := read(t, string(c.Config))
			must(t, err)
			tensors := header{}
			for name, shape := range whole(c.Tensors, s.Layers) {
				tensors[prefix+name] = shape
			}
			if _, err := f.Loader("x/model.safetensors", zeros{tensors}, s); err != nil {
				t.Errorf("%s after %s: %v", c.Name, prefix, err)
			}
			want := "model.safetensors: all names of tensors begin with " + prefix
			if len(s.Remarks) == 0 || !strings.HasPrefix(s.Remarks[len(s.Remarks)-1], want) {
				t.Errorf("%s after %s: remarks %q", c.Name, prefix, s.Remarks)
			}
			tensors["other.weight"] = []int{1}
			if _, err := f.Loader("x/model.safetensors", zeros{tensors}, s); err == nil ||
				!strings.Contains(err.Error(), "is missing") {
				t.Errorf("%s after %s and another name: error %v", c.Name, prefix, err)
			}
		}
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""}, {[]string{"a.b.c"}, "a.b."}, {[]string{"a.b.c", "a.bc.d"}, "a."},
		{[]string{"", "a."}, ""}, {[]string{"ab", "ac"}, ""},
	} {
		if got := sharedPrefix(c.names); got != c.want {
			t.Errorf("sharedPrefix(%q) = %q, want %q", c.names, got, c.want)
		}
	}
}

// TestNames: tensors are found with and without the prefix, buffers are ignored, and the first
// BERTs call gains gamma.
func TestNames(t *testing.T) {
	for _, c := range readPublished(t) {
		if c.Name != "openai-community/gpt2" && c.Name != "google-bert/bert-base-uncased" {
			continue
		}
		f, spec, err := read(t, string(c.Config))
		must(t, err)
		tensors := header{"h.0.attn.bias": {1, 1, 1024, 1024}}
		for name, shape := range whole(c.Tensors, spec.Layers) {
			name = strings.TrimPrefix(name, "transformer.")
			name = strings.Replace(name, "LayerNorm.weight", "LayerNorm.gamma", 1)
			tensors[strings.Replace(name, "LayerNorm.bias", "LayerNorm.beta", 1)] = shape
		}
		if _, err := f.Loader("model.safetensors", tensors, spec); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
