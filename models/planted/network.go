package planted

// Sizes and strengths.
const (
	// context is how many positions there are, <bos> among them.
	context = 32
	// unit is u, what one feature is in the residual stream; behind a norm it is 1.
	unit = 1.0 / (1 << 20)
	// epsilon is that of norms, whose root is ½, and gain makes the norm of u 1.
	epsilon = 0.25
	gain    = 0.5 / unit
	// sharp is the score of what a head looks for, and halfway that of <bos>, which it reads if there is none: exp(-128) is 0 in float32.
	sharp   = 256
	halfway = sharp / 2
	// strength is the logit of a word whose feature of the answer is 1.
	strength = 16
)

// network is a transformer over features, before they become pairs of numbers.
type network struct {
	features int
	// word and position are what the embedding gives each token, and answer what the head reads: the logit of each word.
	word, position, answer area
	blocks                 []*block
}

// area is some neighbouring features; area + i is its feature i.
type area int

// newNetwork returns a network with the three areas that all have, and nothing between them.
func newNetwork() *network {
	n := &network{}
	n.word, n.position, n.answer = n.area(len(words)), n.area(context), n.area(len(words))
	return n
}

// area adds features.
func (n *network) area(size int) area {
	n.features += size
	return area(n.features - size)
}

// block adds a layer of that many heads.
func (n *network) block(heads int) *block {
	b := &block{heads: make([]head, heads)}
	n.blocks = append(n.blocks, b)
	return b
}

// entry is one weight of a matrix.
type entry struct {
	from, to int
	value    float64
}

// block is the matrices of one layer. up and down are those of its one hidden unit max(0, up·x + threshold).
type block struct {
	heads     []head
	up, down  []entry
	threshold float64
}

// head is its matrices: query, key and value from features to the components of the head, output back.
type head struct{ query, key, value, output []entry }

// back makes the head read k positions before the target, all of it, and <bos> where there are not so many.
func (h *head) back(n *network, k int) {
	for p := range context {
		h.query = append(h.query, entry{int(n.position) + p, max(0, p-k), sharp})
		h.key = append(h.key, entry{int(n.position) + p, p, 1})
	}
}

// find makes the head read those of the words that stand in the text, shared equally, and give <bos> a score of its own. Every target
// asks for the same.
func (h *head) find(n *network, among []string, begin float64) {
	for p := range context {
		h.query = append(h.query, entry{int(n.position) + p, 0, 1})
	}
	for _, w := range among {
		h.key = append(h.key, entry{int(n.word) + feature(w), 0, sharp})
	}
	h.key = append(h.key, entry{int(n.position), 0, begin})
}

// copy makes the head add what it reads of those words in one area to another, times a factor.
func (h *head) copy(from, to area, among []string, factor float64) {
	for c, w := range among {
		h.value = append(h.value, entry{int(from) + feature(w), c, factor})
		h.output = append(h.output, entry{c, int(to) + feature(w), 1})
	}
}

// weigh makes the head add a number for each word to one feature.
func (h *head) weigh(n *network, to area, weight func(word string) float64) {
	for _, w := range words {
		h.value = append(h.value, entry{int(n.word) + feature(w), 0, weight(w)})
	}
	h.output = append(h.output, entry{0, int(to), 1})
}
