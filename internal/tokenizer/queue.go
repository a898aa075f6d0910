package tokenizer

// queue is a binary heap. Its first element comes before all others. The children of element i are
// 2i+1 and 2i+2, and neither comes before it.
type queue[E interface{ Before(E) bool }] []E

// push adds an element. It begins at the end and moves up while it comes before its parent, in a
// number of steps that is the logarithm of the length.
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
		// The last element takes the place of the first and moves down, each time to the child that
		// comes first.
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
