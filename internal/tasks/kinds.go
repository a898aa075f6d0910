package tasks

import (
	"strconv"
	"strings"
)

// Templates are in words.json. Those at even places are held out, those at odd places are for
// development; see source.half. A bar divides a fact from the question about it, and filler may
// stand between them. A list or a relation of words stands before a colon.

// indirectObject makes a text about two people, {a} and {b} in any order, of whom one, {s}, gives
// something to the other. The evidence is the person whom the subject does not name, replaced by a
// third person.
func indirectObject(s *source) *draft {
	names := s.pick(s.Lists["names"], 3)
	object, subject, third := names[0], names[1], names[2]
	slots := map[string]slot{
		"a": {word: object, other: third}, "b": {word: subject, asks: true},
		"s":     {word: subject, asks: true},
		"place": {word: s.one(s.Lists["places"])}, "thing": {word: s.one(s.Lists["things"])},
	}
	if s.IntN(2) == 0 {
		slots["a"], slots["b"] = slots["b"], slots["a"]
	}
	d := s.sentence(s.template("indirect-object"), slots)
	d.answers, d.foils = []string{" " + object}, []string{" " + third}
	return d
}

// sentence writes a template with a bar, or one without after filler.
func (s *source) sentence(template string, slots map[string]slot) *draft {
	if fact, question, ok := strings.Cut(template, "|"); ok {
		return s.compose(fact, question, slots)
	}
	return s.lead(template, slots)
}

// facts makes a text about something made up of a person {n}. The evidence is the value {v} that
// the fact states.
func facts(s *source) *draft {
	list, template, _ := strings.Cut(s.template("facts"), ":")
	values := s.pick(s.Lists[list], 2)
	d := s.sentence(template, map[string]slot{
		"n": {word: s.one(s.Lists["names"]), asks: true}, "v": {word: values[0], other: values[1]},
	})
	d.answers, d.foils = []string{" " + values[0]}, []string{" " + values[1]}
	return d
}

// analogy makes a text of pairs of words in one relation, {x1} and {y1}, {x2} and {y2}. The
// evidence is the word {q} whose partner is asked for.
func analogy(s *source) *draft {
	list, template, _ := strings.Cut(s.template("analogy"), ":")
	relation := s.Lists["capitals"]
	if list == "any" && s.IntN(3) > 0 {
		relation = s.Relations[s.IntN(len(s.Relations))]
	}
	pairs := s.pick(relation, 4)
	slots := map[string]slot{}
	for i, name := range []string{"1", "2"} {
		x, y, _ := strings.Cut(pairs[i], " ")
		slots["x"+name], slots["y"+name] = slot{word: x}, slot{word: y}
	}
	q, answer, _ := strings.Cut(pairs[2], " ")
	other, foil, _ := strings.Cut(pairs[3], " ")
	slots["q"] = slot{word: q, other: other}
	d := s.sentence(template, slots)
	d.answers, d.foils = []string{" " + answer}, []string{" " + foil}
	return d
}

// induction makes a list of words that begins again, once or twice, and stops before one of them.
// The evidence is every place of that word. The word before it asks for it.
func induction(s *source) *draft {
	n, rounds := 4+s.IntN(3), 1+s.IntN(2)
	words := s.pick(s.Lists["nouns"], n+1)
	stop, other := s.IntN(n), words[n]
	if rounds == 1 {
		stop = 1 + s.IntN(n-1) // otherwise nothing of the second round is there
	}
	between := []string{" ", ", "}[s.IntN(2)]
	d := &draft{}
	d.fill(s.template("induction"), nil)
	for i := range rounds*n + stop {
		if i > 0 {
			d.fill(strings.TrimSuffix(between, " "), nil)
		}
		d.fill(" ", nil)
		w := slot{word: words[i%n], asks: (i+1)%n == stop}
		if i%n == stop {
			w.other = other
		}
		d.add(w)
	}
	d.answers, d.foils = []string{" " + words[stop]}, []string{" " + other}
	if between == ", " {
		d.fill(",", nil)
	}
	return d
}

// agreement makes a text of a subject {s} with nouns of the other number, {o} and {p}, between it
// and its verb. The evidence is the subject, replaced by its other number.
func agreement(s *source) *draft {
	subject, attractors := s.one(s.Lists["subjects"]), s.pick(s.Lists["attractors"], 2)
	one, many, _ := strings.Cut(subject, " ")
	slots := map[string]slot{}
	for i, name := range []string{"o", "p"} {
		a, b, _ := strings.Cut(attractors[i], " ")
		slots[name], slots[name+"1"] = slot{word: b}, slot{word: a}
	}
	singular, plural := []string{" is", " was", " has"}, []string{" are", " were", " have"}
	slots["s"] = slot{word: one, other: many}
	answers, foils := singular, plural
	if s.IntN(2) == 0 {
		slots["s"] = slot{word: many, other: one}
		slots["o"], slots["p"] = slots["o1"], slots["p1"]
		answers, foils = plural, singular
	}
	d := s.lead(s.template("agreement"), slots)
	d.answers, d.foils = answers, foils
	return d
}

