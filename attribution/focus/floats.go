package focus

import "iter"

// floats are those of a tensor or of a part of one: float32, or float64 where a file has them. One
// of both is nil.
type floats struct {
	narrow []float32
	wide   []float64
}

func (x floats) len() int { return len(x.narrow) + len(x.wide) }

// part returns the numbers [begin,end). It aliases x.
func (x floats) part(begin, end int) floats {
	if x.wide != nil {
		return floats{wide: x.wide[begin:end:end]}
	}
	return floats{narrow: x.narrow[begin:end:end]}
}

// all returns every number with its index.
func (x floats) all() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		for i, v := range x.wide {
			if !yield(i, v) {
				return
			}
		}
		for i, v := range x.narrow {
			if !yield(i, float64(v)) {
				return
			}
		}
	}
}

// find returns the index of the first number for which is is true, and the number; -1 if there is
// none.
func (x floats) find(is func(float64) bool) (int, float64) {
	for i, v := range x.all() {
		if is(v) {
			return i, v
		}
	}
	return -1, 0
}
