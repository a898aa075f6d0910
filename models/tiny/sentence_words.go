package tiny

import (
	"cmp"
	"slices"
)

// The tables of words that sentences have beside those of the documents. Pairs of forms are written
// as singular/plural or singular/plural/base.
const (
	womenTable = `woman/women queen/queens sister/sisters aunt/aunts mother/mothers
		daughter/daughters actress/actresses lady/ladies niece/nieces waitress/waitresses`

	menTable = `man/men king/kings brother/brothers uncle/uncles father/fathers son/sons
		actor/actors gentleman/gentlemen nephew/nephews waiter/waiters`

	professionTable = `author/authors doctor/doctors teacher/teachers student/students
		painter/painters writer/writers singer/singers neighbor/neighbors lawyer/lawyers
		driver/drivers guest/guests pilot/pilots`

	relationalTable = `picture/pictures photo/photos drawing/drawings sketch/sketches
		story/stories list/lists copy/copies pile/piles collection/collections article/articles
		report/reports song/songs letter/letters plan/plans system/systems poster/posters`

	scaringTable = `scaring helping watching amusing annoying following pleasing worrying`
)

// The pools of words that sentences draw from.
var (
	womenForms  = formsOf(womenTable)
	menForms    = formsOf(menTable)
	professions = formsOf(professionTable)
	relational  = formsOf(relationalTable)
	// things are nouns that are no persons.
	things = func() []forms {
		all := slices.Clone(nouns)
		return slices.DeleteFunc(all, func(f forms) bool {
			return slices.Contains([]string{"boy", "girl", "carpenter", "blacksmith"}, f.singular)
		})
	}()
	// sentenceNouns are all nouns.
	sentenceNouns = slices.Concat(nouns, womenForms, menForms, professions, relational)
	femaleNouns   = slices.Concat(womenForms, formsOf("girl/girls"))
	maleNouns     = slices.Concat(menForms, formsOf("boy/boys"))

	femaleNames = slices.Concat(females, wordsOf("sara linda nina helen"))
	maleNames   = slices.Concat(males, wordsOf("marcus oscar robert martin"))

	sentencePrepositions = slices.Concat(prepositions, wordsOf("of in about"))
	// neutralDeterminers go with both numbers.
	neutralDeterminers = wordsOf("the the the the some no our")
	scaring            = wordsOf(scaringTable)

	// demonstratives are determiners that agree with their noun.
	demonstratives = formsOf("this/these that/those")

	// subjectVerbs are verbs after whose object a pronoun means the subject, with the prepositions
	// before the object and the thing. After objectVerbs it means the object.
	subjectVerbs = []frame{
		{verb: "talked", person: "to", thing: "about"},
		{verb: "spoke", person: "to", thing: "about"},
		{verb: "wrote", person: "to", thing: "about"},
		{verb: "told", thing: "about"},
		{verb: "convinced", thing: "of"},
		{verb: "informed", thing: "of"},
		{verb: "argued", person: "with", thing: "about"},
		{verb: "lied", person: "to", thing: "about"},
		{verb: "bored", thing: "with"},
		{verb: "impressed", thing: "with"},
	}
	objectVerbs = []frame{
		{verb: "thanked", thing: "for"},
		{verb: "praised", thing: "for"},
		{verb: "blamed", thing: "for"},
		{verb: "asked", thing: "about"},
		{verb: "reminded", thing: "of"},
		{verb: "questioned", thing: "about"},
		{verb: "helped", thing: "with"},
		{verb: "admired", thing: "for"},
		{verb: "envied", thing: "for"},
		{verb: "congratulated", thing: "on"},
	}
	// possessions are what a pronoun can own.
	possessions = wordsOf(`book love work story plan help idea courage song letters pictures house
		dogs report success coat drawings garden`)

	// transitive verbs are in the past tense and take a thing. reflexive verbs take a person.
	transitive = wordsOf(`bought sold painted lost found cleaned moved opened broke carried
		dropped kept liked wanted saw needed`)
	reflexive = wordsOf(`hurt saw blamed helped admired praised washed watched taught amused
		hated introduced defended surprised trusted described`)
	times = wordsOf("today yesterday again often")

	aspects = wordsOf(`film movie story plot music ending acting dialogue cast script scene
		director humor camera performance pace idea song costume picture lighting hero villain
		trailer`)
	positive = wordsOf(`wonderful great good brilliant charming funny moving clever lovely fresh
		beautiful superb delightful gripping elegant touching smart graceful vivid exciting
		perfect excellent sweet amazing`)
	negative = wordsOf(`terrible bad awful dull boring stupid ugly weak clumsy tedious horrible
		flat bland messy lazy silly annoying painful pointless shallow dreary stale lifeless
		dreadful`)
	// feelings are verbs with their base form, by polarity.
	positiveFeelings = formsOf("loved/love enjoyed/enjoy admired/admire praised/praise")
	negativeFeelings = formsOf("hated/hate disliked/dislike despised/despise regretted/regret")
	viewers          = wordsOf("i we they critics everyone")
	negations        = wordsOf("not never hardly")
	degrees          = wordsOf("very quite really truly rather")
	reviewAdjectives = wordsOf("new long french short old second last whole")

	sentenceFunctionWords = wordsOf(`the . , and but although this that these those some no our his
		her himself herself themselves is are was were has have did i of in about there here film`)
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
	return sorted(wordsOf(", that"), neutralDeterminers, adjectives, allForms(sentenceNouns),
		sentencePrepositions, transitive)
}

// maskedWords are the words of the sentences of the masked model, answers included.
func maskedWords() []string {
	words := slices.Concat(wordsOf(". her his herself himself themselves"), neutralDeterminers,
		adjectives, adverbs, participles, places, times, scaring, femaleNames, maleNames,
		possessions, transitive, reflexive, sentencePrepositions,
		allForms(sentenceNouns, demonstratives, verbs))
	for _, f := range slices.Concat(subjectVerbs, objectVerbs) {
		words = append(words, f.verb, f.person, f.thing)
	}
	return sorted(words)
}

// sentimentWords are the words of the sentences for sentiment.
func sentimentWords() []string {
	return sorted(wordsOf("the . , and but although did is was"), aspects, positive, negative,
		allForms(positiveFeelings, negativeFeelings), viewers, negations, degrees, reviewAdjectives)
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
