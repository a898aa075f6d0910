package tasks

import (
	"strconv"
	"strings"
)

// Templates. Those at even places are held out, those at odd places are for development; see
// source.half. A bar divides a fact from the question about it, and filler may stand between them.

// indirectObjects are sentences about two people, {a} and {b} in any order. One of them, {s}, gives
// something to the other.
var indirectObjects = []string{
	"Then {a} and {b} went to the {place} together.|{s} gave a {thing} to",
	"After {a} and {b} had arrived at the {place}, they sat down.|{s} handed a {thing} to",
	"When {a} and {b} got to the {place}, {s} decided to give a {thing} to",
	"When {a} and {b} went to the {place}, {s} gave a {thing} to",
	"Last week {a} and {b} met at the {place}.|There {s} showed a {thing} to",
	"Yesterday {a} and {b} worked at the {place}.|Then {s} sold a {thing} to",
	"While {a} and {b} were sitting in the {place}, {s} passed a {thing} to",
	"As {a} and {b} were leaving the {place}, {s} offered a {thing} to",
	"At noon {a} and {b} came to the {place}.|Soon {s} lent a {thing} to",
	"In the morning {a} and {b} walked to the {place}.|Later {s} sent a {thing} to",
	"Before {a} and {b} left the {place}, {s} returned a {thing} to",
	"Since {a} and {b} were alone at the {place}, {s} brought a {thing} to",
	"My cousins {a} and {b} live near the {place}.|On Sunday {s} mailed a {thing} to",
	"The twins {a} and {b} work near the {place}.|On Friday {s} sold a {thing} to",
	"Once {a} and {b} were inside the {place}, {s} quickly threw a {thing} to",
	"Because {a} and {b} had to wait at the {place}, {s} read a {thing} to",
}