// greaterThan makes a text that gives a year {c}{d}{u} and asks for one that is not before it. The
// evidence is the digit of the decade.
func greaterThan(s *source) *draft {
	century := strconv.Itoa(11 + s.IntN(8))
	decades := s.pick([]string{"1", "2", "3", "4", "5", "6", "7", "8"}, 2)
	unit := strconv.Itoa(1 + s.IntN(8))
	d := s.sentence(s.template("greater-than"), map[string]slot{
		"event": {word: s.one(s.Lists["events"])}, "c": {word: century, asks: true},
		"d": {word: decades[0], other: decades[1]}, "u": {word: unit},
	})
	d.answers, d.foils = notBefore(decades[0], unit), notBefore(decades[1], unit)
	return d
}

// notBefore returns what may follow the century in a year that is not before decade and unit: a
// digit, or two where the vocabulary has such tokens.
func notBefore(decade, unit string) (ends []string) {
	first, _ := strconv.Atoi(decade)
	begin, _ := strconv.Atoi(decade + unit)
	for d := first; d < 10; d++ {
		ends = append(ends, strconv.Itoa(d))
	}
	for year := begin; year < 100; year++ {
		ends = append(ends, strconv.Itoa(year))
	}
	return ends
}

// copying makes a text in which a sentence about the things {1} to {3} is repeated up to one of
// them, which is the evidence.
func copying(s *source) *draft {
	template := s.template("copying")
	things := s.pick(s.Lists["nouns"], 4)
	asked := s.IntN(3)
	slots := map[string]slot{"n": {word: s.one(s.Lists["names"]), asks: true}}
	for i := range 3 {
		slots[strconv.Itoa(i+1)] = slot{word: things[i]}
	}
	// The words of the sentence after the verb, up to the thing that is asked for.
	fact, question, _ := strings.Cut(template, "|")
	verb := question[strings.LastIndex(question, " "):]
	_, rest, _ := strings.Cut(fact, verb)
	rest, _, _ = strings.Cut(rest, " {"+strconv.Itoa(asked+1)+"}")
	key := strconv.Itoa(asked + 1)
	slots[key] = slot{word: things[asked], other: things[3]}
	d := s.compose(fact, question+rest, slots)
	d.answers, d.foils = []string{" " + things[asked]}, []string{" " + things[3]}
	return d
}

// variable makes a function of two parameters, {p} and {q}, whose body has used one, {a}. The
// evidence is the other, which comes next.
func variable(s *source) *draft {
	names := s.pick(s.Lists["variables"], 3)
	slots := map[string]slot{
		"a": {word: names[0], asks: true},
		"p": {word: names[0], asks: true}, "q": {word: names[1], other: names[2]},
	}
	if s.IntN(2) == 0 {
		slots["p"], slots["q"] = slots["q"], slots["p"]
	}
	d := s.code(s.template("variable"), slots)
	d.answers, d.foils = []string{" " + names[1]}, []string{" " + names[2]}
	return d
}

// function makes a function {f} and asks for a call, sometimes for the second one. The evidence is
// its name, at each of its places.
func function(s *source) *draft {
	names := s.pick(s.Lists["functions"], 2)
	d := s.code(s.template("function"), map[string]slot{"f": {word: names[0], other: names[1]}})
	d.answers, d.foils = []string{" " + names[0]}, []string{" " + names[1]}
	return d
}

// bracket makes a value with two open brackets, {o} and in it {e}, which is the evidence. Words {1}
// to {4} stand between them.
func bracket(s *source) *draft {
	kinds := s.pick([]string{"()", "[]", "{}"}, 3)
	words := s.pick(s.Lists["variables"], 4)
	open := func(kind string) string { return " " + kind[:1] }
	slots := map[string]slot{
		"o": {word: open(kinds[2])}, "e": {word: open(kinds[0]), other: open(kinds[1])},
	}
	for i, word := range words {
		slots[strconv.Itoa(i+1)] = slot{word: word}
	}
	d := s.code(s.template("bracket"), slots)
	d.answers, d.foils = closing(kinds[0]), closing(kinds[1])
	return d
}

// closing returns tokens that close a bracket: alone or with the mark after it.
func closing(kind string) (all []string) {
	for _, mark := range []string{"", ",", ";", ":", ")", "]", "}"} {
		all = append(all, kind[1:]+mark)
	}
	return all
}
