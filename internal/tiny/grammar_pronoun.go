package tiny

import "slices"

// A clausePlan fixes the conditions that come equally often in a test set.
type clausePlan struct {
	persons    int // besides the subject, at most two
	male       bool
	possessive bool // the clause ends in "and took her book"
	opposite   bool // every other person has the other gender
	short      bool // no second pronoun
}

// plainShare is the share of training clauses of the form "mary took her book ."
const plainShare = 0.1

func (g *Generator) pronouns(b *builder) {
	for range 1 + b.rng.IntN(2) {
		if b.chance(plainShare) {
			subject := one(b, names)
			c := speaker{index: b.add(subject), male: slices.Contains(males, subject)}
			c.possess(b)
			b.add(".")
			continue
		}
		g.clause(b, clausePlan{
			persons:    []int{0, 1, 1, 1, 2, 2}[b.rng.IntN(6)],
			male:       b.chance(0.5),
			possessive: b.chance(0.35),
			opposite:   b.chance(0.5),
		})
	}
}

// A speaker is the person that the pronouns of a clause mean.
type speaker struct {
	index   int // of the name
	male    bool
	persons int   // named since
	earlier []int // pronouns that mean the same person
}

func (g *Generator) clause(b *builder, p clausePlan) {
	f := oneThat(b, frames, func(f frame) bool {
		return (f.alone || p.persons > 0) && !(f.that && p.possessive)
	})
	subject := oneThat(b, people(p.male),
		func(n string) bool { return g.allows(nameFrame, n, f.verb) })
	c := speaker{index: b.add(subject), male: p.male, persons: p.persons}
	g.frame(b, p, f, subject)
	if p.possessive {
		b.add("and")
		c.possess(b)
	} else {
		c.conclude(b, f, p.short)
	}
	b.add(".")
}

// frame appends the verb of the main clause, the other persons and the thing.
func (g *Generator) frame(b *builder, p clausePlan, f frame, subject string) {
	b.add(f.verb)
	if f.thingFirst {
		b.add("the", one(b, nouns).singular)
	}
	used := []string{subject}
	for i := range p.persons {
		pool := people(!p.male)
		if !p.opposite && b.chance(0.5) {
			pool = people(p.male)
		}
		n := oneThat(b, pool, func(n string) bool {
			return !slices.Contains(used, n) && g.allows(nameFrame, n, f.verb)
		})
		used = append(used, n)
		if i > 0 {
			b.add("and")
		} else if f.person != "" {
			b.add(f.person)
		}
		b.add(n)
	}
	if !f.that && !f.thingFirst && (p.persons == 0 || b.chance(0.5)) {
		b.add(f.thing, "the", one(b, nouns).singular)
	}
}

// conclude appends a connective, "she" or "he", and what the person did.
func (c *speaker) conclude(b *builder, f frame, short bool) {
	if f.that {
		b.add("that")
	} else {
		b.add(one(b, connectives))
	}
	c.pronoun(b, "she", "he", "subject")
	tails := 4
	if short {
		tails = 3
	}
	switch b.rng.IntN(tails) {
	case 0:
		b.add("was", one(b, moods))
	case 1:
		b.add(one(b, deeds))
		if b.chance(0.5) {
			b.add(one(b, adverbs))
		}
	case 2:
		b.add(one(b, wishes), "the", one(b, nouns).singular)
	case 3:
		c.possess(b)
	}
}

// possess appends a phrase such as "took her book".
func (c *speaker) possess(b *builder) {
	b.add(one(b, possessiveVerbs))
	c.pronoun(b, "her", "his", "possessive")
	b.add(one(b, nouns).singular)
}

func (c *speaker) pronoun(b *builder, female, male, form string) {
	right, wrong := female, male
	if c.male {
		right, wrong = male, female
	}
	evidence := []Evidence{{c.index, Source}}
	for _, i := range c.earlier {
		evidence = append(evidence, Evidence{i, Cue})
	}
	i := b.answer(right, Answer{
		Form: form, Evidence: evidence, Alternatives: []string{wrong}, Attractors: c.persons,
	})
	c.earlier = append(c.earlier, i)
}

func people(male bool) []string {
	if male {
		return males
	}
	return females
}
