package tiny

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const trainingDocuments = 20000

// training returns the same documents of all kinds in turn on every call.
func training(n int) []Document {
	rng := rand.New(rand.NewPCG(1, 2))
	g := New(Train)
	documents := make([]Document, n)
	for i := range documents {
		documents[i] = g.Document(rng, Kinds()[i%len(Kinds())])
	}
	return documents
}

func TestDocumentsAreDeterministic(t *testing.T) {
	if diff := cmp.Diff(training(400), training(400)); diff != "" {
		t.Errorf("training documents differ between runs (-first +second):\n%s", diff)
	}
	for _, k := range Kinds() {
		a, b := New(HeldOut).Test(k, 50, 7), New(HeldOut).Test(k, 50, 7)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("Test(%v) differs between runs (-first +second):\n%s", k, diff)
		}
		if cmp.Equal(a, New(HeldOut).Test(k, 50, 8)) {
			t.Errorf("Test(%v) does not depend on the seed", k)
		}
	}
}

// The parser of the tests finds the answers and their evidence from the text alone.
func TestAnswersFollowFromTheText(t *testing.T) {
	documents := training(4000)
	for _, split := range []Split{Train, HeldOut} {
		for _, k := range Kinds() {
			documents = append(documents, New(split).Test(k, 500, 3)...)
		}
	}
	for _, d := range documents {
		want := mustParse(t, d).answers
		if len(d.Answers) != len(want) {
			t.Fatalf("%q has %d answers, want %d", d.Text(), len(d.Answers), len(want))
		}
		for i, a := range d.Answers {
			got := expected{
				word: a.Word, form: a.Form, sources: words(a, Source), cues: words(a, Cue),
				queries: words(a, Query),
				foils:   a.Alternatives, attractors: a.Attractors,
				attractorWords: want[i].attractorWords,
			}
			if fmt.Sprint(got) != fmt.Sprint(want[i]) {
				t.Fatalf("%q answer %d = %+v, want %+v", d.Text(), i, got, want[i])
			}
		}
	}
}

func words(a Answer, r Role) []int {
	var indices []int
	for _, e := range a.Evidence {
		if e.Role == r {
			indices = append(indices, e.Word)
		}
	}
	return indices
}

func TestSplitsNeverShareAPair(t *testing.T) {
	trained := make(map[pair]bool)
	for _, d := range training(trainingDocuments) {
		for _, p := range mustParse(t, d).pairs {
			if p.relation.heldOut(p.a, p.b) {
				t.Fatalf("training document %q has the held-out pair %v", d.Text(), p)
			}
			trained[p], trained[pair{p.relation, p.b, p.a}] = true, true
		}
	}
	for _, k := range Kinds() {
		for _, d := range New(HeldOut).Test(k, 2000, 1) {
			pairs := mustParse(t, d).pairs
			if len(pairs) == 0 {
				t.Fatalf("held-out document %q asks for no pair", d.Text())
			}
			for _, p := range pairs {
				if !p.relation.heldOut(p.a, p.b) || trained[p] {
					t.Fatalf("held-out document %q has the ordinary pair %v", d.Text(), p)
				}
			}
		}
	}
}

// Every ordinary pair that a small vocabulary allows occurs in training, so the splits differ
// because pairs are held out, and not because training is too short.
func TestOrdinaryPairsAreTrained(t *testing.T) {
	trained := make(map[pair]bool)
	for _, d := range training(trainingDocuments) {
		for _, p := range mustParse(t, d).pairs {
			trained[p] = true
		}
	}
	for _, n := range names {
		for _, o := range lemmas(objects) {
			if p := (pair{nameObject, n, o}); trained[p] == p.relation.heldOut(n, o) {
				t.Errorf("%v trained: %v", p, trained[p])
			}
		}
		for _, f := range frames {
			if p := (pair{nameFrame, n, f.verb}); trained[p] == p.relation.heldOut(n, f.verb) {
				t.Errorf("%v trained: %v", p, trained[p])
			}
		}
	}
}

