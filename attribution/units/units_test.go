package units_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// tokensOf returns tokens, cut at bars; those in angle brackets are control tokens that
// are not in the text.
func tokensOf(cut string) units.Tokens {
	var p units.Tokens
	for _, text := range strings.Split(cut, "|") {
		special := strings.HasPrefix(text, "<")
		p.Texts, p.Special = append(p.Texts, text), append(p.Special, special)
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
func shown(spans []units.Span) string {
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
		{"several scripts", "日|本|語|。|はい", "日[0] 本[1] 語[2] 。[3] はい[4]", "日本語。[0 1 2 3] はい[4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := tokensOf(c.cut)
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
	p := tokensOf("the| keys| to| the| cabinet")
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

// Turns are the words of each message, tools, what the template added and each stretch of labels,
// named by their roles; what lies outside the text stays alone.
func TestTurns(t *testing.T) {
	p := tokensOf("[S]|Be| brief.|[E]|\n|[U]|Hi| there|[E]|[A]|hm|[/T]| Hello|.|[E]|[U]|f(x)|Bye|[E]|[A]\n")
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
	by, err := units.ParseGrouping("turn")
	if err != nil || by.String() != "turn" || by.OfTokens() {
		t.Errorf("%v, %v", by, err)
	}
	p.Parts[3].End = len(p.Text) + 1
	if _, err := p.Turns(); err == nil || errors.Is(err, trace.ErrUsage) {
		t.Errorf("a part outside the text: %v", err)
	}
	p.Parts = nil
	if _, err := by.Of(p, false); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "Options.Chat") {
		t.Errorf("no conversation: %v", err)
	}
	begun := tokensOf("<s>|[U]|Hi")
	begun.Parts = []trace.Part{
		{Role: "user", Kind: trace.Label, End: 3}, {Role: "user", Begin: 3, End: 5},
	}
	if spans, err := begun.Turns(); err != nil || shown(spans) != "<s>[0] label[1] user: Hi[2]" {
		t.Errorf("with a begin token: %s, %v", shown(spans), err)
	}
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
		p := units.Tokens{Text: text}
		for begin := 0; begin < len(text); { // tokens of some bytes, which may cut a character
			end := min(len(text), begin+1+int(step%5))
			p.Texts = append(p.Texts, text[begin:end])
			p.Offsets, p.Special = append(p.Offsets, [2]int{begin, end}), append(p.Special, false)
			begin = end
		}
		for _, spans := range [][]units.Span{p.Words(), p.Sentences()} {
			var all []int
			for _, s := range spans {
				all = append(all, s.Tokens...)
			}
			if slices.Sort(all); len(all) != len(p.Texts) ||
				len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("%q: tokens %d of %d are in spans", text, all, len(p.Texts))
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
	sentences, paragraphs := units.SentenceRanges, units.ParagraphRanges
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

func TestParseGrouping(t *testing.T) {
	p := tokensOf("<s>|the| key|s|.| John| left")
	for _, c := range []struct{ in, as, parts string }{
		{"", "", "<s>[0] the[1]  key[2] s[3] .[4]  John[5]  left[6]"},
		{"word", "word", "<s>[0] the[1] keys[2 3] .[4] John[5] left[6]"},
		{"sentence", "sentence", "<s>[0] the keys.[1 2 3 4] John left[5 6]"},
		{"0:8", "0:8", "<s>[0] the keys[1 2 3] .[4]  John[5]  left[6]"},
		{" 10:19, 0:3", "10:19,0:3", "<s>[0] the[1]  key[2] s[3] .[4] John left[5 6]"},
	} {
		d, err := units.ParseGrouping(c.in)
		if err != nil {
			t.Fatalf("%q: %v", c.in, err)
		}
		spans, err := d.Of(p, false)
		if got := shown(spans); err != nil || got != c.parts || d.String() != c.as ||
			d.OfTokens() != (c.in == "") {
			t.Errorf("%q groups as %q into %q, %v; want %q into %q", c.in, d, got, err,
				c.as, c.parts)
		}
	}
	for _, bad := range []string{
		"words", ":", "3", "3:3", "5:4", "-1:4", "0:4,", "0:4;5:6", "a:b",
		"0:99999999999999999999", "\x1b[31m",
	} {
		if _, err := units.ParseGrouping(bad); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), "BEGIN:END") {
			t.Errorf("ParseGrouping(%q) error %v, want what it takes", bad, err)
		}
	}
}

// What does not fit a text is known before a model has run.
func TestGroupingFits(t *testing.T) {
	for in, want := range map[string]string{
		"0:8,8:9": "", "word": "", "": "",
		"0:10":    "span 0 to 10; the text has bytes 0 to 9",
		"0:4,3:5": "spans 0 to 4 and 3 to 5 overlap",
	} {
		d, err := units.ParseGrouping(in)
		if err != nil {
			t.Fatal(err)
		}
		if err = d.Fits("the keys."); want == "" && err != nil || want != "" &&
			(!errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, as := range map[string]string{
		"": "", "answer": "answer", "word": "word", "sentence": "sentence",
		"sentence:3": "sentence:3", "word:12": "word:12", "4:9": "4:9",
		" 12:15, 4:9": "4:9,12:15", "0:4,4:6": "0:4,4:6",
	} {
		g, err := units.ParseTarget(in)
		if err != nil || g.String() != as || g.OfTokens() != (in == "") {
			t.Errorf("%q is %q, %v; want %q", in, g, err, as)
		}
	}
	for _, bad := range []string{
		"turn", "answers", "answer:1", "sentence:0", "sentence:-1", "sentence:", "sentence:x",
		"word:99999999999999999999", "4", "4:4", "0:4,3:6", "0:4,0:4", "0:4,", "-1:3", "\x1b[31m",
	} {
		if _, err := units.ParseTarget(bad); !errors.Is(err, trace.ErrUsage) ||
			!strings.Contains(err.Error(), "BEGIN:END") {
			t.Errorf("ParseTarget(%q): %v, want what it takes", bad, err)
		}
	}
}

// Every token is in one stretch. The control tokens that end a text are no part of the answer, one
// inside a sentence divides it, and a token that is in no word or sentence stays alone.
func TestTargetStretches(t *testing.T) {
	text := "<t>|The| key|s|.|\n|It| is|.|<e>|<e>"
	var texts []string
	var special []bool
	for part := range strings.SplitSeq(text, "|") {
		texts, special = append(texts, part), append(special, strings.HasPrefix(part, "<"))
	}
	for target, want := range map[string]string{
		"answer":     "[0 9) [9 11)rest",
		"sentence":   "[0 1) [1 5) [5 6) [6 9) [9 10) [10 11)",
		"sentence:2": "[0 6)rest [6 9) [9 11)rest",
		"word:2":     "[0 2)rest [2 4) [4 11)rest",
		"word":       "[0 1) [1 2) [2 4) [4 5) [5 6) [6 7) [7 8) [8 9) [9 10) [10 11)",
		"2:4,6:7":    "[0 2)rest [2 4) [4 6)rest [6 7) [7 11)rest",
		"0:11":       "[0 11)",
	} {
		g, err := units.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		got, lacks := g.Divide(units.Join(texts, special))
		if shown := stretches(got); lacks != "" || shown != want {
			t.Errorf("%s: %s, lacks %q; want %s", target, shown, lacks, want)
		}
	}
	inside := units.Join([]string{"The", " key", "<e>", "s", "."},
		[]bool{false, false, true, false, false})
	sentence, _ := units.ParseTarget("sentence")
	if got, lacks := sentence.Divide(inside); lacks != "" ||
		stretches(got) != "[0 2) [2 3) [3 5)" {
		t.Errorf("a control token inside: %s, lacks %q", stretches(got), lacks)
	}
	third, _ := units.ParseTarget("sentence:3")
	if _, lacks := third.Divide(inside); lacks != "the generated text has 2 sentences" {
		t.Errorf("a sentence that is not there: lacks %q", lacks)
	}
}

// stretches returns stretches as text: "[0 2) [2 3)rest".
func stretches(all []units.Stretch) string {
	var parts []string
	for _, s := range all {
		part := fmt.Sprintf("[%d %d)", s.Begin, s.End)
		if s.Rest {
			part += "rest"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}
