package attribution_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/study/heads"
	"github.com/headwater-ml/headwater/attribution/study/lens"
	"github.com/headwater-ml/headwater/attribution/study/verdict"
	"github.com/headwater-ml/headwater/attribution/study/without"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// promptOf returns a prompt of tokens, cut at bars; those in angle brackets are control tokens that
// are not in the text.
func promptOf(cut string) attribution.Prompt {
	var p attribution.Prompt
	for i, text := range strings.Split(cut, "|") {
		special := strings.HasPrefix(text, "<")
		p.IDs, p.Texts, p.Special = append(p.IDs, 100+i), append(p.Texts, text), append(p.Special,
			special)
		if special {
			p.Offsets = append(p.Offsets, [2]int{})
			continue
		}
		p.Offsets = append(p.Offsets, [2]int{len(p.Text), len(p.Text) + len(text)})
		p.Text += text
	}
	return p
}

// shown returns spans as text: what each says and its tokens.
func shown(spans []attribution.Span) string {
	var all []string
	for _, s := range spans {
		all = append(all, fmt.Sprintf("%s%v", s.Text, s.Tokens))
	}
	return strings.Join(all, " ")
}

func TestWordsAndSentences(t *testing.T) {
	for _, c := range []struct{ name, cut, words, sentences string }{
		{"subwords", "<s>|The| cab|inet| is| un|lock|ed|.", "<s>[0] The[1] cabinet[2 3] is[4] unlocked[5 6 7] .[8]", "<s>[0] The cabinet is unlocked.[1 2 3 4 5 6 7 8]"},
		{"inner marks", "don|'t| well|-|known| '|tis", "don't[0 1] well-known[2 3 4]  '[5] tis[6]", "don't well-known 'tis[0 1 2 3 4 5 6]"},
		{"marks in a token", "(the| key|),| 3.1|4", "(the[0] key[1] ),[2] 3.14[3 4]", "(the key), 3.14[0 1 2 3 4]"},
		{"sentences", "Hi|.| \"You|?\"| No", "Hi[0] .[1] \"You[2] ?\"[3] No[4]", "Hi.[0 1] \"You?\"[2 3] No[4]"},
		{"line break", "a|\n|\n|b", "a[0 1 2] b[3]", "a[0 1 2] b[3]"},
		{"full stop inside", "v1|.2| ok", "v1.2[0 1] ok[2]", "v1.2 ok[0 1 2]"},
		{"spaces alone", "<s>| |2| |+| |  |b|. | |<e>| |\n|c| ", "<s>[0] 2[1 2] +[3 4] b[5 6 7] . [8 9] <e>[10 11 12] c[13 14]", "<s>[0] 2 +   b.[1 2 3 4 5 6 7 8 9] <e>[10 11 12] c[13 14]"},
		{"a space as SentencePiece writes it", "<s>|▁|2", "<s>[0] 2[1 2]", "<s>[0] ▁2[1 2]"},
		{"a space between sentences", "Hi.| |You", "Hi.[0] You[1 2]", "Hi.[0] You[1 2]"},
		{"a line break first", "\n|a", "\n[0] a[1]", "\n[0] a[1]"},
		{"a program", "def f():|\n  |x = '. '|. k|\n  |y", "def f():[0 1] x = '. '[2] . k[3 4] y[5]", "def f():[0 1] x = '. '. k[2 3 4] y[5]"},
		{"several scripts", "日|本|語|。|はい", "日本語[0 1 2] 。[3] はい[4]", "日本語。[0 1 2 3] はい[4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := promptOf(c.cut)
			if got := shown(p.Words()); got != c.words {
				t.Errorf("words %q, want %q", got, c.words)
			}
			if got := shown(p.Sentences()); got != c.sentences {
				t.Errorf("sentences %q, want %q", got, c.sentences)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	p := promptOf("the| keys| to| the| cabinet")
	spans, err := p.Spans([2]int{12, 23}, [2]int{0, 8})
	if got := shown(spans); err != nil || got != "the keys[0 1]  to[2] the cabinet[3 4]" {
		t.Errorf("spans %q, %v", got, err)
	}
	for want, ranges := range map[string][][2]int{
		"span 0 to 40; the text has bytes 0 to 23": {{0, 40}},
		"span 3 to 3":                                       {{3, 3}},
		"spans 0 to 8 and 4 to 12 overlap":                  {{0, 8}, {4, 12}},
		`span 5 to 6, "e", holds the beginning of no token`: {{0, 5}, {5, 6}},
	} {
		if _, err := p.Spans(ranges...); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Spans(%v) error %v, want %q", ranges, err, want)
		}
	}
}

// Shares add up, flow gives the highest, and the share outside the prompt stays.
func TestGrouped(t *testing.T) {
	at := 2
	e := &attribution.Explanation{
		Studies: attribution.Findings{
			lens.Name: &lens.Text{}, heads.Name: &heads.Kinds{}, without.Name: &without.Part{},
		},
		Prompt: promptOf("a|b| c"), Steps: []attribution.GeneratedToken{
			{ID: 1, Studies: attribution.Findings{
				verdict.Name: &verdict.Verdict{Method: "rollout", Sources: []int{2}},
				without.Name: &without.Difference{},
			}},
			{ID: 2, Position: &at},
		}, Order: []string{"rollout", "flow"},
		Methods: map[string]*attribution.Result{
			"rollout": {
				Options: map[string]string{"aggregation": "rollout"}, Facts: attribution.Facts{Combined: true, AddsUp: true}, Layers: []int{0, 1},
				Shape: [3]int{2, 3, 2}, Rows: [][]float64{{1, 3, 5}, {2, 4, 6}, {7, 9, 11}, {8, 10, 12, 13}},
			},
			"flow": {
				Layers: []int{1},
				Shape:  [3]int{2, 3, 1}, Rows: [][]float64{{1, 2, 3}, {6, 5, 4}},
			},
			"score": {
				Facts: attribution.Facts{AddsUp: true, Scorer: true}, Layers: []int{1},
				Shape: [3]int{1, 3, 1}, Rows: [][]float64{{1, -2, 3}},
			},
		},
		Maps: map[string]*attribution.Map{
			"rollout": {
				Facts:  attribution.Facts{AddsUp: true},
				Layers: []int{0}, Shape: [3]int{1, 3, 3},
				Data: []float64{1, 0, 0, .25, .75, 0, .5, .25, .25},
			},
		},
	}
	before := fmt.Sprint(e.Methods["rollout"].Rows, e.Prompt, *e.Steps[1].Position)
	g, err := e.GroupSpans(e.Prompt.Words())
	must(t, err)
	near(t, "rollout", slices.Concat(g.Methods["rollout"].Rows...),
		[]float64{4, 5, 6, 6, 16, 11, 18, 12, 13}, 0)
	near(t, "flow", slices.Concat(g.Methods["flow"].Rows...), []float64{2, 3, 6, 4}, 0)
	near(t, "score", g.Methods["score"].Row(0, 0), []float64{-1, 3}, 0)
	near(t, "map", g.Maps["rollout"].Data, []float64{1, 0, .75, .25}, 0)
	if lens.Of(g) != nil || heads.Of(g) != nil || verdict.Of(g.Steps[0]) != nil ||
		verdict.Of(e.Steps[0]) == nil || without.Of(g) == nil ||
		without.OfToken(g.Steps[0]) == nil {
		t.Error("spans have the lens, kinds of heads or a verdict of tokens, or lack what was " +
			"without a part of the prompt, or the tokens lost something")
	}
	flow := g.Methods["flow"]
	got := fmt.Sprint(g.Prompt.Texts, g.Prompt.IDs, g.Prompt.Offsets, *g.Steps[1].Position,
		flow.Shape, flow.Options["spans"])
	if want := "[ab c] [100 102] [[0 2] [2 4]] 1 [2 2 1]highest of tokens"; got != want {
		t.Errorf("prompt %s, want %s", got, want)
	}
	if diff := cmp.Diff(before, fmt.Sprint(e.Methods["rollout"].Rows, e.Prompt,
		*e.Steps[1].Position)); diff != "" {
		t.Errorf("the original changed (-before +after):\n%s", diff)
	}
	// the first token and what a scorer took away as one name no word, nor do small values
	e.Methods["score"].Rows[0] = []float64{-8, 4, .4}
	e.Methods["rollout"].Options["spans"] = "taken away together"
	e.Order = []string{"rollout", "missing", "score"}
	all, err := e.GroupSpans([]attribution.Span{{Tokens: []int{0, 1, 2}}})
	must(t, err)
	some, err := e.GroupSpans([]attribution.Span{{Tokens: []int{1}}, {Tokens: []int{0, 2}}})
	must(t, err)
	got = fmt.Sprintf("%q %q", all.Prompt.Strongest, some.Prompt.Strongest)
	if got != `["ab"] ["" ""]` {
		t.Errorf("the strongest words are %s", got)
	}
	for want, spans := range map[string][]attribution.Span{
		`token 1, "b", is in no span`: {{Tokens: []int{0, 2}}},
		"token 0 is in two spans":     {{Tokens: []int{0, 1, 2}}, {Tokens: []int{0}}},
		"has token 3":                 {{Tokens: []int{3}}},
		"has no tokens":               {{}},
	} {
		if _, err := e.GroupSpans(spans); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// N3: a column's mean over the targets that see it.
func TestVisibility(t *testing.T) {
	m := &attribution.Map{Shape: [3]int{1, 3, 3}, Data: []float64{1, 0, 0, .5, .5, 0, .3, .3, .4}}
	near(t, "decoder", m.Visibility(0, 0), []float64{.6, .4, .4}, 1e-15)
	near(t, "encoder", m.Visibility(0, 3), []float64{.6, .8 / 3, .4 / 3}, 1e-15)
	near(t, "two stacks", m.Visibility(0, 2), []float64{.6, .8 / 3, .4}, 1e-15)
}

// Any text can be cut into words and sentences; no token is lost and none is in two.
func FuzzWords(f *testing.F) {
	for _, s := range []string{
		"", "a b", "don't", "\xff\xfe a.", "日本。 x", "<s>|a|\n", "「日。」本！？\xe3\x80 。\n）x",
		strings.Repeat("-'", 9),
	} {
		f.Add(s, uint(3))
	}
	f.Fuzz(func(t *testing.T, text string, step uint) {
		if len(text) > 1000 {
			t.Skip()
		}
		p := attribution.Prompt{Text: text}
		for begin := 0; begin < len(text); { // tokens of some bytes, which may cut a character
			end := min(len(text), begin+1+int(step%5))
			p.IDs, p.Texts = append(p.IDs, 0), append(p.Texts, text[begin:end])
			p.Offsets, p.Special = append(p.Offsets, [2]int{begin, end}), append(p.Special, false)
			begin = end
		}
		e := &attribution.Explanation{Prompt: p}
		for _, spans := range [][]attribution.Span{p.Words(), p.Sentences()} {
			if _, err := e.GroupSpans(spans); err != nil {
				t.Errorf("%q: %v", text, err)
			}
			for _, s := range spans {
				if utf8.ValidString(text) && step%5 == 0 && s.Begin > s.End {
					t.Errorf("%q: span %v", text, s)
				}
			}
		}
	})
}

// TestRangesOfText: sentences and paragraphs of a text without tokens, by hand.
func TestRangesOfText(t *testing.T) {
	const text = " A b! (C d.) 3.5 e\n \t\n\nf. G\nh \n"
	sentences, paragraphs := attribution.SentenceRanges, attribution.ParagraphRanges
	for _, c := range []struct {
		name, text string
		divide     func(string) [][2]int
		want       []string
	}{
		{"sentences", text, sentences, []string{"A b!", "(C d.)", "3.5 e", "f.", "G", "h"}},
		{"paragraphs", text, paragraphs, []string{"A b! (C d.) 3.5 e", "f. G\nh"}},
		{"Chinese", "张三有钥匙。李四有灯！“书吗？”她问。王五没有……（是的。）她说？！好\n完", sentences, []string{
			"张三有钥匙。", "李四有灯！", "“书吗？”", "她问。", "王五没有……（是的。）", "她说？！", "好", "完",
		}},
		{"Japanese", "「はい。」と言った。『本。』（注。） 次 v1.2の本。", sentences, []string{"「はい。」", "と言った。", "『本。』", "（注。）", "次 v1.2の本。"}},
		{"Hindi, Arabic and Urdu", "वह आया। वह गया। هل جاء؟ نعم. وہ آیا۔ ہاں", sentences, []string{
			"वह आया।", "वह गया।", "هل جاء؟", "نعم.", "وہ آیا۔", "ہاں",
		}},
		{"no sentence", " \n", sentences, nil},
		{"no paragraph", "", paragraphs, nil},
	} {
		var got []string
		for _, r := range c.divide(c.text) {
			got = append(got, c.text[r[0]:r[1]])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q, want %q", c.name, got, c.want)
		}
	}
}

// Turns are the words of each message, tools, what the template added and each stretch of labels,
// named by their roles; what lies outside the text stays alone.
func TestTurns(t *testing.T) {
	p := promptOf("[S]|Be| brief.|[E]|\n|[U]|Hi| there|[E]|[A]|hm|[/T]| Hello|.|[E]|[U]|f(x)|Bye|[E]|[A]\n")
	p.Special[0], p.Special[9] = true, true
	at := 0
	for _, c := range []struct {
		role     string
		turn     int
		bytes    string
		kind     trace.PartKind
		thinking bool
	}{
		{"system", 0, "[S]", trace.Label, false}, {"system", 0, "Be", trace.Added, false},
		{"system", 0, " brief.", trace.Words, false}, {"system", 0, "[E]\n", trace.Label, false},
		{"user", 1, "[U]", trace.Label, false}, {"user", 1, "Hi there", trace.Words, false},
		{"user", 1, "[E]", trace.Label, false}, {"assistant", 2, "[A]", trace.Label, false},
		{"assistant", 2, "hm", trace.Words, true}, {"assistant", 2, "[/T]", trace.Label, false},
		{"assistant", 2, " Hello.", trace.Words, false}, {"assistant", 2, "[E]", trace.Label, false},
		{"user", 3, "[U]", trace.Label, false}, {"user", 3, "f(x)", trace.Tools, false},
		{"user", 3, "Bye", trace.Words, false}, {"user", 3, "[E][A]\n", trace.Label, false},
	} {
		p.Parts = append(p.Parts, trace.Part{
			Role: c.role, Turn: c.turn, Kind: c.kind, Thinking: c.thinking,
			Begin: at, End: at + len(c.bytes),
		})
		at += len(c.bytes)
	}
	spans, err := p.Turns()
	want := "label[0] added: Be[1] system: brief.[2] label[3 4 5] user 1: Hi there[6 7] " +
		"label[8 9] assistant, thinking: hm[10] label[11] assistant: Hello.[12 13] label[14 15] " +
		"tools: f(x)[16] user 2: Bye[17] label[18 19]"
	if got := shown(spans); err != nil || got != want {
		t.Errorf("turns %s, %v\nwant  %s", got, err, want)
	}
	by, err := attribution.ParseGrouping("turn")
	if err != nil || by.String() != "turn" || by.Tokens() {
		t.Errorf("%v, %v", by, err)
	}
	p.Parts[3].End = len(p.Text) + 1
	if _, err := p.Turns(); err == nil || errors.Is(err, trace.ErrUsage) {
		t.Errorf("a part outside the text: %v", err)
	}
	p.Parts = nil
	if _, err := by.Of(&p); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "Options.Chat") {
		t.Errorf("no conversation: %v", err)
	}
	begun := promptOf("<s>|[U]|Hi")
	begun.Parts = []trace.Part{
		{Role: "user", Kind: trace.Label, End: 3}, {Role: "user", Begin: 3, End: 5},
	}
	if spans, err := begun.Turns(); err != nil || shown(spans) != "<s>[0] label[1] user: Hi[2]" {
		t.Errorf("with a begin token: %s, %v", shown(spans), err)
	}
}
