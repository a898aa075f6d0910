package tasks

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// common are words of templates and of filler, by what can stand in their place. The words of the
// lists of both splits are classes too.
var common = [][]string{
	list(`the a an this that some every our my your`),
	list(`in at on near behind beside from by under of to with for`),
	list(`is was seems became`),
	list(`are were`),
	list(`had has have`),
	list(`he she they we you I nobody someone it there one everyone`),
	list(`and or but while`),
	list(`when after as while before if because then since once`),
	list(`went came walked ran moved`),
	list(`gave handed showed sold passed offered sent brought lent returned mailed threw`),
	list(`worked met waited stayed talked`),
	list(`got arrived returned came`),
	list(`decided wanted tried hoped`),
	list(`sitting waiting standing leaving reading talking`),
	list(`give offer show send`),
	list(`together again alone later today yesterday`),
	list(`last next first second`),
	list(`week month year day morning evening`),
	list(`sat lay stood`),
	list(`down up out off back`),
	list(`works acts`), list(`keeps has owns feeds`), list(`plays likes hears`),
	list(`lives works sleeps`), list(`drives owns buys`), list(`lost found bought dropped`),
	list(`made built`), list(`born raised`), list(`brought served gave`),
	list(`ordered chose liked`), list(`afraid scared tired`), list(`fears likes hates`),
	list(`friend neighbor brother uncle cousin`), list(`animal creature pet`),
	list(`instrument thing`), list(`city town place`), list(`color colour shade`),
	list(`box bowl ring`), list(`car van truck`), list(`band group club`), list(`living job`),
	list(`waiter cook man`), list(`lunch dinner supper`), list(`where which that who what`),
	list(`ask wonder guess`), list(`does did`), list(`so now thus`),
	list(`capital center`), list(`country land place nation`), list(`comes arrives`),
	list(`flew went`), list(`spring summer winter`), list(`course luck`), list(`saw visited met`),
	list(`pairs words things`), list(`here there`), list(`goes runs`), list(`game lesson`),
	list(`table list page`), list(`list words items names`),
	list(`clear true known likely`), list(`think know hope say see believe`),
	list(`said thought knew says thinks`), list(`can could`),
	list(`lasted ran stretched`), list(`began started opened`), list(`ended stopped finished`),
	list(`over done`), list(`teacher student boy girl man`), list(`copy note part`),
	list(`aloud slowly twice once again`), list(`needs wants has`), list(`took carried`),
	list(`read say tell`), list(`more`),
	list(`warm cold long nice`), list(`quiet empty wide`), list(`hurry rush`),
	list(`people men women`), list(`music smoke`), list(`air wind`), list(`news food`),
	list(`good bad fine`), list(`barking running`), list(`plenty lots`), list(`time money`),
	list(`weather light`), list(`late early`), list(`room hall`), list(`full short`),
	list(`well badly`), list(`outside inside`), list(`rain snow`), list(`stopped started`),
	list(`coffee tea`), list(`hot cold`), list(`no any`), list(`much little`), list(`been become`),
	list(`street road`), list(`everything nothing`), list(`not never always`),
	list(`noon night midnight`), list(`soon later now`), list(`Sunday Friday Monday`),
	list(`quickly slowly`), list(`cousins twins friends parents`), list(`live work stay`),
	list(`inside outside`), list(`wait stay rest`), list(`read showed`),
	list(`knows says thinks`), list(`become be`), list(`school work`), list(`will may`),
	list(`party show`), list(`dressed seen`), list(`costume mask`), list(`children parents`),
	list(`toy doll`), list(`wears owns`), list(`coat hat`), list(`card stamp`),
	list(`painted colored`), list(`train bus`), list(`took missed`), list(`moving going`),
	list(`new old`), list(`home place`), list(`drawer closet`), list(`only first`),
	list(`bed desk`), list(`hid left`), list(`birthday party`), list(`sells wants`),
	list(`sale rent`), list(`word name`), list(`match join`), list(`aunt uncle`),
	list(`grew came`), list(`its their`), list(`drove walked`), list(`through across`),
	list(`stayed spent`), list(`capitals cities`), list(`doubt question`), list(`above below`),
	list(`turned came`), list(`me us him`), list(`told asked`), list(`believes thinks`),
	list(`wrote said`), list(`close next`), list(`took had`), list(`place part`),
	list(`between after`), list(`until till`), list(`planned opened`), list(`finished closed`),
	list(`verse part`), list(`repeat say`), list(`write put`), list(`line part`),
	list(`one two`), list(`items things`), list(`doing saying`),
	list(`. ! ;`), list(`, ;`), list(`- = :`),
}

// neutral are words for one of no known class.
var neutral = list(`thing so other really something somebody`)

// classes are the classes of all words, those of words of templates first, because a verb that is
// also in a list of pairs must keep the sense of its template.
var classes = allClasses()

func allClasses() (all [][]string) {
	all = append(all, common...)
	for _, w := range []*words{&heldOutWords, &devWords} {
		all = append(all, w.names, w.places, w.things, w.nouns, w.events, w.jobs, w.animals,
			w.instruments, w.cities, w.colors, w.metals, w.foods)
		for _, relation := range append([][]string{w.capitals, w.subjects, w.attractors},
			w.relations...) {
			var first, second []string
			for _, p := range relation {
				a, b, _ := strings.Cut(p, " ")
				first, second = append(first, a), append(second, b)
			}
			all = append(all, first, second)
		}
	}
	return all
}