func TestTestSetsAreDistinct(t *testing.T) {
	for _, split := range []Split{Train, HeldOut} {
		for _, k := range Kinds() {
			prompts := make(map[string]bool)
			for _, d := range New(split).Test(k, 3000, 5) {
				prompts[d.Prompt(d.Answers[0])] = true
			}
			if len(prompts) != 3000 {
				t.Errorf("Test(%v, 3000) of split %d has %d different prompts", k, split,
					len(prompts))
			}
		}
	}
}

func TestTestSetsAreBalanced(t *testing.T) {
	const n = 3600
	cells := map[Kind]int{Agreement: 6, Pronoun: 8, Recall: 9, Copying: 5}
	for _, k := range Kinds() {
		count := make(map[string]int)
		for _, d := range New(HeldOut).Test(k, n, 9) {
			e := mustParse(t, d).answers[0]
			cell := fmt.Sprint(e.form, e.attractors)
			if k == Pronoun {
				cell += fmt.Sprint(women[d.Words[0]])
			}
			count[cell]++
			for _, w := range e.attractorWords {
				if k == Agreement && pluralNouns[w] == (e.form == "plural") {
					t.Fatalf("attractor %q has the number of the subject in %q", w, d.Text())
				}
				if k == Pronoun && women[w] == women[d.Words[0]] {
					t.Fatalf("%q has the gender of the subject in %q", w, d.Text())
				}
			}
		}
		for cell, got := range count {
			if len(count) != cells[k] || got != n/cells[k] {
				t.Errorf("%v %s has %d of %d documents in %d cells, want %d cells alike",
					k, cell, got, n, len(count), cells[k])
			}
		}
	}
}

func TestTestPanicsBeyondItsSize(t *testing.T) {
	for _, n := range []int{-1, MaxTest + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Test(%d) did not panic", n)
				}
			}()
			New(HeldOut).Test(Recall, n, 0)
		}()
	}
	for _, k := range Kinds() {
		if got := len(New(HeldOut).Test(k, MaxTest, 0)); got != MaxTest {
			t.Errorf("Test(%v, MaxTest) has %d documents", k, got)
		}
	}
}

// Documents fit in a context of 64 tokens with two control tokens, even if every rare word takes
// three tokens.
func TestDocumentsAreShort(t *testing.T) {
	rare := make(map[string]int)
	for _, w := range Words() {
		if len(w.Pieces) > 0 {
			rare[w.Text] = 2
		}
	}
	long := 0
	documents := training(trainingDocuments)
	for _, d := range documents {
		tokens := len(d.Words)
		if tokens > 49 {
			t.Fatalf("%d words: %q", tokens, d.Text())
		}
		for _, w := range d.Words {
			tokens += rare[w]
		}
		if tokens > 62 {
			long++
		}
	}
	// If a document does not fit, a batch draws another one. Only documents with many rare names
	// are too long.
	if long > len(documents)/10 {
		t.Errorf("%d of %d documents have more than 62 tokens, want at most 10%%", long,
			len(documents))
	}
}

func TestSpans(t *testing.T) {
	for _, d := range training(40) {
		text := d.Text()
		end := 0
		for i, w := range d.Words {
			b, e := d.Span(i)
			if b != end || text[b:e] != strings.Repeat(" ", min(i, 1))+w {
				t.Fatalf("Span(%d) = [%d,%d) %q of %q, want %q after byte %d", i, b, e, text[b:e],
					text, w, end)
			}
			end = e
			if b, e := d.BareSpan(i); text[b:e] != w {
				t.Fatalf("BareSpan(%d) = %q, want %q", i, text[b:e], w)
			}
		}
		for _, a := range d.Answers {
			b, _ := d.Span(a.Word)
			if got := d.Prompt(a); got != text[:b] {
				t.Errorf("Prompt = %q, want %q", got, text[:b])
			}
		}
	}
}

