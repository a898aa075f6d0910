package tiny

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// A relation is a way in which the grammar combines two words. Each relation keeps one pair in
// eight for testing: training documents never combine those two words in this way.
//
// Every word has a class: its rank by hash in its pool, modulo the number of classes. A pair is
// held out if both words have the same class. Holding out pairs by a hash of the pair would not
// work: if the answer is a held-out pair and the foils are ordinary pairs, a model that has learnt
// which pairs never occur falls below chance. With classes, all words of a held-out document are
// from one class, so the answer and every foil are held-out pairs.
type relation uint8

// The relations.
const (
	// headAttractor is the lemma of a subject and that of a noun between it and its verb.
	headAttractor relation = iota
	// nameFrame is a person and the verb of the main clause the person appears in.
	nameFrame
	// nameObject is a person and an object in the facts of one recall document.
	nameObject
	// objectColor is an object and a color in the facts of one recall document.
	objectColor
	// neighbors are two words side by side in a list; a plural counts as its lemma.
	neighbors
)

// partitions are how many classes a relation has, and in how many of them pairs are held out: held
// of classes² pairs. Recall has fewer classes, because a document needs up to four of the sixteen
// colors from one class.
var partitions = [...]struct{ classes, held int }{
	headAttractor: {8, 8},
	nameFrame:     {8, 8},
	nameObject:    {4, 2},
	objectColor:   {4, 2},
	neighbors:     {8, 8},
}

// heldOut returns whether the pair is kept from training in this relation. It is symmetric, and
// false for words that the relation does not have.
func (r relation) heldOut(a, b string) bool {
	rankA, okA := ranks[a]
	rankB, okB := ranks[b]
	p := partitions[r]
	class := rankA % p.classes
	return okA && okB && class == rankB%p.classes && class < p.held
}

// hashSalt is chosen so that the sentences in the documentation, "the keys to the cabinet" and
// "mary has the red key . john has the blue lamp .", are ordinary ones. The trained weights depend
// on it.
const hashSalt = "headwater 2 "

// ranks orders the words of each pool by hash. Objects, other nouns, women, men, colors and frames
// are separate pools, so that every class has a share of each.
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

func lemmas(ns []forms) []string {
	var words []string
	for _, n := range ns {
		words = append(words, n.singular)
	}
	return words
}
