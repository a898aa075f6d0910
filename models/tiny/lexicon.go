package tiny

import (
	"slices"
	"strings"
)

// A Word is an entry of the lexicon. The lexicon also has the punctuation ". : ?", which the
// grammar treats as words.
type Word struct {
	Text string
	// Pieces are two or three parts of a rare word; in a text the space comes before the first of
	// them. They are nil for common words. If a tokenizer counts the pieces instead of the word,
	// each piece becomes a token.
	Pieces []string
}

// forms are the singular and the plural of a noun, or the forms of a verb that agree with each.
type forms struct {
	singular, plural string
}

func (f forms) form(plural bool) string {
	if plural {
		return f.plural
	}
	return f.singular
}

// The tables below write a pair of forms as singular/plural. Rare words have bars where the
// tokenizer may cut them.
const (
	objectTable = `key/keys lamp/lamps book/books box/boxes cup/cups ball/balls coin/coins ring/rings
		hat/hats bag/bags pen/pens knife/knives map/maps clock/clocks drum/drums bell/bells rope/ropes
		shoe/shoes coat/coats brush/brushes candle/candles basket/baskets mirror/mirrors bottle/bottles
		te|lescope/te|lescopes um|brella/um|brellas trum|pet/trum|pets lan|tern/lan|terns
		ket|tle/ket|tles thim|ble/thim|bles whis|tle/whis|tles sad|dle/sad|dles`

	otherNounTable = `cabinet/cabinets door/doors window/windows table/tables chair/chairs
		shelf/shelves house/houses garden/gardens road/roads bridge/bridges tree/trees river/rivers
		boat/boats wagon/wagons dog/dogs cat/cats horse/horses bird/birds wolf/wolves boy/boys girl/girls
		chim|ney/chim|neys ward|robe/ward|robes lighth|ouse/lighth|ouses or|chard/or|chards
		carpen|ter/carpen|ters scare|crow/scare|crows black|smith/black|smiths`

	femaleTable = `mary anna alice emma sarah lucy jane kate rose ruth ella clara grace laura
		clem|entine jose|phine wilhel|mina pene|lope genev|ieve rosal|ind`

	maleTable = `john peter tom paul james david mark henry jack sam george adam luke simon
		bar|tholo|mew nathan|iel sebas|tian fred|erick ignat|ius theo|dore`

	colorTable = `red blue green yellow black white brown gray pink purple orange silver golden violet
		crimson tan`

	lexicalVerbTable = `falls/fall opens/open closes/close moves/move shines/shine breaks/break
		turns/turn shakes/shake burns/burn rolls/roll stands/stand leans/lean slides/slide swings/swing
		sinks/sink`
)

// The pools of words that the grammar draws from.
var (
	objects    = formsOf(objectTable)
	nouns      = slices.Concat(objects, formsOf(otherNounTable))
	females    = wordsOf(femaleTable)
	males      = wordsOf(maleTable)
	names      = slices.Concat(females, males)
	colors     = wordsOf(colorTable)
	adjectives = wordsOf("old new small big heavy broken rusty dirty clean wet dry cold warm safe")

	prepositions = wordsOf("to near by behind under beside above on with from")

	copula, past, perfect = forms{"is", "are"}, forms{"was", "were"}, forms{"has", "have"}

	lexicalVerbs = formsOf(lexicalVerbTable)
	verbs        = slices.Concat([]forms{copula, past, perfect}, lexicalVerbs)
	participles  = wordsOf("fallen vanished arrived changed faded")
	places       = wordsOf("here there")
	adverbs      = wordsOf("often slowly today")

	connectives     = wordsOf("because when after before while")
	moods           = wordsOf("tired late happy hungry alone angry")
	deeds           = wordsOf("left slept cried sang ate")
	wishes          = wordsOf("wanted needed liked")
	possessiveVerbs = wordsOf("took kept forgot dropped packed sold")

	// functionWords are the words that appear in the rules of the grammar.
	functionWords = wordsOf(`the . : ? and that she he her his who what does color list again about for
		at`)
)

