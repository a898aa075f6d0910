package tiny

import (
	"cmp"
	"slices"
	"strings"
)

// The pools of words that sentences draw from.
var (
	womenForms  = formsOf("women")
	menForms    = formsOf("men")
	professions = formsOf("professions")
	relational  = formsOf("relational")
	// things are nouns that are no persons.
	things = func() []forms {
		all := slices.Clone(nouns)
		return slices.DeleteFunc(all, func(f forms) bool {
			return slices.Contains([]string{"boy", "girl", "carpenter", "blacksmith"}, f.singular)
		})
	}()
	// sentenceNouns are all nouns.
	sentenceNouns = slices.Concat(nouns, womenForms, menForms, professions, relational)
	femaleNouns   = slices.Concat(womenForms, []forms{{"girl", "girls"}})
	maleNouns     = slices.Concat(menForms, []forms{{"boy", "boys"}})

	femaleNames = slices.Concat(females, wordsOf("moreFemales"))
	maleNames   = slices.Concat(males, wordsOf("moreMales"))

	sentencePrepositions = slices.Concat(prepositions, wordsOf("morePrepositions"))
	// neutralDeterminers go with both numbers.
	neutralDeterminers = wordsOf("neutralDeterminers")
	scaring            = wordsOf("scaring")

	// demonstratives are determiners that agree with their noun.
	demonstratives = formsOf("demonstratives")

	// subjectVerbs are verbs after whose object a pronoun means the subject, with the prepositions
	// before the object and the thing. After objectVerbs it means the object.
	subjectVerbs = framesOf("subjectVerbs")
	objectVerbs  = framesOf("objectVerbs")
	// possessions are what a pronoun can own.
	possessions = wordsOf("possessions")

	// transitive verbs are in the past tense and take a thing. reflexive verbs take a person.
	transitive = wordsOf("transitive")
	reflexive  = wordsOf("reflexive")
	times      = wordsOf("times")

	aspects  = wordsOf("aspects")
	positive = wordsOf("positive")
	negative = wordsOf("negative")
	// feelings are verbs with their base form, by polarity.
	positiveFeelings = formsOf("positiveFeelings")
	negativeFeelings = formsOf("negativeFeelings")
	viewers          = wordsOf("viewers")
	negations        = wordsOf("negations")
	degrees          = wordsOf("degrees")
	reviewAdjectives = wordsOf("reviewAdjectives")

	sentenceFunctionWords = wordsOf("sentenceFunctionWords")
)

// sentenceRanks orders the words of each pool by hash, as ranks does for the documents. A word that
// is in two pools has the rank of the first. The small pools come first, so that each has a word of
// every class.
var sentenceRanks = func() map[string]int {
	ranks := make(map[string]int)
	verbsOf := func(fs []frame) []string {
		var words []string
		for _, f := range fs {
			words = append(words, f.verb)
		}
		return words
	}
	for _, pool := range [][]string{
		lemmas(femaleNouns), lemmas(maleNouns), lemmas(professions), lemmas(relational),
		lemmas(sentenceNouns), femaleNames, maleNames, verbsOf(subjectVerbs), verbsOf(objectVerbs),
		transitive, reflexive, aspects, positive, negative,
	} {
		pool = slices.DeleteFunc(slices.Clone(pool), func(w string) bool {
			_, ok := ranks[w]
			return ok
		})
		slices.SortFunc(pool, func(a, b string) int { return cmp.Compare(hash(a), hash(b)) })
		for i, w := range pool {
			ranks[w] = i
		}
	}
	return ranks
}()

// sentenceWords returns the words of all sentences, sorted, each once, and without the mask token.
// They are the vocabulary of every encoder.
func sentenceWords() []string {
	return sorted(verbWords(), maskedWords(), sentimentWords(), sentenceFunctionWords)
}

// verbWords are the words of the sentences for verb number.
func verbWords() []string {
	return sorted(strings.Fields(", that"), neutralDeterminers, adjectives, allForms(sentenceNouns),
		sentencePrepositions, transitive)
}

// maskedWords are the words of the sentences of the masked model, answers included.
func maskedWords() []string {
	words := slices.Concat(strings.Fields(". her his herself himself themselves"),
		neutralDeterminers, adjectives, adverbs, participles, places, times, scaring, femaleNames,
		maleNames, possessions, transitive, reflexive, sentencePrepositions,
		allForms(sentenceNouns, demonstratives, verbs))
	for _, f := range slices.Concat(subjectVerbs, objectVerbs) {
		words = append(words, f.verb, f.person, f.thing)
	}
	return sorted(words)
}

// sentimentWords are the words of the sentences for sentiment.
func sentimentWords() []string {
	return sorted(strings.Fields("the . , and but although did is was"), aspects, positive,
		negative, allForms(positiveFeelings, negativeFeelings), viewers, negations, degrees,
		reviewAdjectives)
}

// allForms returns both forms of all words.
func allForms(pools ...[]forms) []string {
	var words []string
	for _, f := range slices.Concat(pools...) {
		words = append(words, f.singular, f.plural)
	}
	return words
}

// sorted joins pools of words, sorted and each word once.
func sorted(pools ...[]string) []string {
	all := slices.Concat(pools...)
	all = slices.DeleteFunc(all, func(w string) bool { return w == "" })
	slices.Sort(all)
	return slices.Compact(all)
}
