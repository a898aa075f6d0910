package tiny

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// A Relation is a way in which the grammar combines two words. Each relation keeps one pair in
// eight for testing: training documents never combine these two words so.
//
// Every word has a class, its rank by hash among its peers modulo a number of classes, and a pair
// is held out if both words have the same class. A hash of the pair itself would be no use: where a
// held-out pair is asked for among foils that are ordinary pairs, a model that has learnt which pairs
// never occur falls below chance. With classes, all words of a held-out document come from one
// class, so the answer and each foil are held-out pairs alike.
type Relation uint8

// The relations.
const (
	// HeadAttractor is the lemma of a subject and that of a noun between it and its verb.
	HeadAttractor Relation = iota
	// NameFrame is a person and the verb of the main clause the person appears in.
	NameFrame
	// NameObject is a person and an object in the facts of one recall document.
	NameObject
	// ObjectColor is an object and a color in the facts of one recall document.
	ObjectColor
	// Neighbors are two words side by side in a list; a plural counts as its lemma.
	Neighbors
)

// partitions says into how many classes a relation puts its words, and how many of the classes hold
// their pairs out: held of classes² pairs. Recall has fewer classes because a document needs up to four
// of the sixteen colors of one class.
var partitions = [...]struct{ classes, held int }{
	HeadAttractor: {8, 8},
	NameFrame:     {8, 8},
	NameObject:    {4, 2},
	ObjectColor:   {4, 2},
	Neighbors:     {8, 8},
}

// HeldOut reports whether the pair is kept from training in this relation. It is symmetric, and
// false for words that the relation does not know.
func (r Relation) HeldOut(a, b string) bool {
	rankA, okA := ranks[a]
	rankB, okB := ranks[b]
	p := partitions[r]
	class := rankA % p.classes
	return okA && okB && class == rankB%p.classes && class < p.held
}

// hashSalt is chosen so that the sentences of the documentation, "the keys to the cabinet" and
// "mary has the red key . john has the blue lamp .", are ordinary ones. Trained weights
// depend on it.
const hashSalt = "headwater 2 "

// ranks orders the words of each pool by hash. Objects, other nouns, women, men, colors and frames
// are ranked apart, so that every class has its share of each.
var ranks = func() map[string]int {
	ranks := make(map[string]int)
	rank := func(pool []string) {
		pool = slices.Clone(pool)
		slices.SortFunc(pool, func(a, b string) int { return cmp.Compare(hash(a), hash(b)) })
		for i, w := range pool {
			ranks[w] = i
		}
	}
	var verbs []string
	for _, f := range frames {
		verbs = append(verbs, f.verb)
	}
	for _, pool := range [][]string{
		lemmas(objects), lemmas(nouns[len(objects):]), females, males, colors, verbs,
	} {
		rank(pool)
	}
	for _, n := range nouns {
		ranks[n.plural] = ranks[n.singular]
	}
	return ranks
}()

func hash(word string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(hashSalt + word))
	return h.Sum64()
}

func lemmas(ns []noun) []string {
	var words []string
	for _, n := range ns {
		words = append(words, n.singular)
	}
	return words
}
