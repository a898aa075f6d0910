package tiny

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The tests read documents with their own parser. It shares no table and no code with the
// generator: it recognises words by these lists and by the words around them.
var (
	pluralNouns = set(`keys lamps books boxes cups balls coins rings hats bags pens knives maps clocks drums
		bells ropes shoes coats brushes candles baskets mirrors bottles telescopes umbrellas trumpets lanterns
		kettles thimbles whistles saddles cabinets doors windows tables chairs shelves houses gardens roads
		bridges trees rivers boats wagons dogs cats horses birds wolves boys girls chimneys wardrobes
		lighthouses orchards carpenters scarecrows blacksmiths`)
	pluralVerbs = set(`are were have fall open close move shine break turn shake burn roll stand lean slide
		swing sink`)
	women = set(`mary anna alice emma sarah lucy jane kate rose ruth ella clara grace laura clementine
		josephine wilhelmina penelope genevieve rosalind`)
	men = set(`john peter tom paul james david mark henry jack sam george adam luke simon bartholomew
		nathaniel sebastian frederick ignatius theodore`)
	betweenNouns = set(`to near by behind under beside above on with from`)
	pronouns     = map[string]string{"she": "he", "he": "she", "her": "his", "his": "her"}
)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// lemmaOf undoes the plural by spelling.
func lemmaOf(w string) string {
	if !pluralNouns[w] {
		return w
	}
	switch w {
	case "knives":
		return "knife"
	case "shelves":
		return "shelf"
	case "wolves":
		return "wolf"
	case "boxes", "brushes":
		return strings.TrimSuffix(w, "es")
	}
	return strings.TrimSuffix(w, "s")
}

// A pair is two words in a relation. In recall, a name also forms pairs with the objects of other
// facts.
type pair struct {
	relation relation
	a, b     string
}

// A parsed document has the answers that the text implies, with their evidence, and its pairs.
type parsed struct {
	answers []expected
	pairs   []pair
}

// expected is an answer found in the text. sources, cues and queries are indices of words.
type expected struct {
	word           int
	form           string
	sources, cues  []int
	queries        []int
	foils          []string
	attractors     int
	attractorWords []string
}

// parse reads a document of the kind, or returns where it does not follow the grammar.
func parse(kind Kind, text string) (parsed, error) {
	words := strings.Split(text, " ")
	switch kind {
	case Recall:
		return parseRecall(words)
	case Copying:
		return parseList(words)
	}
	var p parsed
	start := 0
	for i, w := range words {
		if w != "." {
			continue
		}
		var err error
		if kind == Agreement {
			err = p.agreement(words[:i], start)
		} else {
			err = p.clause(words[:i], start)
		}
		if err != nil {
			return p, err
		}
		start = i + 1
	}
	if start != len(words) {
		return p, fmt.Errorf("text after the last point")
	}
	return p, nil
}

// agreement reads "the" [adjective] noun { preposition "the" [adjective] noun } verb ….
func (p *parsed) agreement(words []string, start int) error {
	var heads []int
	i := start
	for {
		if i >= len(words) || words[i] != "the" {
			return fmt.Errorf("no article at word %d", i)
		}
		// A noun is followed by a preposition or a verb, an adjective by a noun.
		const adjectives = "old new small big heavy broken rusty dirty clean wet dry cold warm safe"
		if i++; set(adjectives)[words[i]] {
			i++
		}
		heads = append(heads, i)
		if i++; !betweenNouns[words[i]] {
			break
		}
		i++
	}
	e := expected{word: i, sources: heads[:1], attractors: len(heads) - 1, form: "singular"}
	if pluralNouns[words[heads[0]]] {
		e.form = "plural"
	}
	if pluralVerbs[words[i]] != pluralNouns[words[heads[0]]] {
		return fmt.Errorf("verb %q does not agree with %q", words[i], words[heads[0]])
	}
	for _, h := range heads[1:] {
		e.attractorWords = append(e.attractorWords, words[h])
		p.pairs = append(p.pairs, pair{headAttractor, lemmaOf(words[heads[0]]), lemmaOf(words[h])})
	}
	e.foils = []string{otherNumber(words[i])}
	p.answers = append(p.answers, e)
	return nil
}

func otherNumber(v string) string {
	irregular := map[string]string{
		"is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has",
	}
	if o, ok := irregular[v]; ok {
		return o
	}
	if pluralVerbs[v] {
		return v + "s"
	}
	return strings.TrimSuffix(v, "s")
}

// clause reads a pronoun sentence: whatever it says, its pronouns mean its first word.
func (p *parsed) clause(words []string, start int) error {
	subject := words[start]
	if !women[subject] && !men[subject] {
		return fmt.Errorf("clause begins with %q", subject)
	}
	var persons []string
	var earlier []int
	for i := start + 1; i < len(words); i++ {
		if women[words[i]] || men[words[i]] {
			persons = append(persons, words[i])
			p.pairs = append(p.pairs, pair{nameFrame, words[i], words[start+1]})
		}
		wrong, ok := pronouns[words[i]]
		if !ok {
			continue
		}
		if (words[i] == "she" || words[i] == "her") != women[subject] {
			return fmt.Errorf("%q for %q", words[i], subject)
		}
		form := "subject"
		if words[i] == "her" || words[i] == "his" {
			form = "possessive"
		}
		p.answers = append(p.answers, expected{
			word: i, form: form, sources: []int{start}, cues: slices.Clone(earlier),
			foils:      []string{wrong},
			attractors: len(persons), attractorWords: slices.Clone(persons),
		})
		earlier = append(earlier, i)
	}
	if earlier == nil {
		return fmt.Errorf("clause of %q without pronoun", subject)
	}
	if !set("took kept forgot dropped packed sold")[words[start+1]] {
		p.pairs = append(p.pairs, pair{nameFrame, subject, words[start+1]})
	}
	return nil
}

