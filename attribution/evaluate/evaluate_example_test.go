package evaluate_test

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/evaluate"
)

// Two of five tokens are known to matter. The scores rank them first and third.
func ExampleAlign() {
	scores := []float64{0.1, 0.5, 0.2, 0.15, 0.05}
	cue := []bool{false, true, false, true, false}
	c := evaluate.Align(scores, cue)
	fmt.Printf("dot %.2f, average precision %.3f\n", float64(c.Dot), c.AveragePrecision)
	// Output:
	// dot 0.65, average precision 0.833
}

// sumText is a text whose prediction is the sum of one number for each token that is left. With a
// model, [scorer.NewRemoval] returns such a text.
type sumText []float64

func (a sumText) Removable() []int {
	var all []int
	for j := range a {
		all = append(all, j)
	}
	return all
}

func (a sumText) Predict(_ context.Context, sets [][]int) ([]float64, error) {
	var all []float64
	for _, removed := range sets {
		f := 0.0
		for _, x := range a {
			f += x
		}
		for _, j := range removed {
			f -= a[j]
		}
		all = append(all, f)
	}
	return all, nil
}

func (a sumText) Soft(context.Context, []float64, int) (float64, error) { return 0, nil }

// The prediction falls fast if the tokens that matter are removed first.
func ExampleFaithful() {
	text := sumText{0.5, 0.25, 0.125, 0.125}
	for _, scores := range [][]float64{{4, 3, 2, 1}, {1, 2, 3, 4}} {
		f, err := evaluate.Faithful(context.Background(), text, scores, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("f without the first k tokens %.3f, AOPC %.3f\n", f.Deletion, f.AOPC)
	}
	// Output:
	// f without the first k tokens [1.000 0.500 0.250 0.125 0.000], AOPC 0.781
	// f without the first k tokens [1.000 0.875 0.750 0.500 0.000], AOPC 0.469
}

// Labels that a feature knows have a short code. A constant feature leaves how often each label
// comes: 2 of 7 are 1, so 0.86 bits each.
func ExampleOnlineCode() {
	const n = 256
	var known, nothing []float32
	var labels []int
	for i := range n {
		label := i * i % 7 % 2
		labels = append(labels, label)
		known, nothing = append(known, float32(label)), append(nothing, 1)
	}
	for _, features := range [][]float32{known, nothing} {
		c, err := evaluate.OnlineCode(context.Background(), features, labels, 2,
			evaluate.ProbeOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f bits of %d, compression %.2f\n", c.Bits, n, float64(c.Compression))
	}
	// Output:
	// 15.2 bits of 256, compression 16.79
	// 221.9 bits of 256, compression 1.15
}
