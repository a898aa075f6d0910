package tiny

// The sentences of the model for verb number end before the verb:
//
//	[ preposition noun-phrase "," ] noun-phrase { preposition noun-phrase | relative }
//	relative = "that" past-verb noun-phrase | "that" noun-phrase past-verb
//
// The class is the number of the subject: the first noun after the opening.

// verbNumber makes a sentence for verb number. A test sentence has one to three nouns beside the
// subject, all in the other number.
func verbNumber(g *sentenceBuilder, cell int) Sentence {
	test := cell >= 0
	var others, form int
	if test {
		others, cell = g.choose(cell, 3)
		others++
	} else {
		others = []int{0, 1, 1, 1, 2, 2, 2, 3, 3}[g.rng.IntN(9)]
	}
	which, cell := g.choose(cell, 2)
	form, _ = g.choose(cell, 3)
	v := verbSentence{
		g: g, plural: which == 1, opposite: test || g.chance(0.4), head: one(&g.builder,
			sentenceNouns),
	}
	s := Sentence{
		Form: "preposition", Answer: -1, Right: number(v.plural), Wrong: number(!v.plural),
		Attractors: others,
	}
	if form == 2 && others > 0 {
		s.Form = "opening"
		g.add(one(&g.builder, sentencePrepositions))
		v.other()
		g.add(",")
		others--
	}
	v.last = v.plural
	s.Evidence = []Evidence{{g.nounPhrase(v.head.form(v.plural)), Source}}
	for i := range others {
		if form == 1 && i == 0 {
			s.Form = "relative"
			v.relative()
			continue
		}
		g.add(one(&g.builder, sentencePrepositions))
		v.other()
	}
	s.Nearest = number(v.last)
	return s
}

// verbSentence is a sentence for verb number in the making.
type verbSentence struct {
	g                *sentenceBuilder
	head             forms
	plural, opposite bool
	used             []forms
	last             bool // the number of the last noun
}

// other appends a noun phrase beside the subject.
func (v *verbSentence) other() {
	n := v.g.pickedForms(sentenceNouns, v.head.singular, append(v.used, v.head)...)
	v.used = append(v.used, n)
	v.last = v.plural != (v.opposite || v.g.chance(0.5))
	v.g.nounPhrase(n.form(v.last))
}

// relative appends a relative clause with one noun. Its verb is in the past, so it has no number.
func (v *verbSentence) relative() {
	g := v.g
	g.add("that")
	if g.chance(0.5) {
		g.add(one(&g.builder, transitive))
		v.other()
		return
	}
	v.other()
	g.add(one(&g.builder, transitive))
}

// nounPhrase appends a noun with a determiner that goes with both numbers, and returns its index.
func (g *sentenceBuilder) nounPhrase(noun string) int {
	g.add(one(&g.builder, neutralDeterminers))
	if g.chance(0.2) {
		g.add(one(&g.builder, adjectives))
	}
	return g.add(noun)
}