// parseRecall reads facts in one of three wordings, "NAME has the COLOR OBJECT .", "NAME has the
// OBJECT ." or "NAME OBJECT .", and then questions in the same wording, or full facts once more.
func parseRecall(words []string) (parsed, error) {
	var p parsed
	length := slices.Index(words, ".") + 1 // of a fact
	if length != 6 && length != 5 && length != 3 {
		return p, fmt.Errorf("a fact of %d words", length)
	}
	objectAt := length - 2
	var facts []int // where each begins
	said := map[string]bool{}
	i := 0
	for ; i+length <= len(words) && words[i+length-1] == "." && words[i] != "who" &&
		!said[words[i]]; i += length {
		if length > 3 && (words[i+1] != "has" || words[i+2] != "the") {
			break
		}
		if slices.Contains(words[i:i+length], "?") {
			break
		}
		said[words[i]] = true
		facts = append(facts, i)
	}
	for _, f := range facts {
		for _, o := range facts {
			p.pairs = append(p.pairs, pair{nameObject, words[f], words[o+objectAt]})
			if length == 6 {
				p.pairs = append(p.pairs, pair{objectColor, words[o+4], words[f+3]})
			}
		}
	}
	ask := func(word int, form, key string, keyAt, answerAt int, queries []int, cueAt ...int) {
		e := expected{word: word, form: form, queries: queries, attractors: len(facts) - 1}
		for _, f := range facts {
			if words[f+keyAt] == key {
				e.sources = append(e.sources, f+answerAt)
				for _, c := range cueAt {
					e.cues = append(e.cues, f+c)
				}
				continue
			}
			e.foils = append(e.foils, words[f+answerAt])
		}
		p.answers = append(p.answers, e)
	}
	for i < len(words) {
		if length == 6 && said[words[i]] {
			ask(i+3, "what-color", words[i], 0, 3, []int{i}, 0)
			ask(i+4, "what-object", words[i], 0, 4, []int{i, i + 3}, 0, 3)
			i += 6
			continue
		}
		mark := i + slices.Index(words[i:], "?")
		if mark < i {
			return p, fmt.Errorf("no question at word %d", i)
		}
		switch q := strings.Join(words[i:mark], " "); {
		case length == 3 && mark == i+1 && said[words[i]]:
			ask(mark+1, "what-object", words[i], 0, 1, []int{i}, 0)
		case length == 3 && mark == i+1:
			ask(mark+1, "who", words[i], 1, 0, []int{i}, 1)
		case strings.HasPrefix(q, "who has the ") && mark == i+4:
			ask(mark+1, "who", words[mark-1], objectAt, 0, []int{mark - 1}, objectAt)
		case length == 6 && strings.HasPrefix(q, "who has the ") && mark == i+5:
			ask(mark+1, "who", words[mark-1], 4, 0, []int{mark - 1}, 4)
		case length == 6 && strings.HasPrefix(q, "what color is the ") && mark == i+5:
			ask(mark+1, "color", words[mark-1], 4, 3, []int{mark - 1}, 4)
		case strings.HasPrefix(q, "what does ") && words[mark-1] == "have" &&
			words[mark+1] == "the":
			if length == 6 {
				ask(mark+2, "what-color", words[i+2], 0, 3, []int{i + 2}, 0)
				ask(mark+3, "what-object", words[i+2], 0, 4, []int{i + 2, mark + 2}, 0, 3)
				break
			}
			ask(mark+2, "what-object", words[i+2], 0, 3, []int{i + 2}, 0)
		default:
			return p, fmt.Errorf("unknown question %q", q)
		}
		i = p.answers[len(p.answers)-1].word + 2
		if words[i-1] != "." {
			return p, fmt.Errorf("no point at word %d", i-1)
		}
	}
	return p, nil
}

// parseList reads "list : … again : … .".
func parseList(words []string) (parsed, error) {
	var p parsed
	again := slices.Index(words, "again")
	n := again - 2
	if n < 2 || words[0] != "list" || words[1] != ":" || words[again+1] != ":" ||
		len(words) != 2*n+5 {
		return p, fmt.Errorf("no list: %q", words)
	}
	items := words[2:again]
	for i, w := range items {
		if words[again+2+i] != w {
			return p, fmt.Errorf("copied %q for %q", words[again+2+i], w)
		}
		e := expected{word: again + 2 + i, form: "copy", sources: []int{2 + i}, attractors: n - 1}
		for j, foil := range items {
			if j != i {
				e.foils = append(e.foils, foil)
			}
		}
		p.answers = append(p.answers, e)
		if i > 0 {
			p.pairs = append(p.pairs, pair{neighbors, lemmaOf(items[i-1]), lemmaOf(w)})
		}
	}
	return p, nil
}

func mustParse(t *testing.T, d Document) parsed {
	t.Helper()
	p, err := parse(d.Kind, d.Text())
	if err != nil {
		t.Fatalf("%v %q: %v", d.Kind, d.Text(), err)
	}
	return p
}
