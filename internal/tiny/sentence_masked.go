package tiny

import "slices"

// The sentences of the masked model are of four kinds, and the mask token stands for one word:
//
//	pronoun     person verb person preposition [MASK] possession "."            her, his
//	determiner  person verb [MASK] { adjective } noun [ preposition noun ] "."  this, these …
//	agreement   noun-phrase { preposition noun-phrase } [MASK] rest "."         is, are …
//	anaphor     noun-phrase [ preposition noun-phrase ] verb [MASK] [ place ] "."  herself …
//
// A pronoun means the subject or the object, by the verb: "mary told john about her book", but
// "mary thanked john for his book".

// byGender returns the two words of a pair, the right one for a gender first.
func byGender(male bool, her, his string) (right, wrong string) {
	if male {
		return his, her
	}
	return her, his
}

// person appends a person of a gender and returns the index of the word that shows it. ok reports
// whether a word, by which combinations are held out, may be taken.
func (g *sentenceBuilder) person(male bool, ok func(word string) bool) (index int) {
	if g.chance(0.7) {
		pool := femaleNames
		if male {
			pool = maleNames
		}
		return g.add(oneThat(&g.builder, pool, ok))
	}
	pool := femaleNouns
	if male {
		pool = maleNouns
	}
	word := oneThat(&g.builder, pool, func(f forms) bool { return ok(f.singular) }).singular
	return g.add("the", word)
}

// maskedPronoun makes a sentence with two persons and a masked possessive pronoun.
func maskedPronoun(g *sentenceBuilder, cell int) Sentence {
	test := cell >= 0
	which, cell := g.choose(cell, 2)
	form, _ := g.choose(cell, 2)
	male, subject := which == 1, form == 0
	pool := objectVerbs
	s := Sentence{Form: "object", Attractors: 1}
	if subject {
		pool, s.Form = subjectVerbs, "subject"
	}
	f := one(&g.builder, pool)
	ok := func(w string) bool { return g.allows(w, f.verb) }
	other := male != (test || g.chance(0.6)) // the gender of the other person
	first, second := male, other
	if !subject {
		first, second = other, male
	}
	neutral := !test && g.chance(0.15) // the other person may have no gender
	add := func(male, antecedent bool) int {
		if neutral && !antecedent {
			return g.add("the", one(&g.builder, professions).singular)
		}
		at := g.person(male, ok)
		return at
	}
	at := [2]int{add(first, subject), 0}
	verb := g.add(f.verb)
	if f.person != "" {
		g.add(f.person)
	}
	at[1] = add(second, !subject)
	g.add(f.thing)
	s.Answer = g.add(Mask)
	if g.chance(0.2) {
		g.add(one(&g.builder, adjectives))
	}
	g.add(one(&g.builder, possessions))
	g.end(test)
	antecedent := at[1]
	if subject {
		antecedent = at[0]
	}
	s.Evidence = []Evidence{{antecedent, Source}, {verb, Cue}}
	s.Right, s.Wrong = byGender(male, "her", "his")
	s.Nearest, _ = byGender(second, "her", "his")
	if neutral {
		s.Nearest = s.Right
	}
	return s
}

// end appends the point, which some training sentences lack, and sometimes a time before it.
func (g *sentenceBuilder) end(test bool) {
	if !test && g.chance(0.15) {
		g.add(one(&g.builder, times))
	}
	if test || g.chance(0.85) {
		g.add(".")
	}
}

// maskedDeterminer makes a sentence whose masked determiner agrees with the noun after it.
func maskedDeterminer(g *sentenceBuilder, cell int) Sentence {
	test := cell >= 0
	which, cell := g.choose(cell, 2)
	form, cell := g.choose(cell, 2)
	series, cell := g.choose(cell, 2)
	distractor, _ := g.choose(cell, 2)
	plural := which == 1
	noun := one(&g.builder, things)
	verb := g.picked(transitive, noun.singular)
	if g.chance(0.5) {
		g.add(one(&g.builder, slices.Concat(femaleNames, maleNames)))
	} else {
		person := one(&g.builder, slices.Concat(professions, femaleNouns, maleNouns))
		g.add("the", person.form(g.chance(0.5)))
	}
	g.add(verb)
	s := Sentence{Form: "plain", Answer: g.add(Mask)}
	if form == 1 {
		s.Form = "adjective"
		g.add(one(&g.builder, adjectives))
	}
	s.Evidence = []Evidence{{g.add(noun.form(plural)), Source}}
	last := plural
	if distractor == 1 {
		other := g.pickedForms(things, noun.singular, noun)
		last = plural != (test || g.chance(0.5))
		g.add(one(&g.builder, prepositions), "the", other.form(last))
		s.Attractors = 1
	}
	g.end(test)
	d := demonstratives[series]
	s.Right, s.Wrong, s.Nearest = d.form(plural), d.form(!plural), d.form(last)
	return s
}

