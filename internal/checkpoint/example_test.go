package checkpoint_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"github.com/headwater-ml/headwater/internal/checkpoint"
)

func Example() {
	var b bytes.Buffer
	err := checkpoint.Write(&b, []checkpoint.Tensor{
		{Name: "bias", Shape: []int{2}, Data: []float32{0.5, -1}},
		{Name: "ids", Shape: []int{1, 3}, Data: []int32{5, 6, 7}},
	}, map[string]string{"made-by": "an example"})
	if err != nil {
		log.Fatal(err)
	}
	f, err := checkpoint.FromBytes("example.safetensors", b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range f.Names() {
		dtype, _ := f.DType(name)
		shape, _ := f.Shape(name)
		fmt.Println(name, dtype, shape)
	}
	bias, err := f.Float32("bias")
	fmt.Println(bias, err)
	_, err = f.Float32("ids")
	fmt.Println(strings.TrimPrefix(err.Error(), "checkpoint: "))
	// Output:
	// bias F32 [2]
	// ids I32 [1 3]
	// [0.5 -1] <nil>
	// example.safetensors: tensor "ids" is I32, not a floating-point type (F16, BF16, F32, F64)
}

// A directory in the layout of Hugging Face is opened as a whole: configuration and weights.
func ExampleOpenDir() {
	dir, err := checkpoint.OpenDir("../../models/testdata/goldens/gpt2")
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()
	fmt.Println(dir.Config["architectures"], dir.HasTokenizer())
	for _, name := range dir.Weights.Names()[:3] {
		shape, _ := dir.Weights.Shape(name)
		fmt.Println(name, shape)
	}
	// Output:
	// [GPT2LMHeadModel] false
	// transformer.h.0.attn.c_attn.bias [96]
	// transformer.h.0.attn.c_attn.weight [32 96]
	// transformer.h.0.attn.c_proj.bias [32]
}

// An error names the file that is wrong, and tells what to do.
func ExampleOpenDir_error() {
	_, err := checkpoint.OpenDir("../../models/testdata/goldens")
	fmt.Println(strings.SplitAfter(err.Error(), "config.json")[0])
	// Output: checkpoint: ../../models/testdata/goldens has no config.json
}

// A part of a tensor is read without the rest: here row 2 of the token embedding, [V,D].
func ExampleFile_Float32At() {
	dir, err := checkpoint.OpenDir("../../models/testdata/goldens/gpt2")
	if err != nil {
		log.Fatal(err)
	}
	defer dir.Close()
	shape, err := dir.Weights.Shape("transformer.wte.weight")
	if err != nil {
		log.Fatal(err)
	}
	row := make([]float32, shape[1])
	err = dir.Weights.Float32At(row, "transformer.wte.weight", 2*shape[1])
	whole, _ := dir.Weights.Float32("transformer.wte.weight")
	fmt.Println(shape, err, row[0] == whole[2*shape[1]])
	// Output: [96 32] <nil> true
}
