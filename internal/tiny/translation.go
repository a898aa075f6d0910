package tiny

import "strings"

// The texts of the model that translates are a little English and its Spanish:
//
//	source = place "," clause "." | clause [ place ] "."
//	clause = noun-phrase verb [ noun-phrase ]      place = preposition noun-phrase
//	noun-phrase = "the" [ adjective ] noun
//
//	target = clause [ place ] "."
//	noun-phrase of the target = article noun [ adjective ]
//
// So a place that comes first in the source comes last in the target, and an adjective follows its
// noun. The article and the adjective agree with their noun in gender and number, and the verb with
// its subject in number. "the" and the verbs of the source have neither. Whether the target begins
// with "el", "la", "los" or "las" is read from a noun that may be seven words away.

// A Link is that a word of a translation comes from a word of its source.
type Link struct {
	Target, Source int // indices of words
	// Agreement reports whether the word has only its gender or number from there. Other links are
	// those between a word and its translation. In the terms of Och and Ney (2003), links of
	// agreement are possible, and the others are sure.
	Agreement bool
}

// vocable is a word of the source and its forms in the target.
type vocable struct {
	forms        // of the source; only nouns have two
	target forms // of an adjective, the masculine singular alone
	female bool  // of a noun of the target
	place  int   // in its pool
}

// vocables returns the words of a pool of words.txt.
func vocables(name string) []vocable {
	var all []vocable
	for i, entry := range wordsOf(name) {
		p := strings.Split(entry, "/")
		v := vocable{forms: forms{p[0], p[0]}, place: i}
		switch len(p) {
		case 2:
			v.target.singular = p[1]
		case 3:
			v.target = forms{p[1], p[2]}
		default:
			v.forms, v.target, v.female = forms{p[0], p[1]}, forms{p[2], p[3]}, p[4] == "f"
		}
		all = append(all, v)
	}
	return all
}

// The pools of the texts to translate.
var (
	beings    = vocables("beings")
	goods     = vocables("goods")
	qualities = vocables("qualities")
	acts      = vocables("acts")      // verbs without an object
	handlings = vocables("handlings") // verbs with one
	relations = vocables("relations")
)

// vocableClasses is how many classes the words of a pool have, by their place in it. A noun and its
// adjective, a subject and its verb, and a verb and its object that are of one class are kept for
// testing. Two nouns of one class have different genders.
const vocableClasses = 8

// together reports whether this split may combine two words.
func (g *sentenceBuilder) together(a, b vocable) bool {
	return (a.place%vocableClasses == b.place%vocableClasses) == (g.split == HeldOut)
}

// partner returns a word of a pool that goes with another in this split.
func (g *sentenceBuilder) partner(pool []vocable, with vocable) vocable {
	return oneThat(&g.builder, pool, func(v vocable) bool { return g.together(v, with) })
}

// articles are those of the target, by whether they are feminine.
var articles = map[bool]forms{false: {"el", "los"}, true: {"la", "las"}}

// inflected returns the form of an adjective of the target, which ends in "o".
func (v vocable) inflected(female, plural bool) string {
	word := v.target.singular
	if female {
		word = strings.TrimSuffix(word, "o") + "a"
	}
	if plural {
		word += "s"
	}
	return word
}

// translationWords are the words of both languages.
func translationWords() []string {
	words := strings.Fields("the , .")
	for _, pool := range [][]vocable{beings, goods, acts, handlings, relations} {
		for _, v := range pool {
			words = append(words, v.singular, v.plural, v.target.singular, v.target.plural)
		}
	}
	for _, q := range qualities {
		words = append(words, q.singular)
		for _, female := range []bool{false, true} {
			words = append(words, q.inflected(female, false), q.inflected(female, true))
		}
	}
	return sorted(words, allForms([]forms{articles[false], articles[true]}))
}

// translator writes a sentence and its translation.
type translator struct {
	*sentenceBuilder
	s Sentence
	// ofNumber is whether the wrong answer is of another number, and not of another gender.
	ofNumber bool
	// others are the changes of the words of the source that leave a word of the target as it is.
	others []Change
}

// nounPhrase is one in the making.
type nounPhrase struct {
	pool    []vocable // that its noun is from
	noun    vocable
	plural  bool
	quality *vocable
	at      int // the index of its noun in the source
}

// translation makes a sentence whose answer is the first word of the target. The wrong answer has
// the other gender, or number. In a test so have all nouns beside the subject, and there is a
// place.
func translation(ofNumber bool) func(g *sentenceBuilder, cell int) Sentence {
	return func(g *sentenceBuilder, cell int) Sentence {
		test := cell >= 0
		gender, cell := g.choose(cell, 2)
		many, cell := g.choose(cell, 2)
		order, _ := g.choose(cell, 2)
		female, plural := gender == 1, many == 1
		t := &translator{g, Sentence{Form: "place last"}, ofNumber, nil}
		subject := t.phrase(beings, plural, func(v vocable) bool { return v.female == female })
		other := func(goes func(vocable) bool) *nounPhrase {
			t.s.Attractors++
			n := g.chance(0.5)
			if test && ofNumber {
				n = !plural
			}
			return t.phrase(goods, n, func(v vocable) bool {
				return goes(v) && (!test || ofNumber || v.female != female)
			})
		}
		objects := g.rng.IntN(2)
		verbs := [][]vocable{acts, handlings}[objects]
		verb := g.partner(verbs, subject.noun)
		var object, place *nounPhrase
		if objects == 1 {
			object = other(func(v vocable) bool { return g.together(v, verb) })
		}
		if test || g.chance(0.7) {
			place = other(func(vocable) bool { return true })
		}
		t.s.Right, t.s.Wrong = articles[female].form(plural), articles[!female].form(plural)
		if ofNumber {
			t.s.Wrong = articles[female].form(!plural)
		}
		t.s.Nearest = t.s.Right
		if place != nil && order == 1 {
			t.s.Form, t.s.Nearest = "place first", t.s.Wrong
		}
		t.clause(subject, verbs, verb, object, place)
		return t.s
	}
}

