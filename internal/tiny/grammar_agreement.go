package tiny

import "slices"

// An agreementPlan fixes the conditions that come equally often in a test set.
type agreementPlan struct {
	attractors int
	plural     bool
	opposite   bool // every attractor has the other number
}

// sentenceRoom is how many words a training document of agreement or pronouns may have when a
// further sentence is begun. A sentence has at most 19 words.
const sentenceRoom = 29

func (g *Generator) agreements(b *builder) {
	for range 1 + b.rng.IntN(3) {
		if len(b.doc.Words) > sentenceRoom {
			return
		}
		g.sentence(b, agreementPlan{
			attractors: []int{0, 1, 1, 1, 2, 2, 2, 3, 3}[b.rng.IntN(9)],
			plural:     b.chance(0.5),
			opposite:   b.chance(0.4),
		})
	}
}

func (g *Generator) sentence(b *builder, p agreementPlan) {
	head := one(b, nouns)
	used := []forms{head}
	subject := phrase(b, head.form(p.plural))
	for range p.attractors {
		n := oneThat(b, nouns, func(n forms) bool {
			return !slices.Contains(used, n) && g.allows(headAttractor, head.singular, n.singular)
		})
		used = append(used, n)
		b.add(one(b, prepositions))
		phrase(b, n.form(p.plural != (p.opposite || b.chance(0.5))))
	}
	verbPhrase(b, p, subject)
	b.add(".")
}

// phrase appends a noun with its article and returns its index.
func phrase(b *builder, n string) int {
	b.add("the")
	if b.chance(0.25) {
		b.add(one(b, adjectives))
	}
	return b.add(n)
}

// verbPhrase appends what follows the subject. It makes "is" and "are" more frequent than any other
// verb and any preposition, so that the most probable word after a subject is a verb.
func verbPhrase(b *builder, p agreementPlan, subject int) {
	v, rest := lexicalVerb(b)
	switch x := b.rng.Float64(); {
	case x < 0.4:
		v, rest = copula, complement(b)
	case x < 0.6:
		v, rest = past, complement(b)
	case x < 0.75:
		v, rest = perfect, []string{one(b, participles)}
	}
	form := "singular"
	if p.plural {
		form = "plural"
	}
	b.answer(v.form(p.plural), Answer{
		Form:         form,
		Evidence:     []Evidence{{subject, Source}},
		Alternatives: []string{v.form(!p.plural)},
		Attractors:   p.attractors,
	})
	b.add(rest...)
}

func lexicalVerb(b *builder) (forms, []string) {
	if b.chance(0.5) {
		return one(b, lexicalVerbs), nil
	}
	return one(b, lexicalVerbs), []string{one(b, adverbs)}
}

func complement(b *builder) []string {
	if b.chance(0.3) {
		return []string{one(b, places)}
	}
	return []string{one(b, adjectives)}
}
