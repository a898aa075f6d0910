package gguf_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/internal/gguf"
	"github.com/headwater-ml/headwater/internal/gguf/gguftest"
)

// The container alone: tensors under the names of the file, converted to float32.
func ExampleFromBytes() {
	f, err := gguf.FromBytes("small.gguf", gguftest.Small().Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, name := range f.Names()[:3] {
		kind, _ := f.Type(name)
		shape, _ := f.Shape(name)
		fmt.Println(name, kind, shape)
	}
	row := make([]float32, 32)
	fmt.Println(f.Float32At(row, "output_norm.weight", 0), row[0])
	// Output:
	// blk.0.attn_k.weight Q4_0 [16 32]
	// blk.0.attn_norm.weight F32 [32]
	// blk.0.attn_output.weight Q4_0 [32 32]
	// <nil> 0
}

// The file as a model: its settings under the keys of config.json.
func ExampleNewModel() {
	f, err := gguf.FromBytes("small.gguf", gguftest.Small().Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := gguf.NewModel(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for _, key := range []string{"architectures", "hidden_size", "rms_norm_eps", "vocab_size"} {
		fmt.Println(key, m.Config[key])
	}
	// Output:
	// architectures [LlamaForCausalLM]
	// hidden_size 32
	// rms_norm_eps 1e-05
	// vocab_size 32
}