// phrase draws a noun phrase, half of them with an adjective.
func (t *translator) phrase(pool []vocable, plural bool, ok func(vocable) bool) *nounPhrase {
	p := &nounPhrase{pool: pool, noun: oneThat(&t.builder, pool, ok), plural: plural}
	if t.chance(0.5) {
		q := t.partner(qualities, p.noun)
		p.quality = &q
	}
	return p
}

// clause writes the source and the target; object and place may be nil.
func (t *translator) clause(
	subject *nounPhrase, verbs []vocable, verb vocable, object, place *nounPhrase,
) {
	relation, relationAt, first := vocable{}, 0, t.s.Form == "place first"
	if place != nil {
		relation = one(&t.builder, relations)
	}
	readPlace := func() {
		relationAt = t.read(relations, relation)
		t.readPhrase(place)
	}
	if first {
		readPlace()
		t.add(",")
	}
	t.readPhrase(subject)
	t.s.Evidence = []Evidence{{subject.at, Source}}
	verbAt := t.read(verbs, verb)
	if object != nil {
		t.readPhrase(object)
	}
	if place != nil && !first {
		readPlace()
	}
	end := t.add(".")
	t.s.Answer = end + 1

	t.writePhrase(subject)
	other := next(verbs, verb, anyWord)
	t.write(verb.target.form(subject.plural), verbAt,
		change(verbAt, other.singular, other.target.form(subject.plural)), subject.at)
	if object != nil {
		t.writePhrase(object)
	}
	if place != nil {
		other := next(relations, relation, anyWord)
		t.write(relation.target.singular, relationAt,
			change(relationAt, other.singular, other.target.singular))
		t.writePhrase(place)
	}
	t.write(".", end, Change{})
}

// next returns the first word after another in a pool, round and round, that is ok.
func next(pool []vocable, v vocable, ok func(vocable) bool) vocable {
	for i := 1; ; i++ {
		if w := pool[(v.place+i)%len(pool)]; ok(w) {
			return w
		}
	}
}

func anyWord(vocable) bool { return true }

// change is what may stand in place of a word of the source, and what a word of the target then is.
func change(word int, with, answer string) Change {
	return Change{Word: word, With: []Substitute{{with, answer}}}
}

// read appends a word of the source that has one form, and returns its index. The next word of its
// pool may stand in its place.
func (t *translator) read(pool []vocable, v vocable) int {
	at := t.add(v.singular)
	t.others = append(t.others, change(at, next(pool, v, anyWord).singular, ""))
	return at
}

// readPhrase appends a noun phrase to the source.
func (t *translator) readPhrase(p *nounPhrase) {
	t.add("the")
	if p.quality != nil {
		t.read(qualities, *p.quality)
	}
	p.at = t.add(p.noun.form(p.plural))
	noun, plural := t.opposed(p)
	t.others = append(t.others, change(p.at, noun.form(plural), ""))
}

// opposed returns the noun of a phrase in its other number, or a noun of the other gender.
func (t *translator) opposed(p *nounPhrase) (noun vocable, plural bool) {
	if t.ofNumber {
		return p.noun, !p.plural
	}
	return p.pool[(p.noun.place+vocableClasses)%len(p.pool)], p.plural
}

// writePhrase appends the translation of a noun phrase. Its article is another one with the noun
// that is opposed to its own. After the article, a noun can only be one that goes with it.
func (t *translator) writePhrase(p *nounPhrase) {
	the := p.at - 1
	if p.quality != nil {
		the--
	}
	opposed, plural := t.opposed(p)
	t.write(articles[p.noun.female].form(p.plural), the,
		change(p.at, opposed.form(plural), articles[opposed.female].form(plural)), p.at)
	alike := next(p.pool, p.noun, func(v vocable) bool { return v.female == p.noun.female })
	t.write(p.noun.target.form(p.plural), p.at,
		change(p.at, alike.form(p.plural), alike.target.form(p.plural)))
	if p.quality != nil {
		q := next(qualities, *p.quality, anyWord)
		t.write(p.quality.inflected(p.noun.female, p.plural), p.at-1,
			change(p.at-1, q.singular, q.inflected(p.noun.female, p.plural)), p.at)
	}
}

// write appends the translation of the word of the source with that index, which agrees with
// others. by is the change of the source that decides the word.
func (t *translator) write(word string, source int, by Change, agrees ...int) {
	at := len(t.s.Target)
	t.s.Target = append(t.s.Target, word)
	t.s.Links = append(t.s.Links, Link{at, source, false})
	for _, noun := range agrees {
		t.s.Links = append(t.s.Links, Link{at, noun, true})
	}
	var changes []Change // none of a full stop, which has no other word in its place
	for _, c := range t.others {
		if c.Word == by.Word {
			c = by
		}
		if by.With != nil {
			changes = append(changes, c)
		}
	}
	t.s.Changes = append(t.s.Changes, changes)
}
