package planted_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/planted"
	"github.com/headwater-ml/headwater/models"
)

// The words that can be where a circuit does not look.
var (
	colors  = []string{"red", "blue", "green", "black", "white", "pink", "gray", "gold"}
	things  = []string{"lamp", "key", "cup", "box", "book", "ring", "coin", "shoe"}
	fillers = []string{"near", "under", "beside", "behind", "above", "below", "along", "across"}
	loud    = []string{"boom", "bang", "crash", "hey"}
	all     = slices.Concat(colors, things, fillers, loud, []string{"yes", "no"})
)

// circuit is what the tests know about a circuit independently of the package: which words may
// replace a word that is not evidence without any effect, and which may replace evidence i and must
// change the logit of the answer.
type circuit struct {
	free, other func(t planted.Text, i int) []string
}

func every(planted.Text, int) []string { return all }

var circuits = map[string]circuit{
	"planted-offset": {every, every},
	"planted-relay":  {every, every},
	"planted-induction": {
		free: func(t planted.Text, _ int) []string {
			return without(all, t.Words[len(t.Words)-1])
		},
		other: func(t planted.Text, _ int) []string {
			return without(all, t.Words[len(t.Words)-1])
		},
	},
	"planted-distractor": {free: func(planted.Text, int) []string { return without(all, colors...) }, other: every},
	"planted-sum": {every, func(t planted.Text, i int) []string {
		var others []string
		for _, w := range all {
			if i == t.Evidence[0] && planted.Doubt(w) != planted.Doubt(t.Words[i]) ||
				i == t.Evidence[1] && planted.Support(w) != planted.Support(t.Words[i]) {
				others = append(others, w)
			}
		}
		return others
	}},
	"planted-and": {every, func(planted.Text, int) []string { return without(all, things...) }},
	"planted-redundant": {
		free:  func(planted.Text, int) []string { return without(all, colors...) },
		other: func(planted.Text, int) []string { return colors },
	},
	"planted-soft": {every, func(t planted.Text, i int) []string {
		return slices.DeleteFunc(slices.Clone(all), func(w string) bool {
			return planted.Vote(w) == planted.Vote(t.Words[i])
		})
	}},
	"planted-sink":  {free: func(planted.Text, int) []string { return without(all, colors...) }, other: every},
	"planted-carry": {every, every},
}

// without returns the words that are not among some.
func without(words []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(words),
		func(w string) bool { return slices.Contains(some, w) })
}

// noEffect is how much a word that does not matter may move the logit, which is 16 or so.
const noEffect = 1e-5 // the worst seen is 0: not a bit

// Every answer is right and certain. Replacing a word that is not evidence does not move its logit,
// and replacing a piece of evidence does.
func TestCircuits(t *testing.T) {
	if len(circuits) != len(planted.Circuits()) {
		t.Errorf("%d circuits are tested of %v", len(circuits), planted.Names())
	}
	for _, c := range planted.Circuits() {
		t.Run(c.Name, func(t *testing.T) {
			m := open(t, c.Name)
			texts := c.Texts(40, 7)
			var queries []trace.Query
			for _, text := range texts {
				queries = append(queries, query(t, m, text.Words, text.Answer, trace.Probability))
			}
			for i, p := range predict(t, m, queries) {
				if !(p > .99) {
					t.Errorf("%q: the probability of %q is %v", texts[i].Prompt(), texts[i].Answer,
						p)
				}
			}
			rng := rand.New(rand.NewPCG(3, 3))
			worst := 0.0
			for _, text := range texts[:20] {
				worst = max(worst, perturb(t, m, rng, text, circuits[c.Name]))
			}
			t.Logf("the logit moves by at most %g without a change of evidence", worst)
		})
	}
}

// perturb replaces every word of a text, one after another, and then all but the evidence at once.
// It returns the largest change of the logit where there must be none.
func perturb(t *testing.T, m *models.Model, rng *rand.Rand, text planted.Text, c circuit) float64 {
	t.Helper()
	texts := [][]string{text.Words}
	shuffled := slices.Clone(text.Words)
	for i := range text.Words {
		words := slices.Clone(text.Words)
		if slices.Contains(text.Evidence, i) {
			words[i] = one(rng, without(c.other(text, i), words[i]))
		} else {
			words[i] = one(rng, without(c.free(text, i), words[i]))
			shuffled[i] = one(rng, c.free(text, i))
		}
		texts = append(texts, words)
	}
	texts = append(texts, shuffled)
	var queries []trace.Query
	for _, words := range texts {
		queries = append(queries, query(t, m, words, text.Answer, trace.Logit))
	}
	logits := predict(t, m, queries)
	worst := 0.0
	for k, logit := range logits[1:] {
		moved := math.Abs(logit - logits[0])
		if slices.Contains(text.Evidence, k) {
			if moved < .5 {
				t.Errorf("%q: evidence %d as %q moves the logit by %v", text.Prompt(), k,
					texts[k+1][k], moved)
			}
			continue
		}
		if worst = max(worst, moved); moved > noEffect {
			t.Errorf("%q: %q moves the logit by %v", text.Prompt(), strings.Join(texts[k+1], " "),
				moved)
		}
	}
	return worst
}

