package tiny

import (
	"slices"
)

// A question is a form of asking for a fact.
type question int

const (
	askWho   question = iota // who has the lamp ? john
	askWhat                  // what does john have ? the blue lamp
	askColor                 // what color is the lamp ? blue
	again                    // john has the blue lamp: the fact once more, in training only
)

// A wording is a form of stating facts. Only the first is tested. The others are shorter and lead
// to the same answers; they make the long form learnable, because the object is one or three words
// after the name there, not five.
type wording int

const (
	fullFacts  wording = iota // john has the blue lamp . who has the lamp ? john
	shortFacts                // john has the lamp . who has the lamp ? john
	pairs                     // john lamp . lamp ? john
)

// A fact is one statement of a recall document with the indices of its words.
type fact struct {
	name, color, object                string
	nameIndex, colorIndex, objectIndex int
}

// maxRecallWords limits a recall document so that it fits in 64 tokens even if some names are
// several tokens.
const maxRecallWords = 48

// An inquiry is a question about one of the facts, by its index.
type inquiry struct {
	fact int
	question
}

// trainingRecall draws a document with as many different questions as there is room for, because
// the model learns from each answer. More facts help too: among few facts, a model that names any
// of them is nearly right. So documents with short wordings state many.
func (g *Generator) trainingRecall(b *builder) {
	w := []wording{fullFacts, shortFacts, pairs, pairs}[b.rng.IntN(4)]
	n := []int{2, 3, 5}[w] + b.rng.IntN(4)
	questions := []question{askWho, askWhat}
	if w == fullFacts {
		n = min(n, 4)
		questions = []question{askWho, askWhat, askColor, again}
	}
	var all []inquiry
	for i := range n {
		for _, q := range questions {
			all = append(all, inquiry{i, q})
		}
	}
	b.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	g.recall(b, w, n, all)
}

// recall states n facts and asks the questions for which there is room.
func (g *Generator) recall(b *builder, w wording, n int, inquiries []inquiry) {
	facts := g.facts(b, n)
	for i := range facts {
		f := &facts[i]
		f.nameIndex = b.add(f.name)
		switch w {
		case fullFacts:
			f.colorIndex = b.add("has", "the", f.color)
		case shortFacts:
			b.add("has", "the")
		}
		f.objectIndex = b.add(f.object)
		b.add(".")
	}
	for _, q := range inquiries {
		if len(b.doc.Words)+[]int{9, 8, 4}[w] > maxRecallWords { // the longest question and answer
			return
		}
		ask(b, w, facts, q)
	}
}

// facts draws n facts with different names, objects and colors. The split must allow each name with
// each object, and each object with each color, not only inside one fact: then a foil is as
// possible as the answer.
func (g *Generator) facts(b *builder, n int) []fact {
	facts := make([]fact, 0, n)
	var usedNames, usedObjects, usedColors []string
	pools := lemmas(objects)
	if g.split == HeldOut {
		// A word that forms a held-out pair with itself is in a class of held-out pairs; all words
		// must be from that class.
		first := oneThat(b, pools, func(o string) bool { return nameObject.heldOut(o, o) })
		pools = slices.DeleteFunc(pools,
			func(o string) bool { return !nameObject.heldOut(first, o) })
	}
	fits := func(r relation, w string, used, others []string) bool {
		return !slices.Contains(used, w) &&
			!slices.ContainsFunc(others, func(o string) bool { return !g.allows(r, w, o) })
	}
	for range n {
		var f fact
		f.object = oneThat(b, pools, func(o string) bool {
			return fits(nameObject, o, usedObjects, usedNames) &&
				fits(objectColor, o, nil, usedColors)
		})
		usedObjects = append(usedObjects, f.object)
		f.name = oneThat(b, names, func(w string) bool {
			return fits(nameObject, w, usedNames, usedObjects)
		})
		usedNames = append(usedNames, f.name)
		f.color = oneThat(b, colors, func(w string) bool {
			return fits(objectColor, w, usedColors, usedObjects)
		})
		usedColors = append(usedColors, f.color)
		facts = append(facts, f)
	}
	return facts
}

// ask appends a question about one fact and its answer.
func ask(b *builder, w wording, facts []fact, q inquiry) {
	f := facts[q.fact]
	recalled := func(form, word string, index int, of func(fact) string, cues ...int) {
		a := Answer{Form: form, Evidence: []Evidence{{index, Source}}, Attractors: len(facts) - 1}
		for _, c := range cues {
			a.Evidence = append(a.Evidence, Evidence{c, Cue})
		}
		for _, c := range cues {
			a.Evidence = append(a.Evidence, Evidence{lastIndex(b.doc.Words, b.doc.Words[c]), Query})
		}
		for i, foil := range facts {
			if i != q.fact {
				a.Alternatives = append(a.Alternatives, of(foil))
			}
		}
		b.answer(word, a)
	}
	name := func(f fact) string { return f.name }
	color := func(f fact) string { return f.color }
	object := func(f fact) string { return f.object }
	switch q.question {
	case askWho:
		if w != pairs {
			b.add("who", "has", "the")
		}
		if w == fullFacts && b.chance(0.25) {
			b.add(f.color) // not a cue: the objects differ, so the color is not needed
		}
		b.add(f.object, "?")
		recalled("who", f.name, f.nameIndex, name, f.objectIndex)
	case askWhat:
		switch w {
		case pairs:
			b.add(f.name, "?")
		default:
			b.add("what", "does", f.name, "have", "?", "the")
		}
		if w == fullFacts {
			recalled("what-color", f.color, f.colorIndex, color, f.nameIndex)
			recalled("what-object", f.object, f.objectIndex, object, f.nameIndex, f.colorIndex)
			break
		}
		recalled("what-object", f.object, f.objectIndex, object, f.nameIndex)
	case again:
		b.add(f.name, "has", "the")
		recalled("what-color", f.color, f.colorIndex, color, f.nameIndex)
		recalled("what-object", f.object, f.objectIndex, object, f.nameIndex, f.colorIndex)
	case askColor:
		b.add("what", "color", "is", "the", f.object, "?")
		recalled("color", f.color, f.colorIndex, color, f.objectIndex)
	}
	b.add(".")
}

// lastIndex returns the last index of a word, which must occur.
func lastIndex(words []string, w string) int {
	i := len(words) - 1
	for words[i] != w {
		i--
	}
	return i
}
