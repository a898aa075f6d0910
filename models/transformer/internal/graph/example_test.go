package graph_test

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/headwater-ml/headwater/models/spec"
	"github.com/headwater-ml/headwater/models/transformer/internal/graph"
)

// One block of a Llama reads three tokens. Its spec has the sizes, and [spec.Spec.Params] are
// the weights; here they are a wave instead of a checkpoint.
// The attention is that of the equations written out in Python.
func Example() {
	llama := &spec.Spec{
		Family: "llama", Layers: 1, Width: 8, FeedForward: 16, Vocab: 10, Context: 32,
		Heads: 2, KeyValueHeads: 1, HeadWidth: 4,
		Positions: spec.RotaryPositions, Rotary: &spec.Rotary{Frequencies: []float32{1, 0.1}},
		RMS: true, NormEpsilon: 1e-6, Gated: true, Activation: spec.SiLU,
		Head: spec.LanguageHead,
	}
	if err := llama.Check(); err != nil {
		fmt.Println(err)
		return
	}
	backend, err := compute.NewWithConfig("go")
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := ExecOnceN(backend, func(g *Graph) []*Node {
		weights := map[string]*Node{}
		for _, p := range llama.Params() {
			wave := make([]float32, p.Size())
			for i := range wave {
				wave[i] = float32(math.Sin(float64(i*i + len(p.Name))))
			}
			weights[p.Name] = Reshape(Const(g, wave), p.Shape...)
		}
		d := graph.NewBuilder(llama, func(name string) *Node { return weights[name] }, graph.Text{
			IDs: Const(g, [][]int32{{7, 1, 4}}), Length: Scalar(g, dtypes.Int32, 3),
		})
		block, _ := d.Block(0, d.Embed())
		return []*Node{block.Attention, block.Output}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	attention, output := out[0], out[1]
	fmt.Println("attention [B,H,N,S]", attention.Shape().Dimensions)
	for h, rows := range attention.Value().([][][][]float32)[0] {
		for t, row := range rows {
			fmt.Printf("head %d, token %d: %.2f\n", h, t, row)
		}
	}
	fmt.Println("output [B,N,D]", output.Shape().Dimensions)
	// Output:
	// attention [B,H,N,S] [1 2 3 3]
	// head 0, token 0: [1.00 0.00 0.00]
	// head 0, token 1: [0.70 0.30 0.00]
	// head 0, token 2: [0.72 0.28 0.00]
	// head 1, token 0: [1.00 0.00 0.00]
	// head 1, token 1: [0.08 0.92 0.00]
	// head 1, token 2: [0.76 0.14 0.09]
	// output [B,N,D] [1 3 8]
}
