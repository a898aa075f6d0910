package tiny

import (
	_ "embed"
	"fmt"
	"maps"
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

//go:embed words.txt
var wordText string

// pools are the pools of words.txt by their names, whose words may have slashes and bars.
var pools = func() map[string][]string {
	all := map[string][]string{}
	name := ""
	for line := range strings.Lines(wordText) {
		words := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(words) > 1 && words[1] == "=" {
			name, words = words[0], words[2:]
		}
		all[name] = append(all[name], words...)
	}
	return all
}()

// pool returns a pool of words.txt.
func pool(name string) []string {
	if pools[name] == nil {
		panic(fmt.Sprintf("tiny: words.txt has no pool %q", name))
	}
	return pools[name]
}

// wordsOf returns the words of a pool, without the bars of rare ones.
func wordsOf(name string) []string {
	var words []string
	for _, w := range pool(name) {
		words = append(words, strings.ReplaceAll(w, "|", ""))
	}
	return words
}

// formsOf returns the pairs of forms of a pool.
func formsOf(name string) []forms {
	var all []forms
	for _, pair := range wordsOf(name) {
		singular, plural, _ := strings.Cut(pair, "/")
		all = append(all, forms{singular, plural})
	}
	return all
}

// framesOf returns the frames of a pool.
func framesOf(name string) []frame {
	var all []frame
	for _, entry := range pool(name) {
		parts := strings.Split(entry, "/")
		is := func(what string) bool { return slices.Contains(parts[3:], what) }
		all = append(all, frame{
			verb: parts[0], person: parts[1], thing: parts[2], thingFirst: is("thingFirst"),
			alone: is("alone"), that: is("that"),
		})
	}
	return all
}

// The pools of words that the grammar draws from.
var (
	objects    = formsOf("objects")
	nouns      = slices.Concat(objects, formsOf("otherNouns"))
	females    = wordsOf("females")
	males      = wordsOf("males")
	names      = slices.Concat(females, males)
	colors     = wordsOf("colors")
	adjectives = wordsOf("adjectives")

	prepositions = wordsOf("prepositions")

	copula, past, perfect = forms{"is", "are"}, forms{"was", "were"}, forms{"has", "have"}

	lexicalVerbs = formsOf("lexicalVerbs")
	verbs        = slices.Concat([]forms{copula, past, perfect}, lexicalVerbs)
	participles  = wordsOf("participles")
	places       = wordsOf("places")
	adverbs      = wordsOf("adverbs")

	connectives     = wordsOf("connectives")
	moods           = wordsOf("moods")
	deeds           = wordsOf("deeds")
	wishes          = wordsOf("wishes")
	possessiveVerbs = wordsOf("possessiveVerbs")

	frames = framesOf("frames")

	// functionWords are the words that appear in the rules of the grammar.
	functionWords = wordsOf("functionWords")
)

// A frame is the main clause of a pronoun sentence: a verb, how it takes another person and how it
// takes a thing, each with the preposition before it ("" for none).
type frame struct {
	verb, person, thing string
	// thingFirst puts the thing, which is then always present, before the person.
	thingFirst bool
	// alone reports whether the clause may have no other person.
	alone bool
	// that reports whether the clause takes "that" and no thing.
	that bool
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

func buildLexicon() []Word {
	byText := make(map[string]Word)
	add := func(entries ...string) {
		text := strings.ReplaceAll(strings.Join(entries, " "), "/", " ")
		for entry := range strings.FieldsSeq(text) {
			w := Word{Text: strings.ReplaceAll(entry, "|", "")}
			if strings.Contains(entry, "|") {
				w.Pieces = strings.Split(entry, "|")
			}
			if _, ok := byText[w.Text]; !ok {
				byText[w.Text] = w
			}
		}
	}
	add("the", "list")
	for _, name := range []string{
		"females", "males", "objects", "otherNouns", "colors", "lexicalVerbs", "functionWords",
		"adjectives", "prepositions", "participles", "places", "adverbs", "connectives", "moods",
		"deeds", "wishes", "possessiveVerbs",
	} {
		add(pool(name)...)
	}
	for _, v := range verbs {
		add(v.singular, v.plural)
	}
	for _, f := range frames {
		add(f.verb)
	}
	return slices.SortedFunc(maps.Values(byText), func(a, b Word) int {
		return strings.Compare(a.Text, b.Text)
	})
}
