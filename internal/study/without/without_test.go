package without_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/fakemodel"
	"github.com/headwater-ml/headwater/internal/study/scores"
	"github.com/headwater-ml/headwater/internal/study/without"
	"github.com/headwater-ml/headwater/internal/testhelp"
	"github.com/headwater-ml/headwater/models"
)

var must = testhelp.Must // ends a test at an error

// scoresTol bounds numbers in nats on the cache against those of a whole pass.
const scoresTol = 1e-5 // worst seen 2e-6

// checkScores compares the scores of a token with their formulas.
func checkScores(t *testing.T, what string, got *trace.TokenScores, p []float64, token int) {
	t.Helper()
	entropy, rank := 0.0, 1
	for _, x := range p {
		entropy -= x * math.Log(x)
		if x > p[token] {
			rank++
		}
	}
	if got == nil || math.Abs(got.Entropy-entropy) > scoresTol ||
		math.Abs(got.Surprisal+math.Log(p[token])) > scoresTol || got.Rank != rank {
		t.Errorf("%s: %+v, want entropy %v, surprisal %v, rank %d", what, got, entropy,
			-math.Log(p[token]), rank)
	}
}

// TestWithout compares all scores with brute force: one pass over each whole text.
func TestWithout(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	prompt := "mary has the red key . john has the blue lamp . who has the red key ? answer :"
	opts := attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 5,
		Studies: attribution.Studies{"without": "0:22", "prompt-scores": "true"},
	}
	e, err := attribution.Explain(context.Background(), m, prompt, opts)
	must(t, err)
	rest, err := m.Encode(prompt[22:], trace.SpecialsAuto)
	must(t, err)
	ids := e.TokenIDs()
	prompts, n := len(e.Prompt.IDs), len(e.Steps)
	with, answer := fakemodel.Distributions(t, m, ids), ids[prompts:]
	apart := fakemodel.Distributions(t, m, slices.Concat(trace.IDs(rest), answer))
	if len(scores.Of(e)) != prompts || scores.Of(e)[0] != nil {
		t.Fatalf("%d scores of %d prompt tokens, want none of the first", len(scores.Of(e)),
			prompts)
	}
	for j, s := range scores.Of(e)[1:] {
		checkScores(t, e.Prompt.Texts[j+1], s, with[j], ids[j+1])
	}
	kl, mean, squares := make([]float64, n), 0.0, 0.0
	for i, g := range e.Steps {
		p, q := with[prompts+i-1], apart[len(rest)+i-1]
		checkScores(t, g.Text, g.Scores, p, g.ID)
		for k := range p {
			kl[i] += p[k] * math.Log(p[k]/q[k])
		}
		mean += kl[i] / float64(n)
		gain := math.Log(p[g.ID] / q[g.ID])
		d := without.OfToken(g)
		if math.Abs(d.KL-kl[i]) > scoresTol || math.Abs(d.Gain-gain) > scoresTol {
			t.Errorf("%s: KL %v and gain %v, want %v and %v", g.Text, d.KL, d.Gain, kl[i], gain)
		}
	}
	for _, x := range kl {
		squares += (x - mean) * (x - mean)
	}
	threshold, sensitive := mean+math.Sqrt(squares/float64(n-1)), 0
	for i, g := range e.Steps {
		if without.OfToken(g).Sensitive != (kl[i] >= threshold) {
			t.Errorf("%s, KL %v: sensitive %v", g.Text, kl[i], without.OfToken(g).Sensitive)
		}
		if without.OfToken(g).Sensitive {
			sensitive++
		}
	}
	if math.Abs(without.Of(e).Threshold-threshold) > scoresTol || sensitive == 0 {
		t.Errorf("threshold %v with %d sensitive tokens, want %v", without.Of(e).Threshold,
			sensitive, threshold)
	}
	for x := range attribution.ExplainAll(context.Background(), m,
		slices.Values([]attribution.Text{{Prompt: prompt}, {Prompt: prompt}}), opts,
		attribution.Batching{}) {
		must(t, x.Err)
		if without.OfToken(x.Explanation.Steps[0]).KL != without.OfToken(e.Steps[0]).KL ||
			len(scores.Of(x.Explanation)) != prompts {
			t.Errorf("one of several texts has other scores: %+v", x.Explanation.Steps[0].Scores)
		}
	}
}

