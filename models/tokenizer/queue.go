package tokenizer

// queue is a binary heap. Its first element comes before all others.
type queue[E interface{ Before(E) bool }] []E

func (q *queue[E]) push(e E) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.Before(h[up]) {
			break
		}
		h[i], i = h[up], up
	}
	h[i] = e
	*q = h
}

// pop removes and returns the first element. It panics if the queue is empty.
func (q *queue[E]) pop() E {
	h := *q
	top, e := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].Before(h[down]) {
			down++
		}
		if down >= len(h) || !h[down].Before(e) {
			break
		}
		h[i], i = h[down], down
	}
	if len(h) > 0 {
		h[i] = e
	}
	*q = h
	return top
}
