package checkpoint

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestForeignWeights(t *testing.T) {
	const gpt2 = `{"architectures":["GPT2LMHeadModel"]}`
	cases := []struct {
		name, config string
		files        []string
		want         string
	}{
		{
			"pickle", gpt2,
			[]string{"pytorch_model.bin", "tf_model.h5"},
			"m has no model.safetensors: file does not exist; found pytorch_model.bin: convert " +
				"it once in Python:\n" +
				"\tfrom transformers import " +
				"GPT2LMHeadModel\n\tGPT2LMHeadModel.from_pretrained(\"m\").save_pretrained(\"m\")",
		},
		{
			"sharded pickle", `{}`,
			[]string{"pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"},
			"found pytorch_model.bin.index.json: convert it once in Python:\n\tfrom transformers " +
				"import AutoModelForCausalLM\n",
		},
		{"TensorFlow", gpt2, []string{"tf_model.h5"}, `GPT2LMHeadModel.from_pretrained("m", from_tf=True)`},
		{"Flax", gpt2, []string{"flax_model.msgpack"}, `GPT2LMHeadModel.from_pretrained("m", from_flax=True)`},
		{"GGUF", gpt2, []string{"x.gguf"}, "found x.gguf: name that file instead of the directory"},
		{"GGUF files", gpt2, []string{"x.gguf", "y.gguf"}, "found x.gguf, y.gguf: name one of these files instead of the directory"},
		{"GGUF alone", "", []string{"x.gguf"}, `m has no config.json: file does not exist; found x.gguf: name that file`},
		{
			"bare state", gpt2,
			[]string{"consolidated.00.pth"},
			`torch.load(os.path.join("m", "consolidated.00.pth"), map_location="cpu", ` +
				`weights_only=True)`,
		},
		{"adapter", gpt2, []string{"adapter_model.safetensors"}, `AutoPeftModelForCausalLM.from_pretrained("m").merge_and_unload()`},
		{"name within quotes", gpt2, []string{`"DIR.pt`}, `os.path.join("m", "\"DIR.pt")`},
		{
			"training leftovers", gpt2,
			[]string{"optimizer.pt", "rng_state_0.pth"},
			"file does not exist; found config.json, optimizer.pt, rng_state_0.pth",
		},
		{"class that is code", `{"architectures":["os; os.remove"]}`, []string{"pytorch_model.bin"}, "import AutoModelForCausalLM\n"},
		{"pickle without config", "", []string{"pytorch_model.bin"}, "m has no config.json: file does not exist; found pytorch_model.bin"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			if c.config != "" {
				files["config.json"] = c.config
			}
			for _, f := range c.files {
				files[f] = ""
			}
			_, err := FromFS(mapFS(files), "m")
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want fs.ErrNotExist with %q", err, c.want)
			}
		})
	}
}

func TestForeignTokenizers(t *testing.T) {
	const convert = ": convert it once in Python:\n\tfrom transformers import AutoTokenizer\n" +
		"\tAutoTokenizer.from_pretrained(\"m\", use_fast=True).save_pretrained(\"m\")"
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"WordPiece":     {[]string{"vocab.txt"}, "m has no tokenizer.json: file does not exist; found vocab.txt" + convert},
		"BPE":           {[]string{"vocab.json", "merges.txt"}, "found merges.txt" + convert},
		"SentencePiece": {[]string{"tokenizer.model"}, "found tokenizer.model" + convert},
		"none":          {nil, "m has no tokenizer.json: file does not exist"},
	} {
		files := map[string]string{"config.json": "{}", "model.safetensors": string(weights(t))}
		for _, f := range c.files {
			files[f] = ""
		}
		d, err := FromFS(mapFS(files), "m")
		must(t, err)
		if _, err := d.TokenizerJSON(); d.HasTokenizer() || err == nil ||
			!strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that ends in %q", name, err, c.want)
		}
	}
}