// TestPromptScoresUnderEdits: they are those of the edited model.
func TestPromptScoresUnderEdits(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	edit := trace.Edit{
		Tap: trace.HeadOutput, Layers: []int{1}, Heads: []int{2}, Change: trace.SetZero,
		Positions: []int{-2, -1},
	}
	e, err := attribution.Explain(context.Background(), m, "the keys to the cabinet",
		attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 1, Edits: []trace.Edit{edit},
			Studies: attribution.Studies{"prompt-scores": "true"},
		})
	must(t, err)
	n := len(e.Prompt.IDs)
	edit.Positions = []int{n - 2, n - 1}
	taps, err := m.Run(context.Background(), e.Prompt.IDs, []trace.Tap{trace.Logits},
		[]trace.Edit{edit})
	must(t, err)
	plain := fakemodel.Distributions(t, m, e.Prompt.IDs)
	for j, s := range scores.Of(e)[1:] {
		p := fakemodel.Softmax(taps[0].Data[j*m.Info().Vocab:][:m.Info().Vocab])
		checkScores(t, e.Prompt.Texts[j+1], s, p, e.Prompt.IDs[j+1])
		edited := math.Abs(s.Surprisal+math.Log(plain[j][e.Prompt.IDs[j+1]])) > scoresTol
		if edited != (j == n-2) {
			t.Errorf("%s: moved by the edit: %v", e.Prompt.Texts[j+1], edited)
		}
	}
}

// rereads is a model with a chat template and equal logits, and remembers the texts that it has
// read again.
type rereads struct {
	fakemodel.Talker
	texts *[][]int
}

func (m rereads) ReadLogits(_ context.Context, ids []int, _ []trace.Edit, first int,
	use func(position int, logits []float32) error,
) error {
	*m.texts = append(*m.texts, ids)
	for at := first; at < len(ids); at++ {
		if err := use(at, make([]float32, len(m.Words))); err != nil {
			return err
		}
	}
	return nil
}

// Converse puts the documents and the tools before the messages, and a system text of its own, w2,
// before a conversation without one.
func (m rereads) Converse(c trace.Conversation, prompt string) (string, []trace.Part, error) {
	text, parts, err := m.Talker.Converse(c, prompt)
	own := len(parts) > 0 && parts[0].Role != "system"
	if own {
		text = strings.Replace(text, "w0", "w0 w2", 1)
	}
	if c.Tools != nil {
		text = "w3 " + text
	}
	documents, _ := c.Variables["documents"].([]json.RawMessage)
	for _, d := range documents {
		text = strings.Trim(string(d), `"`) + " " + text
	}
	if at := strings.Index(text, "w2"); own {
		parts = append([]trace.Part{
			{Role: "system", Kind: trace.Added, Begin: at, End: at + 3},
		}, parts...)
	}
	return text, parts, err
}

func newRereads() rereads {
	m := rereads{fakemodel.Talker{Model: fakemodel.New(1, fakemodel.Evenly)}, new([][]int)}
	m.Edit = func(s *trace.Step) {
		s.Logits = make([]float32, len(m.Words))
		s.Next.Scores = &trace.TokenScores{Surprisal: 1}
	}
	return m
}

// chatOf is a conversation with every part that can be taken away.
func chatOf() attribution.Options {
	return attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 2, Conversation: trace.Conversation{
			System: "w5",
			Messages: []trace.Message{
				{Role: "user", Content: "w6"}, {Role: "assistant", Content: "w7"},
			},
			Variables: trace.Variables{
				"documents": []json.RawMessage{[]byte(`"w8"`), []byte(`"w9"`)},
			},
			Tools: json.RawMessage("[]"),
		},
	}
}

