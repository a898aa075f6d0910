package tiny

import (
	"math/rand/v2"
	"slices"
)

// A question is a form in which a fact is asked for.
type question int

const (
	askWho   question = iota // who has the lamp ? john
	askWhat                  // what does john have ? the blue lamp
	askColor                 // what color is the lamp ? blue
)

// A fact is one statement of a recall document with the indices of its words.
type fact struct {
	name, color, object                string
	nameIndex, colorIndex, objectIndex int
}

// maxRecallWords bounds a recall document, so that it fits in 64 tokens with some names in pieces.
const maxRecallWords = 48

// longestQuestion counts the words of "what does mary have ? the red key ."
const longestQuestion = 9

// trainingQuestions draws one to three questions, mostly who.
func trainingQuestions(rng *rand.Rand) []question {
	shares := []question{askWho, askWho, askWho, askWho, askWhat, askWhat, askWhat, askColor, askColor}
	qs := make([]question, 1+rng.IntN(3))
	for i := range qs {
		qs[i] = shares[rng.IntN(len(shares))]
	}
	return qs
}

// recall states facts and asks each question about another fact, as far as there are facts and room.
func (g *Generator) recall(b *builder, n int, questions []question) {
	facts := g.facts(b, n)
	for i := range facts {
		f := &facts[i]
		f.nameIndex = b.add(f.name)
		f.colorIndex = b.add("has", "the", f.color)
		f.objectIndex = b.add(f.object)
		b.add(".")
	}
	for i, asked := range b.rng.Perm(n) {
		if i == len(questions) || len(b.doc.Words)+longestQuestion > maxRecallWords {
			return
		}
		ask(b, facts, asked, questions[i])
	}
}

// facts draws n facts with different names, objects and colors. Each name goes with each object as
// the split wants it, and each object with each color, not only in the facts themselves: a foil is as
// possible as the answer.
func (g *Generator) facts(b *builder, n int) []fact {
	facts := make([]fact, 0, n)
	var usedNames, usedObjects, usedColors []string
	pools := lemmas(objects)
	if g.split == HeldOut {
		// A word that is held out with itself is of a class with held-out pairs; keep to that class.
		first := oneThat(b, pools, func(o string) bool { return NameObject.HeldOut(o, o) })
		pools = slices.DeleteFunc(pools, func(o string) bool { return !NameObject.HeldOut(first, o) })
	}
	fits := func(r Relation, w string, used, others []string) bool {
		return !slices.Contains(used, w) &&
			!slices.ContainsFunc(others, func(o string) bool { return !g.allows(r, w, o) })
	}
	for range n {
		var f fact
		f.object = oneThat(b, pools, func(o string) bool {
			return fits(NameObject, o, usedObjects, usedNames) && fits(ObjectColor, o, nil, usedColors)
		})
		usedObjects = append(usedObjects, f.object)
		f.name = oneThat(b, names, func(w string) bool {
			return fits(NameObject, w, usedNames, usedObjects)
		})
		usedNames = append(usedNames, f.name)
		f.color = oneThat(b, colors, func(w string) bool {
			return fits(ObjectColor, w, usedColors, usedObjects)
		})
		usedColors = append(usedColors, f.color)
		facts = append(facts, f)
	}
	return facts
}

// ask appends a question about one fact and its answer.
func ask(b *builder, facts []fact, asked int, q question) {
	f := facts[asked]
	recalled := func(form, word string, index int, of func(fact) string, cues ...int) {
		a := Answer{Form: form, Evidence: []Evidence{{index, Source}}, Attractors: len(facts) - 1}
		for _, c := range cues {
			a.Evidence = append(a.Evidence, Evidence{c, Cue})
		}
		for i, foil := range facts {
			if i != asked {
				a.Alternatives = append(a.Alternatives, of(foil))
			}
		}
		b.answer(word, a)
	}
	name := func(f fact) string { return f.name }
	color := func(f fact) string { return f.color }
	object := func(f fact) string { return f.object }
	switch q {
	case askWho:
		b.add("who", "has", "the")
		cues := []int{f.objectIndex}
		if b.chance(0.25) {
			b.add(f.color)
			cues = append(cues, f.colorIndex)
		}
		b.add(f.object, "?")
		recalled("who", f.name, f.nameIndex, name, cues...)
	case askWhat:
		b.add("what", "does", f.name, "have", "?", "the")
		recalled("what-color", f.color, f.colorIndex, color, f.nameIndex)
		recalled("what-object", f.object, f.objectIndex, object, f.nameIndex, f.colorIndex)
	case askColor:
		b.add("what", "color", "is", "the", f.object, "?")
		recalled("color", f.color, f.colorIndex, color, f.objectIndex)
	}
	b.add(".")
}