// maxSubstitutes is the largest number of changes of one word. A word decides if the answer changes
// with each of them.
const maxSubstitutes = 2

// Changes returns the changes of a case's other words: up to two for every word and mark of
// punctuation outside its evidence that has no change in c yet. The word is replaced by one that
// can stand in its place, of as many tokens, that does not occur in the prompt and is neither
// answer nor foil. A word for which none is found has no change. Sentences of filler are replaced
// as a whole, each by another one, which saves passes through the model. The model is asked to
// encode, and for nothing else.
func Changes(m trace.Model, c evaluate.Case) ([]evaluate.Change, error) {
	changes := slices.Clone(c.Changes)
	used := map[string]bool{}
	for _, text := range slices.Concat([]string{c.Continuation, c.Contrast}, c.Answers, c.Foils) {
		used[strings.ToLower(strings.TrimSpace(text))] = true
	}
	words := spans(c.Prompt, c.Evidence)
	for _, span := range words {
		used[strings.ToLower(c.Prompt[span[0]:span[1]])] = true
	}
	isUsed := func(text string) bool {
		if unicode.IsDigit(rune(text[0])) {
			return false // any digit may be in an answer
		}
		return used[strings.ToLower(text)] ||
			strings.Contains(text, " ") && strings.Contains(c.Prompt, text)
	}
	for _, span := range slices.Concat(fillers(c), words) {
		has := func(have evaluate.Change) bool { return overlap(have.Span, span) }
		if slices.ContainsFunc(changes, has) {
			continue
		}
		found := 0
		for _, text := range substitutes(c.Prompt[span[0]:span[1]], span[0]) {
			change := evaluate.Change{Span: span, Text: text}
			if isUsed(text) {
				continue
			}
			fits, err := change.Fits(m, c.Prompt, trace.SpecialsAuto)
			if err != nil {
				return nil, err
			}
			if fits {
				changes, found = append(changes, change), found+1
			}
			if found == maxSubstitutes {
				break
			}
		}
	}
	return changes, nil
}

// fillers returns the bytes of the sentences of filler that have a substitute.
func fillers(c evaluate.Case) (all [][2]int) {
	for _, w := range []*words{&heldOutWords, &devWords} {
		for _, text := range w.fillers {
			if at := strings.Index(c.Prompt, text); at >= 0 {
				all = append(all, [2]int{at, at + len(text)})
			}
		}
	}
	return all
}

// spans returns the bytes of the words, the numbers and the marks of punctuation of a text, without
// those of the evidence.
func spans(text string, evidence [][2]int) (all [][2]int) {
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r):
			return 1
		case unicode.IsDigit(r):
			return 2
		case unicode.IsSpace(r):
			return 0
		}
		return 3
	}
	inside := func(at int) bool {
		return slices.ContainsFunc(evidence, func(e [2]int) bool { return e[0] <= at && at < e[1] })
	}
	begin, before := 0, 0
	for at, r := range text {
		now := class(r)
		if inside(at) {
			now = 0
		}
		if now != before {
			if before != 0 {
				all = append(all, [2]int{begin, at})
			}
			begin, before = at, now
		}
	}
	if before != 0 {
		all = append(all, [2]int{begin, len(text)})
	}
	return all
}

// overlap reports whether two ranges of bytes have a byte in common.
func overlap(a, b [2]int) bool { return a[0] < b[1] && b[0] < a[1] }

// substitutes returns what can stand in the place of a word, the best first: the other words of its
// classes, beginning at a place that depends on the word's position, then neutral words. A number
// is replaced by a neighbor of as many digits. Capital letters stay.
func substitutes(word string, at int) (all []string) {
	if unicode.IsDigit(rune(word[0])) {
		return numbers(word)
	}
	for _, w := range []*words{&heldOutWords, &devWords} {
		if slices.Contains(w.fillers, word) {
			return w.fillers
		}
	}
	key := word
	if !isClassed(word) {
		key = strings.ToLower(word)
	}
	for _, class := range classes {
		if k := slices.Index(class, key); k >= 0 {
			for i := range len(class) - 1 {
				other := class[(k+1+(i+at)%(len(class)-1))%len(class)]
				all = append(all, capitalized(other, word))
			}
		}
	}
	if unicode.IsLetter([]rune(word)[0]) {
		for _, other := range neutral {
			all = append(all, capitalized(other, word))
		}
	}
	return all
}

// isClassed reports whether a word, as it is written, is in a class.
func isClassed(word string) bool {
	return slices.ContainsFunc(classes, func(c []string) bool { return slices.Contains(c, word) })
}

// numbers returns numbers of as many digits whose last digit differs by one or two.
func numbers(word string) (all []string) {
	last := word[len(word)-1]
	for _, step := range []int{1, -1, 2, -2} {
		if d := int(last) + step; d >= '1' && d <= '9' {
			all = append(all, word[:len(word)-1]+string(rune(d)))
		}
	}
	return all
}

// capitalized returns a word with a capital letter if like has one.
func capitalized(word, like string) string {
	r, _ := utf8.DecodeRuneInString(like)
	if first, n := utf8.DecodeRuneInString(word); unicode.IsUpper(r) {
		return string(unicode.ToUpper(first)) + word[n:]
	}
	return word
}