// TestWithoutParts: what each value of the option takes away, and that a template is applied again.
func TestWithoutParts(t *testing.T) {
	for part, want := range map[string]struct {
		text, name string
		own        bool // whether the template writes a system text of its own
	}{
		"system":     {"w9 w8 w3 w0 w2 w6 w7 w1 w4", "the system text", true},
		"turn:1":     {"w9 w8 w3 w0 w2 w6 w7 w1 w4", "turn 1", false},
		"turn:3":     {"w9 w8 w3 w0 w5 w6 w1 w4", "turn 3", false},
		"tools":      {"w9 w8 w0 w5 w6 w7 w1 w4", "the tools", false},
		"added":      {"w9 w8 w3 w0 w6 w7 w1 w4", "what the chat template adds", false},
		"document:2": {"w8 w3 w0 w5 w6 w7 w1 w4", "document 2", false},
		"documents":  {"w3 w0 w5 w6 w7 w1 w4", "the documents", false},
		"0:6":        {"w3 w0 w5 w6 w7 w1 w4", `"w9 w8"`, false},
		"3:6,12:15":  {"w9 w3 w0 w6 w7 w1 w4", `"w8" and "w5"`, false},
		"3:5,5:6":    {"w9 w3 w0 w5 w6 w7 w1 w4", `"w8"`, false},
	} {
		t.Run(part, func(t *testing.T) {
			m, opts := newRereads(), chatOf()
			if opts.Ask("without", part); part == "added" {
				opts.Conversation.System = ""
			}
			e, err := attribution.Explain(context.Background(), m, "w1", opts)
			must(t, err)
			// With the first token of the answer, w5.
			tokens, err := m.Encode(want.text+" w5", trace.SpecialsOff)
			must(t, err)
			w := without.Of(e)
			if w.Part != part || w.Text != want.text || w.Name != want.name ||
				w.Threshold != 1e-4 || want.own != slices.Contains(e.Warnings,
				"Without the system text, the chat template writes one of its own.") {
				t.Errorf("%+v with warnings %q, want %+v", w, e.Warnings, want)
			}
			if got := (*m.texts)[0]; len(*m.texts) != 1 || !slices.Equal(got, trace.IDs(tokens)) {
				t.Errorf("read %v, want the one text %v", *m.texts, trace.IDs(tokens))
			}
			// Equal logits are ln 31 from the token, and the model says 1.
			d := without.OfToken(e.Steps[1])
			if d.KL != 0 || math.Abs(d.Gain-math.Log(31)+1) > 1e-12 {
				t.Errorf("KL %v and gain %v, want 0 and ln 31 - 1", d.KL, d.Gain)
			}
		})
	}
}

// TestWithoutRefusals: one line for each part that is not there or cannot be taken away.
func TestWithoutRefusals(t *testing.T) {
	alone := attribution.Options{Methods: []string{"raw"}, Chat: true}
	plain := attribution.Options{Methods: []string{"raw"}}
	grouped := plain
	grouped.Target = "answer"
	spans := attribution.Options{
		Methods: []string{"raw"}, Studies: attribution.Studies{"prompt-scores": "true"}, By: "word",
	}
	refuses := newRereads()
	refuses.Refuse = errors.New("roles must alternate")
	accented := newRereads()
	accented.Words[1] = "é"
	for name, c := range map[string]struct {
		model trace.Model
		opts  attribution.Options
		part  string
		say   string
	}{
		"no conversation":         {newRereads(), plain, "system", "system: the prompt is no conversation, and has sentences, sentence:N, and bytes, 0:2; Options.Chat puts"},
		"no system message":       {newRereads(), alone, "system", "no message of the conversation is the system's; what its chat template adds by itself is added; this conversation has no part but its bytes, BEGIN:END"},
		"no tools":                {newRereads(), alone, "tools", "tools: the conversation has no tools; this conversation has no part"},
		"nothing added":           {newRereads(), chatOf(), "added", "added: the chat template adds no text by itself; the parts of this conversation are"},
		"no such turn":            {newRereads(), chatOf(), "turn:5", "turn:5: the conversation has 4 turns; the parts of this conversation are system, turn:2 (user), turn:3 (assistant), tools, documents, document:1, document:2, and bytes, BEGIN:END"},
		"the only turn":           {newRereads(), alone, "turn:1", "turn:1: it is the only turn, so nothing is left to read; this conversation has no part"},
		"the question":            {newRereads(), chatOf(), "turn:4", "ends with messages[2], the assistant's own"},
		"no documents":            {newRereads(), alone, "documents", "documents: the chat template is given no documents; they are a list, the variable documents of chat variables; this conversation has no part"},
		"no such document":        {newRereads(), chatOf(), "document:3", "there are 2 documents; the parts of this conversation are"},
		"bytes behind the end":    {newRereads(), plain, "0:9", "the text has bytes 0 to 2"},
		"all bytes":               {newRereads(), plain, "0:2", "nothing is left to read"},
		"half a character":        {accented, plain, "1:3", "it cuts a character in two"},
		"a target":                {newRereads(), grouped, "0:1", "leave the target out"},
		"no logits":               {newRereads().Talker, plain, "0:1", "does not tell what it predicts at every position"},
		"a template that refuses": {refuses, chatOf(), "system", "roles must alternate"},
		"an encoder":              {fakemodel.NewEncoder(1, fakemodel.Evenly), plain, "0:1", "is an encoder: it reads a text"},
		"scores of spans":         {newRereads(), spans, "", "leave by out"},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.Ask("without", c.part)
			prompt := "w1"
			if c.say == "it cuts a character in two" {
				prompt = "é w1"
			}
			_, err := attribution.Explain(context.Background(), c.model, prompt, c.opts)
			if err == nil || !strings.Contains(err.Error(), c.say) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one with %q", err, c.say)
			}
		})
	}
}

