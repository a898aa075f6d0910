package tiny

// The sentences of the model for sentiment are reviews of films:
//
//	review = clause "." | clause "but" clause "." | "although" clause "," clause "."
//	       | clause "and" clause "."
//	clause = "the" aspect copula [ negation | degree ] word
//	       | viewer ( feeling | "did" "not" feeling ) "the" aspect
//
// A negation turns the sentiment of its clause. Of two clauses that differ, the one after "but" or
// after the comma decides.

// The labels of the model for sentiment.
const (
	negativeLabel = "negative"
	positiveLabel = "positive"
)

// label returns the name of a sentiment.
func label(positive bool) string {
	if positive {
		return positiveLabel
	}
	return negativeLabel
}

// sentiment makes a review.
func sentiment(g *sentenceBuilder, cell int) Sentence {
	which, cell := g.choose(cell, 2)
	form, cell := g.choose(cell, 5)
	negated, _ := g.choose(cell, 2)
	good := which == 1
	s := Sentence{Answer: -1, Right: label(good), Wrong: label(!good)}
	// In a test the first of two clauses is negated or not by turns.
	first := func() reviewClause { return g.reviewClause(!good, negated == 1) }
	switch form {
	case 0, 1:
		s.Form = [...]string{"plain", "negation"}[form]
		c := g.reviewClause(good, form == 1)
		s.Evidence, s.Nearest = c.evidence, label(c.word)
	case 2:
		s.Form, s.Attractors = "contrast", 1
		first()
		cue := g.add("but")
		c := g.reviewClause(good, g.chance(0.3))
		s.Evidence, s.Nearest = append(c.evidence, Evidence{cue, Cue}), label(c.word)
	case 3:
		s.Form, s.Attractors = "concession", 1
		c, cue := reviewClause{}, 0
		if g.chance(0.5) { // "although it is dull , it is lovely"
			cue = g.add("although")
			first()
			g.add(",")
			c = g.reviewClause(good, g.chance(0.3))
			s.Nearest = label(c.word)
		} else { // "it is lovely although it is dull"
			c = g.reviewClause(good, g.chance(0.3))
			cue = g.add("although")
			s.Nearest = label(first().word)
		}
		s.Evidence = append(c.evidence, Evidence{cue, Cue})
	default:
		s.Form = "addition"
		c := g.reviewClause(good, negated == 1)
		g.add("and")
		d := g.reviewClause(good, g.chance(0.3))
		s.Evidence, s.Nearest = append(c.evidence, d.evidence...), label(d.word)
	}
	g.add(".")
	return s
}

// reviewClause is a clause of a review.
type reviewClause struct {
	// evidence is the word of sentiment and, if there is one, the negation.
	evidence []Evidence
	// word is the sentiment of the word alone.
	word bool
}

// reviewClause appends a clause with a sentiment.
func (g *sentenceBuilder) reviewClause(good, negated bool) reviewClause {
	aspect := one(&g.builder, aspects)
	c := reviewClause{word: good != negated}
	if g.chance(0.25) {
		return g.feeling(c, aspect, negated)
	}
	g.add("the")
	if g.chance(0.15) {
		g.add(one(&g.builder, reviewAdjectives))
	}
	g.add(aspect, one(&g.builder, []string{"is", "was"}))
	pool := negative
	if c.word {
		pool = positive
	}
	switch {
	case negated:
		c.evidence = []Evidence{{g.add(one(&g.builder, negations)), Source}}
	case g.chance(0.3):
		g.add(one(&g.builder, degrees))
	}
	c.evidence = append(c.evidence, Evidence{g.add(g.picked(pool, aspect)), Source})
	return c
}

// feeling appends a clause with a verb of sentiment: "we did not enjoy the film".
func (g *sentenceBuilder) feeling(c reviewClause, aspect string, negated bool) reviewClause {
	pool := negativeFeelings
	if c.word {
		pool = positiveFeelings
	}
	// There are fewer of these verbs than classes of words, so any verb goes with any aspect.
	v := one(&g.builder, pool)
	g.add(one(&g.builder, viewers))
	if negated {
		g.add("did")
		c.evidence = []Evidence{{g.add("not"), Source}, {g.add(v.plural), Source}}
	} else {
		c.evidence = []Evidence{{g.add(v.singular), Source}}
	}
	g.add("the", aspect)
	return c
}
