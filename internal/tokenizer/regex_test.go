package tokenizer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/google/go-cmp/cmp"
)

// TestRegexLikeAnother compares the matches of random patterns with those of another engine that
// searches by backtracking, regexp2.
func TestRegexLikeAnother(t *testing.T) {
	const patterns, texts = 4000, 6
	random := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range patterns {
		source, _ := randomPattern(random, 2)
		mine, err := newRegex(source)
		if err != nil {
			continue // what the parser refuses
		}
		tree, err := parseRegex(source)
		must(t, err)
		re, err := regexp2.Compile(sourceOf(tree), regexp2.None)
		if err != nil {
			t.Fatalf("%q is compiled here, and not there: %v", sourceOf(tree), err)
		}
		re.MatchTimeout = 20 * time.Millisecond
		for range texts {
			text := randomText(random)
			want, err := otherMatches(re, text)
			if err != nil {
				continue // it took too long there, or failed
			}
			var got [][2]int
			err = mine.find(text, newMeter(len(text)), func(begin, end int) {
				got = append(got,
					[2]int{begin, end})
			})
			if err != nil && errors.Is(err, errLimit) {
				continue
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%q in %q: error %v (-regexp2 +here):\n%s", source, text, err, diff)
			}
			compared++
		}
	}
	if compared < patterns {
		t.Errorf("%d texts were compared, want at least %d", compared, patterns)
	}
}

// sourceOf returns a syntax tree in the syntax of regexp2.
func sourceOf(n *regexNode) string {
	var parts []string
	for _, each := range n.list {
		parts = append(parts, sourceOf(each))
	}
	body := strings.Join(parts, "")
	switch n.op {
	case opBegin:
		return `\A`
	case opEnd:
		return `\z`
	case opSplit:
		return "(?:" + strings.Join(parts, "|") + ")"
	case opAtomic:
		return "(?>" + body + ")"
	case opLook:
		return "(?" + map[bool]string{true: "<"}[n.behind] +
			map[bool]string{true: "!", false: "="}[n.negated] + body + ")"
	case opRepeat:
		high := ""
		if n.max >= 0 {
			high = strconv.Itoa(n.max)
		}
		return fmt.Sprintf("%s{%d,%s}", body, n.min, high) + map[bool]string{true: "?"}[n.lazy]
	case opSet:
		if len(n.set.runs) == 0 { // any character
			return `[\s\S]`
		}
		for _, r := range n.set.runs {
			body += fmt.Sprintf(`\x{%x}-\x{%x}`, r.first, r.last)
		}
		return "[" + map[bool]string{true: "^"}[n.set.negated] + body + "]"
	}
	return "(?:" + body + ")"
}

// otherMatches are the matches of regexp2, by byte. It panics on some patterns: an error.
func otherMatches(re *regexp2.Regexp, text string) (found [][2]int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var at []int
	for i := range text {
		at = append(at, i)
	}
	at = append(at, len(text))
	runes := []rune(text)
	for from, last := 0, -1; from <= len(runes); {
		m, err := re.FindRunesMatchStartingAt(runes, from)
		if err != nil || m == nil {
			return found, err
		}
		begin, end := m.Index, m.Index+m.Length
		if begin == end && end == last {
			from++
			continue
		}
		found = append(found, [2]int{at[begin], at[end]})
		from, last = end, end
	}
	return found, nil
}

// randomPattern returns a pattern and whether it may match the empty text. What may be empty is not
// repeated: regexp2 has wrong matches of some such loops, as "1{1,3}a*+(?: *)+?" of the empty text.
func randomPattern(r *rand.Rand, depth int) (string, bool) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var s strings.Builder
	empty, any := true, false
	for i := range 1 + r.IntN(4) {
		if i > 0 && r.IntN(5) == 0 {
			s.WriteString("|")
			any, empty = any || empty, true
		}
		one := false
		switch {
		case depth > 0 && r.IntN(3) == 0:
			open := pick("(?:", "(", "(?>", "(?i:", "(?=", "(?!", "(?<=", "(?<!")
			var inner string
			inner, one = randomPattern(r, depth-1)
			s.WriteString(open + inner + ")")
			one = one || strings.ContainsAny(open, "=!")
		case r.IntN(6) == 0:
			s.WriteString(pick("^", "$", `\A`, `\z`, ""))
			one = true
		default:
			s.WriteString(pick("a", "b", " ", `\s`, `\S`, `\p{L}`, `\P{L}`, `\p{N}`, `\w`, ".",
				"[ab]", "[^a1]",
				`[^\s\p{L}\p{N}]`, `[\p{Han}é]`, "é", "日", `\n`, "1", `[\x{1f600}-\x{1f64f}b]`))
		}
		if !one {
			q := pick("", "", "", "+", "{2}", "{1,3}", "{2,}", "+?", "++", "*", "?", "*?", "??",
				"*+", "?+", "{0,2}?")
			s.WriteString(q)
			one = strings.HasPrefix(q, "*") || strings.HasPrefix(q, "?") || strings.HasPrefix(q,
				"{0")
		}
		empty = empty && one
	}
	return s.String(), any || empty
}

func randomText(r *rand.Rand) string {
	chars := []string{
		"a", "b", "A", " ", " ", "\n", "1", "é", "日", "😀", "\u0301", ".", "\u00a0",
		"\U0001f600",
	}
	var s strings.Builder
	for range r.IntN(10) {
		s.WriteString(chars[r.IntN(len(chars))])
	}
	return s.String()
}

// TestRegexSteps has patterns that would take steps without end. The error comes after the same
// step each time, so that it does not depend on the machine.
func TestRegexSteps(t *testing.T) {
	for _, c := range []struct{ name, source, text string }{
		{"exponential", `(\w|\w\w)+!`, strings.Repeat("a", 200)},
		{"nested loops", `((a*)*)*b`, strings.Repeat("a", 200)},
		{"look-ahead to the end", `(?=.*b)a`, strings.Repeat("a", 5_000)},
		{"look-behind to the start", `(?<=b.*)a`, strings.Repeat("a", 5_000)},
		{"empty turns", `(?:(?:){0,9}|a?)*c`, strings.Repeat("a", 5_000)},
		{"long loop at every place", `(?:a|b)*c`, strings.Repeat("a", 10_000)},
	} {
		re, err := newRegex(c.source)
		must(t, err)
		var texts [2]string
		for i := range texts {
			start := time.Now()
			err = re.find(c.text, newMeter(len(c.text)), func(int, int) {})
			if err == nil || !errors.Is(err, errLimit) {
				t.Fatalf("%s: error %v, want errLimit", c.name, err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s: it took %v", c.name, took)
			}
			texts[i] = err.Error()
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: errors %q and %q differ", c.name, texts[0], texts[1])
		}
	}
}

// TestRegexSize has patterns that are short, and large when written out.
func TestRegexSize(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"counts of counts", `(?:(?:(?:ab){1000}){1000}){1000}`, "counts are too large"},
		{"empty counts", `(?:(?:(?:){1000}){1000}){1000}`, "counts are too large"},
		{"many classes", strings.Repeat(`\w`, 8000), "too many classes"},
		{"long", strings.Repeat("a", maxPattern+1), "the limit is 16384"},
	} {
		_, err := newRegex(c.source)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.200v, want %q", c.name, err, c.want)
		}
	}
	long := `(?:` + strings.Repeat(`a++`, 4000) + `)`
	if _, err := newRegex(long); err != nil {
		t.Errorf("many possessive loops: %.200v", err)
	}
}