// TestGroupedScores: several tokens have no distribution of their own.
func TestGroupedScores(t *testing.T) {
	opts := attribution.Options{Methods: []string{"raw"}, MaxTokens: 3, Target: "1:3"}
	e, err := attribution.Explain(context.Background(), newRereads(), "w1", opts)
	must(t, err)
	if len(e.Steps) != 2 || e.Steps[0].Scores == nil || e.Steps[1].Scores != nil {
		t.Errorf("scores %+v, want those of the first token alone", e.Steps)
	}
}

// TestWithoutUnderEdits: the text without a part runs under the edits of the same tokens, which
// have other places there. Where one is at a token that is taken away, that is refused.
func TestWithoutUnderEdits(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	prompt := "mary has the red key . john has the blue lamp . who has the red key ? answer :"
	ids := func(text string) []int {
		tokens, err := m.Encode(text, trace.SpecialsAuto)
		must(t, err)
		return trace.IDs(tokens)
	}
	whole, rest := len(ids(prompt)), len(ids(prompt[22:]))
	edit := func(positions ...int) trace.Edit {
		return trace.Edit{
			Tap: trace.AttentionOutput, Layers: []int{2}, Change: trace.SetZero,
			Positions: positions,
		}
	}
	explain := func(edits ...trace.Edit) (*attribution.Explanation, error) {
		return attribution.Explain(context.Background(), m, prompt, attribution.Options{
			Methods: []string{"raw"}, MaxTokens: 4, Edits: edits,
			Studies: attribution.Studies{"without": "0:22"},
		})
	}
	// The last two tokens of the prompt, begin-of-text and the first token of the answer.
	e, err := explain(edit(-1, -2, 0, whole))
	must(t, err)
	answer := e.TokenIDs()[whole:]
	run := func(prompt []int, edits ...trace.Edit) (all [][]float64) {
		taps, err := m.Run(context.Background(), slices.Concat(prompt, answer),
			[]trace.Tap{trace.Logits}, edits)
		must(t, err)
		V := taps[0].Shape[1]
		for i := range answer {
			all = append(all, fakemodel.Softmax(taps[0].Data[(len(prompt)+i-1)*V:][:V]))
		}
		return all
	}
	p := run(ids(prompt), edit(whole-1, whole-2, 0, whole))
	q := run(ids(prompt[22:]), edit(rest-1, rest-2, 0, rest))
	unedited := run(ids(prompt[22:]))
	for i, g := range e.Steps {
		kl, other := 0.0, 0.0
		for k, x := range p[i] {
			kl += x * math.Log(x/q[i][k])
			other += x * math.Log(x/unedited[i][k])
		}
		if math.Abs(without.OfToken(g).KL-kl) > scoresTol || math.Abs(kl-other) < 10*scoresTol {
			t.Errorf("%s: KL %v, want %v; without the edits it is %v", g.Text,
				without.OfToken(g).KL, kl, other)
		}
	}
	if _, err := explain(edit(3)); err == nil || !strings.Contains(err.Error(),
		`at position 3, " the", which it takes away or changes`) {
		t.Errorf("an edit of what is taken away: error %v", err)
	}
}

// TestWithoutOtherwise: what a model would have said without a part is there where that is another
// token.
func TestWithoutOtherwise(t *testing.T) {
	m, err := models.Open(models.Default, models.Options{})
	must(t, err)
	prompt := "mary has the red key . john has the blue lamp . who has the red key ? answer :"
	e, err := attribution.Explain(context.Background(), m, prompt, attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 4, Studies: attribution.Studies{"without": "0:22"},
	})
	must(t, err)
	rest, err := m.Encode(prompt[22:], trace.SpecialsAuto)
	must(t, err)
	answer := e.TokenIDs()[len(e.Prompt.IDs):]
	q, other := fakemodel.Distributions(t, m, slices.Concat(trace.IDs(rest), answer)), 0
	for i, g := range e.Steps {
		p := q[len(rest)+i-1]
		best := slices.Index(p, slices.Max(p))
		switch o := without.OfToken(g).Otherwise; {
		case (o != nil) != (best != g.ID):
			t.Errorf("%s: otherwise %+v, want token %d", g.Text, o, best)
		case o == nil:
		case o.ID != best || math.Abs(o.Probability-p[best]) > scoresTol ||
			o.Text != m.TokenText(best):
			t.Errorf("%s: otherwise %+v, want token %d with %v", g.Text, o, best, p[best])
		default:
			other++
		}
	}
	if other == 0 || other == len(e.Steps) {
		t.Errorf("%d of %d tokens would be others, which tests nothing", other, len(e.Steps))
	}
}