// A frame is the main clause of a pronoun sentence: a verb, how it takes another person and how it
// takes a thing, each with the preposition before it ("" for none).
type frame struct {
	verb, person, thing string
	// thingFirst puts the thing, which is then always present, before the person.
	thingFirst bool
	// alone says that the clause may have no other person.
	alone bool
	// that says that the clause takes "that" and no thing.
	that bool
}

var frames = []frame{
	{verb: "talked", person: "to", thing: "about", alone: true},
	{verb: "spoke", person: "to", thing: "about", alone: true},
	{verb: "wrote", person: "to", thing: "about", alone: true},
	{verb: "argued", person: "with", thing: "about", alone: true},
	{verb: "walked", person: "with", thing: "to", alone: true},
	{verb: "traveled", person: "with", thing: "to", alone: true},
	{verb: "sat", person: "with", thing: "near", alone: true},
	{verb: "waited", person: "for", thing: "by", alone: true},
	{verb: "danced", person: "with", thing: "near", alone: true},
	{verb: "smiled", person: "at", thing: "near"},
	{verb: "shouted", person: "at", thing: "near"},
	{verb: "met", thing: "near"},
	{verb: "called", thing: "about"},
	{verb: "helped", thing: "with"},
	{verb: "thanked", thing: "for"},
	{verb: "followed", thing: "to"},
	{verb: "visited", thing: "near"},
	{verb: "asked", thing: "about"},
	{verb: "joined", thing: "by"},
	{verb: "watched", thing: "near"},
	{verb: "lost", person: "near", thingFirst: true, alone: true},
	{verb: "cleaned", person: "with", thingFirst: true, alone: true},
	{verb: "opened", person: "for", thingFirst: true, alone: true},
	{verb: "said", person: "to", that: true, alone: true},
}

// lexicon holds every word of the grammar, sorted; known is its index by text.
var (
	lexicon = buildLexicon()
	known   = func() map[string]int {
		index := make(map[string]int, len(lexicon))
		for i, w := range lexicon {
			index[w.Text] = i
		}
		return index
	}()
)

// Words returns every word of the grammar, sorted by bytes. The caller may modify the slice, but
// not the Pieces in it, which are shared.
func Words() []Word { return slices.Clone(lexicon) }

// UnknownWords returns the words of text that the grammar does not have, each once, in the order of
// the text. The result is nil if there are none. Words are separated by spaces, and case counts:
// neither "The" nor "rusty." is a word that the model knows.
func UnknownWords(text string) []string {
	var unknown []string
	seen := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		if _, ok := known[w]; ok || seen[w] {
			continue
		}
		seen[w] = true
		unknown = append(unknown, w)
	}
	return unknown
}

func buildLexicon() []Word {
	byText := make(map[string]Word)
	add := func(table string) {
		for entry := range strings.FieldsSeq(strings.ReplaceAll(table, "/", " ")) {
			w := Word{Text: strings.ReplaceAll(entry, "|", "")}
			if strings.Contains(entry, "|") {
				w.Pieces = strings.Split(entry, "|")
			}
			if _, ok := byText[w.Text]; !ok {
				byText[w.Text] = w
			}
		}
	}
	add("the list")
	add(femaleTable + " " + maleTable)
	for _, table := range []string{objectTable, otherNounTable, colorTable, lexicalVerbTable} {
		add(table)
	}
	for _, v := range verbs {
		add(v.singular + " " + v.plural)
	}
	for _, f := range frames {
		add(f.verb)
	}
	for _, pool := range [][]string{
		functionWords, adjectives, prepositions, participles, places, adverbs,
		connectives, moods, deeds, wishes, possessiveVerbs,
	} {
		add(strings.Join(pool, " "))
	}
	all := make([]Word, 0, len(byText))
	for _, w := range byText {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Word) int { return strings.Compare(a.Text, b.Text) })
	return all
}

func wordsOf(table string) []string {
	return strings.Fields(strings.ReplaceAll(table, "|", ""))
}

// formsOf reads pairs of forms, singular/plural.
func formsOf(table string) []forms {
	var fs []forms
	for _, pair := range wordsOf(table) {
		singular, plural, _ := strings.Cut(pair, "/")
		fs = append(fs, forms{singular, plural})
	}
	return fs
}
