package render

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/evaluate"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/internal/testhelp/hostile"
)

// caused is a result with two documents, of which leave-one-out left out two sources only together.
func caused() *sources.Result {
	intercept := -4.5
	none := evaluate.Value(math.NaN())
	return &sources.Result{
		Model: trace.Info{Name: "fake"},
		Documents: []string{
			"The door is red. It is old.\n\nThe key is brass & <heavy>.", "A cat sleeps.",
		},
		Names: []string{"house.txt", "cat.txt"},
		Sources: []sources.Source{
			{Text: "The door is red.", Begin: 0, End: 16},
			{Text: "It is old.", Begin: 17, End: 27},
			{Text: "The key is brass & <heavy>.", Begin: 29, End: 56, Paragraph: 1},
			{Text: "A cat sleeps.", Document: 1, Begin: 0, End: 13, Paragraph: 2},
		},
		Prompt: "…", Answer: " It is red. Yes.",
		AnswerTokens: []string{" It", " is", " red", ".", " Yes", "."},
		Target:       "It is red.", TargetTokens: [2]int{0, 4},
		LogProbability: -1.25, WithoutSources: -9.5,
		Methods: []sources.Scores{
			{
				Method: sources.ContextCite, Unit: "change of the log-odds", Intercept: &intercept,
				Values: []evaluate.Value{6.25, 0, -1.5, 0}, LDS: 0.875, Passes: 64,
				Drops: []sources.Drop{{K: 1, Nats: 7.5}, {K: 3, Nats: 6.125}},
			},
			{
				Method: sources.LeaveOneOut, Unit: "change of the log-probability, nats",
				Values: []evaluate.Value{none, none, -0.25, 0.125}, LDS: none, Passes: 3,
				Groups: []sources.Group{{First: 0, End: 2, Value: 7.25}},
				Drops:  []sources.Drop{{K: 1, Nats: -0.5}},
			},
		},
		Ablations: 64, HeldOut: 32, Seed: 3, Penalty: 0.01,
		Passes: 104, TokensRead: 1200, TokensWhole: 4800,
		Warnings: []string{"The model never saw “brass”."},
	}
}

func TestSources(t *testing.T) {
	t.Run("text", func(t *testing.T) { golden(t, asText(Sources{Result: caused()})) })
	t.Run("color", func(t *testing.T) {
		golden(t, asText(Sources{Result: caused(), Top: 2}, Terminal{Width: 60, Color: true}))
	})
	t.Run("page", func(t *testing.T) {
		page := asPage(Sources{Result: caused(), Palette: "green-purple"})
		goldenOf(t, page, sourcesScript(), "sources.js")
	})
}

// TestSourcesLimit: documents that are too large are left out, and a sentence says so.
func TestSourcesLimit(t *testing.T) {
	r := caused()
	const limit = 30_000
	out := written(t, Sources{Result: r, MaxBytes: limit})
	if strings.Contains(out, "left out here") {
		t.Errorf("a small picture leaves something out:\n%s", out)
	}
	r.Documents[1] = "A cat sleeps." + strings.Repeat(" x", limit)
	out = written(t, Sources{Result: r, MaxBytes: limit})
	if len(out) > limit ||
		!strings.Contains(out, "The documents by leave-one-out are left out here") {
		t.Errorf("%d bytes, limit %d:\n%.3000s", len(out), limit, out)
	}
}

// TestHostileSources draws 10,000 hostile texts in each form of a result: none takes effect as
// anything but text.
func TestHostileSources(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 15))
	drawn := 0
	text := func() string {
		drawn++
		return hostile.Text(r)
	}
	for drawn < 10_000 {
		result := caused()
		document := ""
		for i := range result.Sources {
			s := &result.Sources[i]
			s.Text = "x" + text()
			s.Document, s.Begin = 0, len(document)
			document += s.Text
			s.End = len(document)
			document += text()
		}
		result.Documents, result.Names = []string{document}, []string{text()}
		if drawn%2 == 0 {
			result.Documents = append(result.Documents, text())
			result.Names = append(result.Names, text())
		}
		result.Answer, result.Target = text(), text()
		for i := range result.AnswerTokens {
			result.AnswerTokens[i] = text()
		}
		for i := range result.Methods {
			result.Methods[i].Method, result.Methods[i].Unit = text(), text()
		}
		result.Model.Name, result.Warnings[0] = text(), text()
		survives(t, strings.Replace(written(t, Sources{Result: result}),
			"<script>"+sourcesScript()+"</script>", "", 1))
		checkPrintable(t, "text", written(t, asText(Sources{Result: result})))
		checkPrintable(t, "page", written(t, asPage(Sources{Result: result})))
		if t.Failed() {
			t.Fatalf("seed 1, after %d texts", drawn)
		}
	}
}

// TestSourcesTextLimit: a text that would be too large lists fewer sources, and says so.
func TestSourcesTextLimit(t *testing.T) {
	r := caused()
	for range 2000 {
		r.Sources = append(r.Sources, r.Sources[0])
		for i := range r.Methods {
			r.Methods[i].Values = append(r.Methods[i].Values, 0)
		}
	}
	whole := written(t, asText(Sources{Result: r, Top: 2000}))
	small := written(t, asText(Sources{Result: r, Top: 2000}, Terminal{MaxBytes: 20_000}))
	if len(whole) < 50_000 || len(small) > 20_000 || len(small) < 9_000 {
		t.Errorf("%d bytes, and %d with the limit of 20,000", len(whole), len(small))
	}
	if !strings.Contains(small, "… and 1,") || !strings.Contains(small, "top 3: 6.12") {
		t.Errorf("what is left out is not said:\n%s", small)
	}
}

// TestSourcesSentence: the sentence names what the first method says, and groups as one.
func TestSourcesSentence(t *testing.T) {
	none := evaluate.Value(math.NaN())
	for _, c := range []struct {
		name, method string
		values       []evaluate.Value
		groups       []sources.Group
		want         string
	}{
		{
			"one of a sum", sources.ContextCite, []evaluate.Value{3, 1, -.5, 0}, nil,
			"It is red. came mostly from “The door is red.” (+3.00)",
		},
		{
			"a quarter of it", sources.ContextCite, []evaluate.Value{3, 1, -4, -2}, nil,
			"It is red. came in part from “The door is red.” (+3.00)",
		},
		{
			"two, and no sum", sources.LeaveOneOut, []evaluate.Value{1, 2, -.5, 0}, nil,
			"It is red. came from “It is old.” (+2.00) and “The door is red.” (+1.00)",
		},
		{
			"against it alone", sources.LeaveOneOut, []evaluate.Value{0, 0, -.5, 0}, nil,
			"It is red. came in spite of “The key is brass & <heavy>.” (−0.50)",
		},
		{
			"written as 0", sources.ContextCite, []evaluate.Value{.004, 0, -.004, 0}, nil,
			"No source stands out for It is red.",
		},
		{
			"a group", sources.LeaveOneOut, []evaluate.Value{none, none, -.25, .125},
			[]sources.Group{{First: 0, End: 2, Value: 7.25}},
			"It is red. came from the 2 sources from “The door is red.” to “It is old.” " +
				"together (+7.25)",
		},
	} {
		r := caused()
		r.Methods = r.Methods[:1]
		m := &r.Methods[0]
		m.Method, m.Values, m.Groups = c.method, c.values, c.groups
		if got := (Sources{Result: r}).sentence().String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