// indirectObject makes a text of that kind. The evidence is the person whom the subject does not
// name, replaced by a third person.
func indirectObject(s *source) *draft {
	names := s.pick(s.words.names, 3)
	object, subject, third := names[0], names[1], names[2]
	slots := map[string]slot{
		"a": {word: object, other: third}, "b": {word: subject, asks: true},
		"s":     {word: subject, asks: true},
		"place": {word: s.one(s.words.places)}, "thing": {word: s.one(s.words.things)},
	}
	if s.IntN(2) == 0 {
		slots["a"], slots["b"] = slots["b"], slots["a"]
	}
	d := s.sentence(s.one(s.half(indirectObjects)), slots)
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

// factTemplates state something made up of a person {n}. The list that {v} is from stands before
// the colon.
var factTemplates = []string{
	"jobs:My friend {n} works as a {v}.|If you ask what {n} does for a living, {n} is a",
	"animals:My friend {n} keeps a {v} in the garden.|The animal that {n} keeps is a",
	"instruments:My friend {n} plays the {v} in a band.|The instrument that {n} plays is the",
	"cities:My friend {n} was born in {v}.|The city where {n} was born is",
	"cities:My friend {n} lives in {v}.|The city where {n} lives is",
	"colors:My friend {n} drives a {v} car.|The color of the car is",
	"metals:My friend {n} has a box made of {v}.|The box is made of",
	"things:My friend {n} lost a {v} at the station.|The thing that {n} lost is a",
	"foods:For lunch {n} ordered the {v}.|So the waiter brought {n} the",
	"animals:My friend {n} is afraid of every {v}.|The animal that {n} fears most is the",
	"jobs:Everyone knows that {n} wants to become a {v}.|When school is over, {n} will be a",
	"jobs:At the party {n} was dressed as a {v}.|The costume of {n} was that of a",
	"animals:The children gave {n} a toy {v}.|The toy that {n} got is a",
	"animals:On the card for {n} there is a {v}.|The animal on the card is a",
	"colors:The door of {n} is painted {v}.|The color of the door is",
	"colors:Today {n} wears a {v} coat.|The color of the coat is",
	"cities:The train that {n} took goes to {v}.|So {n} is on the way to",
	"cities:Next week {n} is moving to {v}.|The new home of {n} is in",
	"things:In the drawer {n} keeps a {v}.|The only thing in the drawer is a",
	"things:Under the bed {n} hid a {v}.|The thing under the bed is a",
	"instruments:For a birthday {n} got a new {v}.|Now {n} can play the",
	"instruments:The uncle of {n} sells a {v}.|The instrument for sale is a",
}

// facts makes a text of that kind. The evidence is the value that the fact states.
func facts(s *source) *draft {
	list, template, _ := strings.Cut(s.one(s.half(factTemplates)), ":")
	values := s.pick(s.words.list(list), 2)
	d := s.sentence(template, map[string]slot{
		"n": {word: s.one(s.words.names), asks: true}, "v": {word: values[0], other: values[1]},
	})
	d.answers, d.foils = []string{" " + values[0]}, []string{" " + values[1]}
	return d
}

// analogyTemplates give pairs of words in one relation, {x1} and {y1}, {x2} and {y2}, and ask for
// the partner of {q}. The relation stands before the colon; any is a relation of any kind.
var analogyTemplates = []string{
	"any:Pairs: {x1} and {y1}, {x2} and {y2}, {q} and",
	"any:Here are some pairs. {x1} - {y1}, {x2} - {y2}, {q} -",
	"capitals:The capital of {x1} is {y1}. The capital of {x2} is {y2}. The capital of {q} is",
	"capitals:We saw {y1} in {x1}, {y2} in {x2}, and the capital of {q}, which is",
	"capitals:My friend comes from {q}.|The capital of that country is",
	"capitals:In the spring we flew to {q}.|Of course we saw the capital of the country,",
	"any:In this game {x1} goes with {y1}, {x2} goes with {y2}, and {q} goes with",
	"any:A table of words: {x1} = {y1}; {x2} = {y2}; {q} =",
	"any:Word pairs. {x1}: {y1}. {x2}: {y2}. {q}:",
	"any:Match the words: {x1} with {y1}, {x2} with {y2}, {q} with",
	"capitals:My aunt was born in {q}.|She grew up in its capital,",
	"capitals:Last year we drove through {q}.|We stayed a week in the capital,",
	"any:As {x1} is to {y1} and {x2} is to {y2}, so {q} is to",
	"any:First {x1} then {y1}, first {x2} then {y2}, first {q} then",
	"capitals:The train from {q} was late.|It came from the capital of the country,",
	"capitals:A list of capitals. {x1}: {y1}. {x2}: {y2}. {q}:",
}

// analogy makes a text of that kind. The evidence is the word whose partner is asked for.
func analogy(s *source) *draft {
	list, template, _ := strings.Cut(s.one(s.half(analogyTemplates)), ":")
	relation := s.words.capitals
	if list == "any" && s.IntN(3) > 0 {
		relation = s.words.relations[s.IntN(len(s.words.relations))]
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

// listHeads begin a list that repeats.
var listHeads = []string{"List:", "Words:", "Items:", "Names:", "Repeat after me:", "Say it again:"}

// induction makes a list of words that begins again, once or twice, and stops before one of them.
// The evidence is every place of that word. The word before it asks for it.
func induction(s *source) *draft {
	n, rounds := 4+s.IntN(3), 1+s.IntN(2)
	words := s.pick(s.words.nouns, n+1)
	stop, other := s.IntN(n), words[n]
	if rounds == 1 {
		stop = 1 + s.IntN(n-1) // otherwise nothing of the second round is there
	}
	between := []string{" ", ", "}[s.IntN(2)]
	d := &draft{}
	d.fill(s.one(s.half(listHeads)), nil)
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

// agreementTemplates have a subject {s} and a noun of the other number {o} between it and its verb.
var agreementTemplates = []string{
	"It is clear that the {s} near the {o}",
	"I think that the {s} behind the {o}",
	"We know that the {s} from the {o} of the {p}",
	"They said that the {s} in the {o} next to the {p}",
	"Everyone says that the {s} beside the {o}",
	"You can see that the {s} of the {o}",
	"There is no doubt that the {s} above the {o}",
	"It turned out that the {s} under the {o}",
	"It seems to me that the {s} across from the {o}",
	"He told us that the {s} inside the {o}",
	"Nobody believes that the {s} outside the {o} of the {p}",
	"She wrote that the {s} close to the {o}",
}

// agreement makes a text of that kind. The evidence is the subject, replaced by its other number.
func agreement(s *source) *draft {
	subject, attractors := s.one(s.words.subjects), s.pick(s.words.attractors, 2)
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
	d := s.lead(s.one(s.half(agreementTemplates)), slots)
	d.answers, d.foils = answers, foils
	return d
}

// yearTemplates give a year {c}{d}{u} and ask for one that is not before it.
var yearTemplates = []string{
	"The {event} lasted from the year {c}{d}{u} to the year {c}",
	"The {event} went on from {c}{d}{u} to {c}",
	"In {c}{d}{u} the {event} began.|It ended in the year {c}",
	"In {c}{d}{u} a {event} started.|It was over in {c}",
	"The {event} took place between {c}{d}{u} and {c}",
	"The {event} ran from {c}{d}{u} until {c}",
	"They began the {event} in {c}{d}{u}.|They ended it in {c}",
	"They planned the {event} in {c}{d}{u}.|It was finished in {c}",
}

// greaterThan makes a text of that kind. The evidence is the digit of the decade.
func greaterThan(s *source) *draft {
	century := strconv.Itoa(11 + s.IntN(8))
	decades := s.pick([]string{"1", "2", "3", "4", "5", "6", "7", "8"}, 2)
	unit := strconv.Itoa(1 + s.IntN(8))
	d := s.sentence(s.one(s.half(yearTemplates)), map[string]slot{
		"event": {word: s.one(s.words.events)}, "c": {word: century, asks: true},
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

// copyTemplates state a sentence and repeat its beginning. {1} to {3} are things.
var copyTemplates = []string{
	"Teacher: {n} bought a {1}, a {2} and a {3}.|Student: {n} bought",
	"First copy: {n} found a {1}, a {2} and a {3}.|Second copy: {n} found",
	"Read this aloud. {n} needs a {1} for the {2} and the {3}.|Once more: {n} needs",
	"Say it twice. {n} took the {1} and the {2} to the {3}.|Again: {n} took",
	"First verse: {n} saw a {1} and a {2} by the {3}.|Second verse: {n} saw",
	"She said that {n} lost a {1}, a {2} and a {3}.|I repeat: {n} lost",
	"Write it down: {n} sold the {1}, the {2} and the {3}.|I wrote: {n} sold",
	"Line one: {n} made a {1}, a {2} and a {3}.|Line two: {n} made",
}

// copying makes a text of that kind: the sentence is repeated up to one of its things, which is the
// evidence.
func copying(s *source) *draft {
	template := s.one(s.half(copyTemplates))
	things := s.pick(s.words.nouns, 4)
	asked := s.IntN(3)
	slots := map[string]slot{"n": {word: s.one(s.words.names), asks: true}}
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