// maskedAgreement makes a sentence whose masked verb agrees with its subject.
func maskedAgreement(g *sentenceBuilder, cell int) Sentence {
	test := cell >= 0
	which, cell := g.choose(cell, 2)
	form, _ := g.choose(cell, 3)
	plural := which == 1
	pool, preposition := sentenceNouns, sentencePrepositions
	s := Sentence{Form: [...]string{"plain", "relational", "distance"}[form], Attractors: form}
	if form == 1 { // "the pictures of some hat"
		pool, preposition = relational, []string{"of"}
	}
	head := one(&g.builder, pool)
	opposite, used, last := test || g.chance(0.4), []forms{head}, plural
	s.Evidence = []Evidence{{g.nounPhrase(head.form(plural)), Source}}
	for range form {
		n := g.pickedForms(sentenceNouns, head.singular, used...)
		used = append(used, n)
		last = plural != (opposite || g.chance(0.5))
		g.add(one(&g.builder, preposition))
		g.nounPhrase(n.form(last))
	}
	s.Answer = g.add(Mask)
	v := g.predicate()
	g.end(test)
	s.Right, s.Wrong, s.Nearest = v.form(plural), v.form(!plural), v.form(last)
	return s
}

// predicate appends what follows a masked verb and returns the verb.
func (g *sentenceBuilder) predicate() forms {
	anybody := slices.Concat(femaleNames, maleNames)
	switch g.rng.IntN(5) {
	case 0:
		g.add(one(&g.builder, scaring), one(&g.builder, anybody))
		return one(&g.builder, []forms{copula, past})
	case 1:
		g.add(complement(&g.builder)...)
		return one(&g.builder, []forms{copula, past})
	case 2:
		g.add(one(&g.builder, participles))
		return perfect
	}
	g.add(one(&g.builder, adverbs))
	return one(&g.builder, lexicalVerbs)
}

// maskedAnaphor makes a sentence whose masked reflexive pronoun agrees with its subject in number
// or gender.
func maskedAnaphor(g *sentenceBuilder, cell int) Sentence {
	test := cell >= 0
	form, cell := g.choose(cell, 2)
	male, cell := g.choose(cell, 2)
	which, cell := g.choose(cell, 2)
	attractor, _ := g.choose(cell, 2)
	pools := [2][]forms{femaleNouns, maleNouns}
	singular, other := byGender(male == 1, "herself", "himself")
	verb := one(&g.builder, reflexive)
	ok := func(w string) bool { return g.allows(w, verb) }
	s := Sentence{Form: [...]string{"gender", "number"}[form], Attractors: attractor}
	plural := form == 1 && which == 1
	opposite := test || g.chance(0.5)
	s.Right, s.Wrong = singular, other
	if form == 1 {
		pair := forms{singular, "themselves"}
		s.Right, s.Wrong = pair.form(plural), pair.form(!plural)
	}
	s.Nearest = s.Right
	if plural {
		pool := slices.Concat(pools[male], professions)
		head := oneThat(&g.builder, pool, func(f forms) bool { return ok(f.singular) })
		s.Evidence = []Evidence{{g.add("the", head.plural), Source}}
	} else {
		at := g.person(male == 1, ok)
		s.Evidence = []Evidence{{at, Source}}
	}
	if attractor == 1 {
		pool, many := pools[male], plural
		switch {
		case form == 0 && opposite:
			pool = pools[1-male]
		case form == 1 && opposite:
			many = !plural
		case !test:
			many = g.chance(0.5)
		}
		n := oneThat(&g.builder, pool, func(f forms) bool { return ok(f.singular) })
		g.add(one(&g.builder, prepositions), "the", n.form(many))
		if opposite {
			s.Nearest = s.Wrong
		}
	}
	g.add(verb)
	s.Answer = g.add(Mask)
	if g.chance(0.5) {
		g.add(one(&g.builder, prepositions), "the", one(&g.builder, things).form(g.chance(0.5)))
	}
	g.end(test)
	return s
}
