package verdict

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// text is the words of the text before a prediction, in order.
type text []word

// word is one of them.
type word struct {
	tokens []int // in rising order
	// text is the word without white space around it, spaced whether a space stands before it, and
	// key is the same for all its places.
	text, key string
	spaced    bool
	// value is what the method has of it, less the neutral value; 0 of what a picture never names.
	value float64
	// removable reports whether it can be taken away. plain reports whether it has a letter or a
	// digit and was written neither as a control token nor by a chat template, and begins whether
	// it is the first word of a sentence.
	removable, plain, begins bool
}

// text returns the words of the first n tokens, those before the word of a verdict, of which that
// of the token at stays cannot be taken away.
func (r *run) text(v *Verdict, removal *scorer.Removal, n, stays int) (text, error) {
	values, err := r.values(v, n)
	if err != nil {
		return nil, err
	}
	removable := make([]bool, n)
	for _, j := range removal.Removable() {
		if j < n {
			removable[j] = j != stays
		}
	}
	var words text
	var whole strings.Builder
	var at []int // the byte at which each word begins
	for begin, end := 0, 0; begin < n; begin = end {
		w := word{removable: true}
		spelled := ""
		for end = begin; end == begin || end < n && r.joins[end]; end++ {
			w.tokens = append(w.tokens, end)
			w.removable = w.removable && removable[end]
			spelled += units.WithoutMarks(textOf(r.e, end))
			if x := values[end]; r.e.Methods[v.Method].AddsUp {
				w.value += x
			} else {
				w.value = max(w.value, x)
			}
		}
		w.text, w.spaced = strings.TrimSpace(spelled), strings.HasPrefix(spelled, " ")
		w.key = strings.ToLower(w.text)
		own := !slices.ContainsFunc(w.tokens, r.template)
		w.plain = own && strings.ContainsFunc(w.text, units.InWord)
		if !w.plain {
			w.value = 0
		}
		words, at = append(words, w), append(at, whole.Len()+strings.Index(spelled, w.text))
		whole.WriteString(spelled)
	}
	sentences := units.SentenceRanges(whole.String())
	for i := range words {
		for len(sentences) > 1 && sentences[0][1] <= at[i] {
			sentences = sentences[1:]
		}
		words[i].begins = len(sentences) == 0 || sentences[0][0] >= at[i] ||
			!strings.ContainsFunc(whole.String()[sentences[0][0]:at[i]], units.InWord)
	}
	return words, nil
}

// template reports whether token j is a control token or was written by a chat template.
func (r *run) template(j int) bool {
	p := &r.e.Prompt
	return j < len(p.Texts) && (p.Special[j] ||
		slices.ContainsFunc(p.Parts, func(part trace.Part) bool {
			at := p.Offsets[j][0]
			return part.Kind != trace.Words && part.Begin <= at && at < part.End
		}))
}

// values returns what the method has of the first n tokens for the word of a verdict, less the
// neutral value: the sum over its rows or, where values do not add up, the highest. Sinks, of which
// a picture names none, have 0.
func (r *run) values(v *Verdict, n int) ([]float64, error) {
	result, values := r.e.Methods[v.Method], make([]float64, n)
	if result.Evidence == trace.Chance {
		return values, nil
	}
	if err := r.findSinks(); err != nil {
		return nil, err
	}
	neutral := 0.0
	if result.Quantity == attribution.Lift {
		neutral = 1
	}
	for t := v.Rows[0]; t < v.Rows[1]; t++ {
		if r.silent[t] != "" {
			continue
		}
		row := result.Row(t, result.Level(t))
		for j, x := range row[:min(n, len(row))] {
			switch x -= neutral; {
			case j == r.rowSinks[t] || r.e.RestsOn(result, j) ||
				slices.ContainsFunc(r.sinks, func(s attribution.Sink) bool {
					return s.Position == j
				}):
			case result.AddsUp:
				values[j] += x
			default:
				values[j] = max(values[j], x)
			}
		}
	}
	return values, nil
}

// findSinks finds what the first method says nothing of, and its sinks.
func (r *run) findSinks() (err error) {
	if r.silent != nil {
		return nil
	}
	method := r.e.Order[0]
	if r.silent, err = r.e.Silent(method, attribution.ShownLevel); err != nil {
		return err
	}
	if r.sinks, err = r.e.Sinks(method, attribution.ShownLevel); err != nil {
		return err
	}
	r.rowSinks, err = r.e.RowSinks(method, attribution.ShownLevel)
	return err
}

// named returns the words that a picture names, the strongest first, each text once at its
// strongest place, as far as they can be taken away; see [NamedFrom].
func (t text) named() (named text) {
	bySize := slices.Clone(t)
	slices.SortStableFunc(bySize, func(a, b word) int { return cmp.Compare(b.value, a.value) })
	for _, w := range bySize {
		if w.value <= 0 || w.value < NamedFrom*bySize[0].value || len(named) == MostNamed {
			break
		}
		if !slices.ContainsFunc(named, func(other word) bool { return other.key == w.key }) {
			named = append(named, w)
		}
	}
	return slices.DeleteFunc(named, func(w word) bool { return !w.removable })
}

