package family

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// readBytes limits what reading a configuration may allocate: the slopes or frequencies for the
// largest accepted number of heads or width of a head, and a few times the text itself.
const readBytes = 8 << 20

// FuzzRead: whatever the configuration says, reading it ends with an error, or with a valid spec
// for whose parameters the family has tensors. No number in it makes the memory grow.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"config.json", "config.v4.json"} {
		for _, text := range goldenConfigs(f, file) {
			f.Add([]byte(text))
		}
	}
	for _, c := range readPublished(f) {
		f.Add([]byte(c.Config))
	}
	for _, text := range hostile() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		values, err := decode(data)
		if err != nil {
			return
		}
		family, spec, err := Read(NewConfig("config.json", values))
		if err != nil {
			return
		}
		if err := spec.Check(); err != nil {
			t.Errorf("Read returns a spec that does not hold together: %v", err)
		}
		spec.Layers = 1 // the others have the same parameters
		for _, p := range spec.Params() {
			if _, err := family.sources(spec, p.Name); err != nil {
				t.Error(err)
			}
		}
	})
}

// hostile returns configurations whose numbers and lists are far too large.
func hostile() []string {
	const most = "2147483647"
	var texts []string
	for _, name := range Names() {
		for _, size := range []string{most, "-" + most, "0", "1", "65536"} {
			texts = append(texts, hostileSizes(mustFamily(name).Architectures[0], size))
		}
	}
	return append(texts,
		`{"architectures":[3],"eos_token_id":[[]],"model_type":{}}`,
		`{"architectures":["LlamaForCausalLM"],"layer_types":[`+
			strings.Repeat(`"sliding_attention",`, 1000)+`1]}`,
		`{"architectures":["BloomForCausalLM"],"n_head":`+most+`,"hidden_size":`+most+
			`,"n_layer":1,"vocab_size":1}`,
	)
}

// hostileSizes returns a configuration with the same value for every size that any family reads.
func hostileSizes(architecture, size string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"architectures":[%q]`, architecture)
	for _, key := range strings.Fields(`n_layer num_hidden_layers n_layers n_head num_attention_heads n_heads hidden_size n_embd dim vocab_size
		n_positions max_position_embeddings intermediate_size ffn_dim hidden_dim num_key_value_heads num_kv_heads head_dim sliding_window
		type_vocab_size embedding_size word_embed_proj_dim pad_token_id`) {
		fmt.Fprintf(&b, ",%q:%s", key, size)
	}
	return b.String() + "}"
}

// TestReadingStaysSmall: no number of a configuration makes memory grow.
func TestReadingStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("reads megabytes of configuration")
	}
	var keys, list strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&keys, `"%d":"",`, i)
		list.WriteString("1,")
	}
	for _, text := range append(hostile(),
		`{"architectures":["BertForSequenceClassification"],"id2label":{`+keys.String()+`"x":""}}`,
		`{"architectures":["BertForMaskedLM"],`+keys.String()+`"x":""}`,
		`{"architectures":["LlamaForCausalLM"],"hidden_size":[`+list.String()+`1]}`,
		`{"architectures":["LlamaForCausalLM"],"eos_token_id":[`+list.String()+`1]}`,
		`{"architectures":["`+list.String()+`"]}`,
	) {
		values, err := decode([]byte(text))
		must(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err = Read(NewConfig("config.json", values))
		runtime.ReadMemStats(&after)
		got, most := after.TotalAlloc-before.TotalAlloc, uint64(readBytes+20*len(text))
		if got > most {
			t.Errorf("reading %.200s allocates %d bytes, want at most %d", text, got, most)
		}
		if err != nil && len(err.Error()) > 10_000 {
			t.Errorf("reading %.200s says %d bytes: %.200s", text, len(err.Error()), err)
		}
	}
}
