package family_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/spec"
)

// config is what a checkpoint's config.json holds once it is decoded.
func config() map[string]any {
	return map[string]any{
		"architectures": []any{"GPT2LMHeadModel"}, "model_type": "gpt2",
		"n_layer": json.Number("12"), "n_head": json.Number("12"), "n_embd": json.Number("768"),
		"vocab_size": json.Number("50257"), "n_positions": json.Number("1024"),
	}
}

func ExampleRead() {
	f, spec, err := family.Read(family.NewConfig("config.json", config()))
	fmt.Println(f.Name, spec.Layers, spec.Heads, spec.HeadWidth, err)
	wrong := config()
	wrong["n_head"] = json.Number("7")
	_, _, err = family.Read(family.NewConfig("config.json", wrong))
	fmt.Println(err)
	// Output:
	// gpt2 12 12 64 <nil>
	// family: config.json: n_embd (768) must be a multiple of the number of heads, n_head (7)
}

// A family of a new architecture is data. Keys that it does not read are an error, so that nothing
// that changes the arithmetic is ignored.
func ExampleRegister() {
	family.Register(&family.Family{
		Name:          "my_gpt",
		Architectures: []string{"MyGPTForCausalLM"},
		Spec: func(c *family.Config) (*spec.Spec, error) {
			layers, width := c.Size("Layers", "layers"), c.Size("Width", "width")
			heads := c.SizeOr(4, "Heads", "heads")
			return &spec.Spec{
				Family: "my_gpt", Layers: layers, Heads: heads, Width: width,
				HeadWidth: width / heads, FeedForward: 4 * width,
				Vocab: c.Size("Vocab", "vocab_size"), Context: 128, NormEpsilon: 1e-5, BOS: -1,
			}, nil
		},
	})
	values := map[string]any{
		"architectures": []any{"MyGPTForCausalLM"}, "layers": json.Number("2"),
		"width": json.Number("32"), "vocab_size": json.Number("100"), "torch_dtype": "float16",
	}
	_, spec, err := family.Read(family.NewConfig("config.json", values))
	fmt.Println(spec.Layers, spec.Heads, spec.HeadWidth, err)
	values["new_trick"] = true
	_, _, err = family.Read(family.NewConfig("config.json", values))
	reason, _, _ := strings.Cut(err.Error(), ", and")
	fmt.Println(reason)
	// Output:
	// 2 4 8 <nil>
	// family: config.json: key new_trick is not supported: it may change the arithmetic
}
