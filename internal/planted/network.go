package planted

// Sizes and strengths.
const (
	// context is how many positions there are, including <bos>.
	context = 32
	// unit is u, the value of one feature in the residual stream. After a norm it is 1.
	unit = 1.0 / (1 << 20)
	// epsilon is the epsilon of the norms, whose root is ½; gain makes the norm of u 1.
	epsilon = 0.25
	gain    = 0.5 / unit
	// sharp is the attention score of what a head looks for. halfway is the score of <bos>, which
	// the head reads if it finds nothing: exp(-128) is 0 in float32.
	sharp   = 256
	halfway = sharp / 2
	// strength is the logit of a word if its feature in the answer is 1.
	strength = 16
)

// network is a transformer over features, before each feature becomes a pair of numbers.
type network struct {
	features int
	// word and position are the features that the embedding gives each token. answer holds what the
	// output reads: the logit of each word.
	word, position, answer area
	blocks                 []*block
}

// area is a range of features: area + i is its feature number i.
type area int

// newNetwork returns a network with the three areas that every circuit has, and no layers.
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

// block adds a layer with that many heads.
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

// block has the matrices of one layer. up and down belong to its one hidden unit, max(0, up·x +
// threshold).
type block struct {
	heads     []head
	up, down  []entry
	threshold float64
}

// head has the matrices of one head. query, key and value go from features to the components of the
// head, output goes back.
type head struct{ query, key, value, output []entry }

// back makes the head read only the token k positions before the target, or <bos> if there is no
// such token.
func (h *head) back(n *network, k int) {
	for p := range context {
		h.query = append(h.query, entry{int(n.position) + p, max(0, p-k), sharp})
		h.key = append(h.key, entry{int(n.position) + p, p, 1})
	}
}

// find makes the head read, in equal parts, those words of among that are in the text. begin is the
// score of <bos>. Every target has the same query.
func (h *head) find(n *network, among []string, begin float64) {
	for p := range context {
		h.query = append(h.query, entry{int(n.position) + p, 0, 1})
	}
	for _, w := range among {
		h.key = append(h.key, entry{int(n.word) + feature(w), 0, sharp})
	}
	h.key = append(h.key, entry{int(n.position), 0, begin})
}

// copy makes the head add the words that it reads in one area to another area, times a factor.
func (h *head) copy(from, to area, among []string, factor float64) {
	for c, w := range among {
		h.value = append(h.value, entry{int(from) + feature(w), c, factor})
		h.output = append(h.output, entry{c, int(to) + feature(w), 1})
	}
}

// weigh makes the head add a number to one feature, by the word that it reads.
func (h *head) weigh(n *network, to area, weight func(word string) float64) {
	for _, w := range words {
		h.value = append(h.value, entry{int(n.word) + feature(w), 0, weight(w)})
	}
	h.output = append(h.output, entry{0, int(to), 1})
}
