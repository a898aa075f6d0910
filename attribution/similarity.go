package attribution

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/rowmath"
)

// Similarity returns how alike the hidden states of a target and of the sources up to it are, after
// each layer:
//
//	M[l,t,s] = x_t·x_s / (‖x_t‖ ‖x_s‖),  x = hidden[l+1],  s ≤ t
//
// It describes states and does not explain a prediction: two states may be alike although nothing
// was moved between their tokens. The cosines of many models are all close to 1, because a few
// numbers of each state are large.
//
// The input has the tensor "hidden", [L+1,T,D]: the states before each layer and after the last
// one. The first of them is not shown. With fewer states there are fewer layers. The result is
// [L,T,T]; sources after the target have 0. It costs L·T²·D/2 multiplications and needs 8·L·T²
// bytes and a state of each token.
//
// The error names the tensor, its shape and what is needed, or the number that is NaN or infinite,
// or the token whose state is zero. It is a [trace.MemoryError] if the result is more than the
// budget. If ctx is done it wraps ctx.Err().
func Similarity(ctx context.Context, in Input) (*Map, error) {
	hidden, ok := in.named(string(trace.Hidden))
	if !ok {
		return nil, pkg.Errorf("there is no tensor %q", trace.Hidden)
	}
	shape := hidden.Shape
	if len(shape) != 3 || shape[0] < 2 || slices.Min(shape) < 1 {
		return nil, pkg.Errorf("tensor %q has shape %v; want [L+1,T,D]: the states "+
			"before each layer and after the last, tokens, width, without an axis of the batch",
			hidden.Name, shape)
	}
	if hidden.wrong != nil {
		return nil, pkg.Errorf("tensor %q: %w", hidden.Name, hidden.wrong)
	}
	L, T, D := shape[0]-1, shape[1], shape[2]
	need := 8*float64(L)*float64(T)*float64(T) + (4*float64(D)+8)*float64(T)
	what := fmt.Sprintf("the similarity of the states of %d tokens in %d layers", T, L)
	if err := in.checkNeed(need, what); err != nil {
		return nil, err
	}
	m := &Map{
		Options: map[string]string{"tensor": hidden.Name}, Facts: Facts{Quantity: Cosine},
		Shape: [3]int{L, T, T}, Data: make([]float64, L*T*T), Unit: "cosine of hidden states",
	}
	states, lengths := make([]float32, T*D), make([]float64, T)
	for n := range L + 1 {
		if err := readStates(states, hidden, n, T); err != nil {
			return nil, pkg.Errorf("tensor %q: %w", hidden.Name, err)
		}
		if n == 0 {
			continue
		}
		m.Layers = append(m.Layers, n-1)
		for t := range T {
			if err := ctx.Err(); err != nil {
				return nil, pkg.Errorf("tensor %q: stopped at layer %d of %d: %w",
					hidden.Name, n-1, L, err)
			}
			x := states[t*D:][:D]
			if lengths[t] = math.Sqrt(dot(x, x)); lengths[t] == 0 {
				return nil, pkg.Errorf("tensor %q: state %d of token %d is zero, "+
					"which has no direction", hidden.Name, n, t)
			}
			row := m.Row(n-1, t)
			for s := range t {
				// Rounding may take the cosine of parallel vectors out of its range.
				c := dot(x, states[s*D:][:D]) / lengths[t] / lengths[s]
				row[s] = min(1, max(-1, c))
			}
			row[t] = 1
		}
	}
	return m, nil
}

// readStates reads state n of T tokens, [T,D], and checks its numbers.
func readStates(dst []float32, hidden TensorReader, n, T int) error {
	if err := hidden.Read(dst, n*len(dst)); err != nil {
		return err
	}
	if i := slices.IndexFunc(dst, rowmath.NotFinite[float32]); i >= 0 {
		D := len(dst) / T
		return fmt.Errorf("state %d token %d number %d is %v; want a finite number", n, i/D, i%D,
			dst[i])
	}
	return nil
}
