package family

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/testhelp"
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

// TestRefusals provokes each error text of a configuration: testdata/refusals.json changes keys of
// a golden's configuration.
func TestRefusals(t *testing.T) {
	var cases []struct {
		Name, Golden, Want string
		With               map[string]json.RawMessage
		Without            []string
	}
	data, err := os.ReadFile("testdata/refusals.json")
	must(t, err)
	must(t, json.Unmarshal(data, &cases))
	for _, c := range cases {
		changes := map[string]string{}
		for _, key := range c.Without {
			changes[key] = ""
		}
		for key, value := range c.With {
			changes[key] = string(value)
		}
		t.Run(c.Name, func(t *testing.T) {
			_, _, err := Read(NewConfig("config.json", with(t, c.Golden, changes)))
			if err == nil || !strings.Contains(err.Error(), c.Want) {
				t.Errorf("error %v, want one with %q", err, c.Want)
			}
			if err != nil && !strings.Contains(err.Error(), ": ") {
				t.Errorf("error %v does not say which package it is from", err)
			}
		})
	}
}

// TestUnknownArchitecture: the error lists the supported families, or of a known one the heads.
func TestUnknownArchitecture(t *testing.T) {
	_, _, err := read(t, `{"architectures":["MambaForCausalLM"],"model_type":"mamba"}`)
	if err == nil {
		t.Fatal("an unknown architecture is read")
	}
	for _, want := range []string{
		`architectures ["MambaForCausalLM"]`, `model_type "mamba"`,
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

// TestIgnoredValues: transformers 5.23 opens these files and computes what it computes of the
// golden, with the same seeded weights. It writes some of the values itself, as 0 for a pattern of
// windows where there are none.
func TestIgnoredValues(t *testing.T) {
	for _, c := range []struct{ golden, key, value string }{
		{"mpt", "max_seq_len", "4096"},
		{"mpt", "expansion_ratio", "2"},
		{"mpt", "no_bias", "false"},
		{"exaone4", "sliding_window_pattern", "0"},
		{"exaone4", "sliding_window_pattern", "null"},
		{"exaone4", "sliding_window_pattern", `"LLLG"`},
		{"gemma3", "sliding_window_pattern", "0"},
		{"gemma3", "_sliding_window_pattern", "0"},
		{"modernbert", "global_attn_every_n_layers", "0"},
		{"modernbert", "deterministic_flash_attn", "true"},
		{"modernbert", "sparse_prediction", "true"},
		{"modernbert", "sparse_pred_ignore_index", "0"},
		{"smollm3", "no_rope_layer_interval", "0"},
		{"codegen", "n_ctx", "4096"},
		{"mt5", "is_decoder", "true"},
		{"bigbird_pegasus", "is_decoder", "true"},
		{"falcon7", "new_decoder_architecture", "null"},
		{"falcon7", "bias", "null"},
	} {
		_, want, err := Read(NewConfig("config.json", with(t, c.golden, nil)))
		must(t, err)
		_, got, err := Read(NewConfig("config.json", with(t, c.golden, map[string]string{
			c.key: c.value,
		})))
		if err != nil {
			t.Errorf("%s with %s %s: %v", c.golden, c.key, c.value, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s with %s %s (-golden +got):\n%s", c.golden, c.key, c.value, diff)
		}
	}
	windowless := map[string]string{
		"sliding_window": "null", "sliding_window_pattern": "0",
		"layer_types": `["full_attention","full_attention","full_attention"]`,
	}
	_, s, err := Read(NewConfig("config.json", with(t, "exaone4", windowless)))
	if err != nil || s.Windows != nil || s.Unturned != nil {
		t.Errorf("exaone4 without windows: %+v, %v; want all layers turned", s, err)
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
		rows := referenceKeys()[NewConfig("config.json", nil).kind(f.Name)]
		if rows == nil {
			t.Errorf("reference.tsv has no rows of %s", f.Name)
			continue
		}
		if slices.Contains([]string{"granitemoehybrid", "deepseek_v2", "glm4_moe"}, f.Name) {
			// The default is a model of Mamba, which is refused, says not how many experts a token
			// passes, or has a width that the number of heads does not divide.
			continue
		}
		empty := map[string]any{"architectures": []any{f.Architectures[0]}}
		full := maps.Clone(empty)
		for key, k := range rows {
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
		missing := func(remark string) bool { return strings.Contains(remark, "is missing") }
		if len(got.Remarks) == 0 || slices.ContainsFunc(want.Remarks, missing) {
			t.Errorf("%s: remarks %q without keys, %q with all", f.Name, got.Remarks, want.Remarks)
		}
		got.Remarks, want.Remarks = nil, nil // some defaults lie outside the default vocabulary
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

var must = testhelp.Must // ends a test at an error
