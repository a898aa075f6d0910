package checkpoint_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/headwater-ml/headwater/models/checkpoint"
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
	fmt.Println(err)
	// Output:
	// bias F32 [2] ids I32 [1 3] [0.5 -1] <nil> checkpoint: example.safetensors: tensor "ids" is
	// I32, not a floating-point type (F16, BF16, F32, F64)
}
