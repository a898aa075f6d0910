package aggregation_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// New starts an empty text, and Extend returns the result of its new targets at every level. Two
// layers of two tokens: the second takes half of itself from the first in each layer, so after two
// layers it has ¾ from it.
func ExampleState_Extend() {
	rollout, err := aggregation.Lookup("rollout")
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := aggregation.Config{Layers: 2}
	state := rollout.New(cfg)
	rows := aggregation.Rows{L: 2, N: 2, Data: []float64{
		1, 0, .5, .5, // layer 0
		1, 0, .5, .5, // layer 1
	}}
	result, err := state.Extend(context.Background(), nil, rows) // [K,N,T]
	if err != nil {
		fmt.Println(err)
		return
	}
	T := rows.T()
	for level := range cfg.Levels() {
		fmt.Println("level", level, "token 1 from each token:", result[(level*rows.N+1)*T:][:T])
	}
	// Output:
	// level 0 token 1 from each token: [0.5 0.5]
	// level 1 token 1 from each token: [0.75 0.25]
}

// Flow asks another question of the same rows: each source for itself, how much could pass. So its
// values add up to more than 1.
func ExampleAggregation_flow() {
	rows := aggregation.Rows{L: 2, N: 2, Data: []float64{1, 0, .5, .5, 1, 0, .5, .5}}
	for _, name := range []string{"layer", "rollout", "flow"} {
		a, err := aggregation.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		state := a.New(aggregation.Config{Layers: 2, TopOnly: true})
		r, err := state.Extend(context.Background(), nil, rows)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, r[2:])
	}
	// Output:
	// layer [0.5 0.5]
	// rollout [0.75 0.25]
	// flow [1 0.5]
}

// With a residual weight of ½, half of each row is the token itself, and half is what the mixing
// says.
func ExampleNormalization_Apply() {
	c := aggregation.Rows{L: 1, N: 2, Data: []float64{1, 0, .5, .5}}
	half := aggregation.Normalization{Residual: .5}
	rows, zeros := half.Apply(c, aggregation.Config{Layers: 1})
	fmt.Println(rows.Row(0, 0), rows.Row(0, 1), len(zeros))
	// Output: [1 0] [0.25 0.75] 0
}

// A model returns the rows of a step in float32, over a cache with free places. A reader takes the
// layers and the sources that count.
func ExampleReader_Read() {
	reader := aggregation.Reader{
		First: 0, Last: 0,
		Asks: []trace.MixingAsk{{Name: "attention", AllRows: true}},
	}
	step := trace.Step{Count: 2, Rows: []trace.Rows{{
		L: 1, H: 1, N: 2, S: 3, Data: []float32{1, 0, 0, .25, .75, 0},
	}}}
	rows, err := reader.Read(step, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows[0].Row(0, 0), rows[0].Row(0, 1))
	step.Rows[0].Data[3] = -1
	_, err = reader.Read(step, 0)
	fmt.Println(err)
	// Output:
	// [1 0] [0.25 0.75]
	// rows of attention: layer 0 target 1 source 0 is -1; want a number of 0 or more
}