// against returns the word that is most against the answer, from half of the size of the strongest
// on, nil if there is none.
func (t text) against(strongest word) (found *word) {
	least := -againstFrom * strongest.value
	for i, w := range t {
		if w.value <= least && w.removable && w.plain && (found == nil || w.value < found.value) {
			found = &t[i]
		}
	}
	return found
}

// isName reports whether a word is a name: it begins with a capital letter within a sentence, here
// or at another place. A single letter, such as "I", is none.
func (t text) isName(w word) bool {
	capital := func(w word) bool {
		first, size := utf8.DecodeRuneInString(w.text)
		return unicode.IsUpper(first) && size < len(w.text)
	}
	return capital(w) && w.plain && slices.ContainsFunc(t, func(place word) bool {
		return place.key == w.key && capital(place) && !place.begins
	})
}

// exchange returns a name of the text to put in place of a named one, and its ids, nil if there is
// none or the answer is a name, a number or the same word. Names that also begin a sentence stand
// in for one that does, and of these the most frequent, the nearest of equals.
func (r *run) exchange(t text, w word, answer string) (name string, ids []int) {
	first, _ := utf8.DecodeRuneInString(answer)
	said := word{text: answer, key: strings.ToLower(answer), plain: true}
	if !t.isName(w) || unicode.IsDigit(first) || said.key == w.key || t.isName(said) {
		return "", nil
	}
	type candidate struct{ alike, places, distance int }
	of := map[string]candidate{}
	best, found := candidate{}, word{}
	for _, other := range t {
		if other.key == w.key || other.key == said.key || !t.isName(other) {
			continue
		}
		c := of[other.key]
		if other.begins == w.begins {
			c.alike = 1
		}
		near := -max(other.tokens[0]-w.tokens[0], w.tokens[0]-other.tokens[0])
		if c.places++; c.places == 1 || near > c.distance {
			c.distance = near
		}
		of[other.key] = c
		if found.tokens == nil || cmp.Or(cmp.Compare(c.alike, best.alike),
			cmp.Compare(c.places, best.places), cmp.Compare(c.distance, best.distance)) > 0 {
			best, found = c, other
		}
	}
	if found.tokens == nil {
		return "", nil
	}
	if i := slices.IndexFunc(t, func(place word) bool {
		return place.text == found.text && place.spaced == w.spaced
	}); i >= 0 {
		all := r.e.TokenIDs()
		for _, j := range t[i].tokens {
			ids = append(ids, all[j])
		}
		return found.text, ids
	}
	space := map[bool]string{true: " "}[w.spaced]
	tokens, err := r.Model.Encode(space+found.text, trace.SpecialsOff)
	if err != nil || len(tokens) == 0 {
		return "", nil
	}
	return found.text, trace.IDs(tokens)
}

// rival returns the word of the text that is the most probable other answer, of the same kind:
// numbers of numbers, and words with a capital letter of such ones; nil if none is at least a fifth
// as probable. How probable it is, the alternatives of the token tell at which it begins to differ.
func (r *run) rival(v *Verdict, t text, answer string) (found *word) {
	if v.Contrast != "" {
		return nil
	}
	ids, most := r.e.TokenIDs(), 0.0
	kind := func(text string) int {
		switch first, _ := utf8.DecodeRuneInString(text); {
		case unicode.IsDigit(first):
			return 0
		case unicode.IsUpper(first):
			return 1
		}
		return 2
	}
	steps := r.e.Steps[v.Rows[0]:v.Rows[1]]
	whole := 1.0
	for _, g := range steps {
		whole *= g.Probability
	}
	for i, w := range t {
		if !w.removable || !w.plain || kind(w.text) != kind(answer) ||
			w.key == strings.ToLower(answer) {
			continue
		}
		p := 1.0
		for k, g := range steps {
			if k == len(w.tokens) {
				break
			}
			id := ids[w.tokens[k]]
			if id == g.ID {
				p *= g.Probability
				continue
			}
			at := slices.IndexFunc(g.Alternatives, func(a attribution.Alternative) bool {
				return a.ID == id
			})
			if at >= 0 && p*g.Alternatives[at].Probability > max(most, rivalFrom*whole) {
				found, most = &t[i], p*g.Alternatives[at].Probability
			}
			break
		}
	}
	return found
}

// answer returns the text of some rows.
func (r *run) answer(rows [2]int) string {
	text := attribution.TextOf(r.e.Steps[rows[0]:rows[1]])
	return strings.TrimSpace(units.WithoutMarks(text))
}

// textOf returns token j of the text.
func textOf(e *attribution.Explanation, j int) string {
	if m := len(e.Prompt.Texts); j >= m {
		return e.Steps[j-m].Text
	}
	return e.Prompt.Texts[j]
}