func TestAccepts(t *testing.T) {
	d := New(HeldOut).Test(Agreement, 4, 1)[3] // the first of the plural cells
	a := d.Answers[0]
	for word, want := range map[string]bool{
		"are": true, "were": true, "have": true, "open": true, "is": false, "opens": false,
		"near": false, "": false,
	} {
		if got := d.Accepts(a, word); got != want {
			t.Errorf("Accepts(%q) in %q = %v, want %v", word, d.Text(), got, want)
		}
	}
	d = New(HeldOut).Test(Recall, 1, 1)[0]
	a = d.Answers[0]
	if !d.Accepts(a, d.Words[a.Word]) || d.Accepts(a, a.Alternatives[0]) {
		t.Errorf("Accepts is wrong about %q", d.Text())
	}
}

// The baseline is always wrong where every attractor misleads, and right as often as Chance says
// where it can only guess.
func TestBaselines(t *testing.T) {
	right := make(map[Kind]int)
	chance := make(map[Kind]float64)
	const n = 1800
	for _, k := range Kinds() {
		for _, d := range New(HeldOut).Test(k, n, 4) {
			a := d.Answers[0]
			guess := d.LastWord(a)
			if guess == d.Words[a.Word] {
				right[k]++
			} else if k != Copying && !slices.Contains(a.Alternatives, guess) {
				t.Fatalf("LastWord(%q) = %q, no alternative in %q", d.Prompt(a), guess,
					a.Alternatives)
			}
			chance[k] += Chance(a) / n
		}
	}
	if right[Agreement] != 0 || right[Pronoun] != 0 || right[Copying] != 0 {
		t.Errorf("last word right %v times, want 0 but for recall", right)
	}
	// The fact that is asked for is the last of two, three or four: (1/2+1/3+1/4)/3 = 13/36. The
	// tolerance is four standard deviations, 4·sqrt(13·23/36²/1800) = 0.045.
	if got := float64(right[Recall]) / n; got < 13./36-0.045 || got > 13./36+0.045 {
		t.Errorf("last word right in %.3f of recall, want 0.361", got)
	}
	// Lists of 3 to 7 words: (1/3+1/4+1/5+1/6+1/7)/5 = 153/700.
	want := map[Kind]float64{Agreement: 0.5, Pronoun: 0.5, Recall: 13. / 36, Copying: 153. / 700}
	for k, w := range want {
		if diff := chance[k] - w; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("mean Chance of %v = %v, want %v", k, chance[k], w)
		}
	}
}

func TestExamplesAreInTheGrammar(t *testing.T) {
	rest := map[Kind]string{Agreement: " there .", Pronoun: "", Recall: " .", Copying: ""}
	first := []Kind{Agreement, Recall, Pronoun}
	for i, e := range Examples() {
		if i < len(first) && e.Kind != first[i] {
			t.Errorf("example %d is of kind %v, want %v", i, e.Kind, first[i])
		}
		text := e.Prompt + " " + e.Expected + rest[e.Kind]
		switch {
		case e.Expected == "she" || e.Expected == "he":
			text += " was tired ."
		case e.Kind == Pronoun:
			text += " book ."
		case strings.HasSuffix(e.Prompt, "? the"):
			text = e.Prompt + " " + e.Expected + " cup ."
		case e.Kind == Copying:
			items, _, _ := strings.Cut(strings.TrimPrefix(e.Prompt, "list :"), " again")
			full := "list :" + items + " again :" + items + " ."
			if !strings.HasPrefix(full, text) {
				t.Errorf("%q does not begin with %q", full, text)
			}
			text = full
		}
		p, err := parse(e.Kind, text)
		if err != nil {
			t.Errorf("example %q: %v", text, err)
			continue
		}
		d := Document{Words: strings.Fields(text)}
		if !slices.ContainsFunc(p.answers,
			func(a expected) bool { return d.Prompt(Answer{Word: a.word}) == e.Prompt }) {
			t.Errorf("example %q is not followed by an answer", e.Prompt)
		}
		for _, pr := range p.pairs {
			if pr.relation.heldOut(pr.a, pr.b) != e.HeldOut {
				t.Errorf("example %q: HeldOut is %v, but not of %v", e.Prompt, e.HeldOut, pr)
			}
		}
		if unknown := UnknownWords(e.Prompt); unknown != nil {
			t.Errorf("example %q has unknown words %q", e.Prompt, unknown)
		}
	}
}