// Logits of the sum that are computed by hand, and an "and" with one condition or none.
func TestKnownLogits(t *testing.T) {
	m := open(t, "planted-sum")
	// the is not a word of the circuit
	text := planted.Text{Words: strings.Fields("key near the under red above shoe lamp")}
	got := predict(t, m, []trace.Query{query(t, m, text.Words, "yes", trace.Logit)})
	// "the" adds nothing, red is word 0: 16; 5 places before the last is "the".
	want := []float64{planted.Support("above")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logits of the sum (-want +got):\n%s", diff)
	}
	m = open(t, "planted-and")
	var queries []trace.Query
	for _, words := range []string{
		"key near near lamp near near", "key near near red near near",
		"red near near lamp near near", "red near near red near near",
	} {
		queries = append(queries, query(t, m, strings.Fields(words), "yes", trace.Logit))
	}
	if diff := cmp.Diff([]float64{16, 0, 0, 0}, predict(t, m, queries)); diff != "" {
		t.Errorf("logits of the and (-want +got):\n%s", diff)
	}
}

// In the redundant circuit either piece of evidence alone gives the logit that both give, exactly,
// and without both nothing is left.
func TestRedundant(t *testing.T) {
	m := open(t, "planted-redundant")
	var queries []trace.Query
	for _, words := range []string{
		"near red above red below", "near red above near below", "near key above red below",
		"near key above near below", "near red above blue below",
	} {
		queries = append(queries, query(t, m, strings.Fields(words), "red", trace.Logit))
	}
	if diff := cmp.Diff([]float64{16, 16, 16, 0, 8}, predict(t, m, queries)); diff != "" {
		t.Errorf("logits of red (-want +got):\n%s", diff)
	}
}

// The logit of planted-soft by hand. Red, blue, green and black are the words 0 to 3, so they have
// 10, 14, 18 and 10 votes: ¼·10 + ½·14 + ¾·18 + ½·10 = 28.
func TestSoft(t *testing.T) {
	m := open(t, "planted-soft")
	words := strings.Fields("near red blue green black near near")
	got := predict(t, m, []trace.Query{query(t, m, words, "yes", trace.Logit)})[0]
	// A score of 256 + ln 2 is rounded by up to 1.5e-5, and with it the attention.
	if math.Abs(got-28) > 1e-3 {
		t.Errorf("the logit is %v, want 28", got)
	}
}

// Texts have all promised lengths, equal seeds give equal texts, and spans are those of the words.
func TestTexts(t *testing.T) {
	for _, c := range planted.Circuits() {
		lengths := map[int]bool{}
		texts := c.Texts(200, 1)
		for _, text := range texts {
			lengths[len(text.Words)] = true
			if !slices.IsSorted(text.Evidence) || len(text.Evidence) == 0 ||
				text.Foil == text.Answer {
				t.Fatalf("%s: %+v", c.Name, text)
			}
			for _, i := range text.Evidence {
				if begin, end := text.Span(i); text.Prompt()[begin:end] != text.Words[i] {
					t.Errorf("%s: word %d of %q is not at %d..%d", c.Name, i, text.Prompt(), begin,
						end)
				}
			}
		}
		for n := 6; n <= 24; n++ {
			if !lengths[n] {
				t.Errorf("%s: no text of %d words", c.Name, n)
			}
		}
		if len(lengths) != 24-6+1 {
			t.Errorf("%s: texts of %d lengths", c.Name, len(lengths))
		}
		if diff := cmp.Diff(texts, c.Texts(200, 1)); diff != "" {
			t.Errorf("%s: the same seed gives (-first +second):\n%s", c.Name, diff)
		}
	}
}

// The words that the package offers as replacements are those that the tests expect.
func TestOthers(t *testing.T) {
	for _, c := range planted.Circuits() {
		for _, text := range c.Texts(30, 4) {
			for i, w := range text.Words {
				want := circuits[c.Name].free(text, i)
				if slices.Contains(text.Evidence, i) {
					want = circuits[c.Name].other(text, i)
				}
				want = slices.Sorted(slices.Values(without(want, w)))
				if got := slices.Sorted(slices.Values(c.Others(text, i))); !slices.Equal(got,
					want) || len(got) == 0 {
					t.Fatalf("%s: in the place of word %d of %q may stand %v, want %v", c.Name, i,
						text.Prompt(), got, want)
				}
			}
		}
	}
}

func TestLookup(t *testing.T) {
	if _, err := planted.Lookup("planted-parrot"); err == nil ||
		!strings.Contains(err.Error(), "planted-offset, planted-relay") {
		t.Errorf("error %v", err)
	}
	if _, err := models.Open("planted-parrot", models.Options{}); err == nil ||
		!strings.Contains(err.Error(), "planted-offset") {
		t.Errorf("error %v does not list the circuits", err)
	}
}

func open(t *testing.T, name string) *models.Model {
	t.Helper()
	m, err := models.Open(name, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// query asks for a number of a word behind a text.
func query(t *testing.T, m *models.Model, words []string, answer string,
	of trace.Quantity,
) trace.Query {
	t.Helper()
	tokens, err := m.Encode(strings.Join(words, " "), trace.SpecialsAuto)
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens) != len(words)+1 || !tokens[0].Special {
		t.Fatalf("%q is %v", words, tokens)
	}
	var q trace.Query
	for _, token := range tokens {
		q.IDs = append(q.IDs, token.ID)
	}
	if tokens, err = m.Encode(" "+answer, trace.SpecialsOff); err != nil || len(tokens) != 1 {
		t.Fatalf("%q is %v, %v", answer, tokens, err)
	}
	q.Objective = trace.Objective{Position: len(q.IDs) - 1, Token: tokens[0].ID, Quantity: of}
	return q
}

func predict(t *testing.T, m *models.Model, queries []trace.Query) []float64 {
	t.Helper()
	values, err := m.Predict(context.Background(), queries)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func one(rng *rand.Rand, words []string) string { return words[rng.IntN(len(words))] }
