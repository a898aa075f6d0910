package render

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/units"
)

const defaultMaxBytes = 480_000

// NoMathematics are classes of elements in which notebooks do not typeset mathematics: those of
// MathJax 3 and of MathJax 2. Elsewhere, what stands between two dollars in a token or a message
// would become a formula.
const NoMathematics = "mathjax_ignore tex2jax_ignore"

//go:embed common.js
var commonSource string

// script returns what the scripts of all pictures share and a script of one kind, as one function,
// without comments and indentation, which each picture would repeat. It is made when the first
// picture of its kind needs it: a cell starts a program of its own, which draws one kind or none.
func script(source string) func() string {
	return sync.OnceValue(func() string {
		return "(() => {\n" + compact(commonSource) + compact(source) + "})();\n"
	})
}

// tighter are the operators of a script that need no space around them. Plus and minus need one
// before another, because two in a row are another operator.
var tighter = strings.NewReplacer(
	" + +", " + +", " - -", " - -", " + ", "+", " - ", "-", " += ", "+=", " <= ", "<=",
	" >= ", ">=", " / ", "/", ", ", ",", "; ", ";", " = ", "=", " => ", "=>", " === ", "===",
	" !== ", "!==", " && ", "&&", " || ", "||", " ? ", "?", " : ", ":", " < ", "<", " > ", ">",
	" * ", "*", ") { ", "){", ") {", "){", "{ ", "{", " }", "}",
)

// tight removes the spaces that a line of a script does not need. Texts in quotes stay as they are.
func tight(line string) string {
	var b strings.Builder
	for line != "" {
		begin := strings.IndexAny(line, `'"`)
		if begin < 0 {
			break
		}
		end := begin + 1
		for end < len(line) && line[end] != line[begin] {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(line))
		b.WriteString(tighter.Replace(line[:begin]) + line[begin:end])
		line = line[end:]
	}
	return b.String() + tighter.Replace(line)
}

// compact removes the comments that have lines of their own, indentation, spaces around operators,
// and line breaks that need not be there, after a semicolon, an opening brace or a comma.
func compact(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "/*") {
			b.WriteString(tight(line))
			if strings.Contains(line, "//") || !strings.ContainsAny(line[len(line)-1:], ";{,") {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// oneLine removes the line breaks of a style sheet.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "") }

// small is the inline style of notes. Its colour is that of the host, light or dark.
const small = "font-size:12px;opacity:.8"

// page is the state of writing a picture as HTML.
type page struct {
	*picture
	bytes.Buffer
	limit int
	next  string // see [Heatmap.Next]
}

// newPage begins a page of about limit bytes; a limit that is not above 0 is the default.
func newPage(p *picture, limit int) *page {
	return &page{picture: p, limit: limitOf(limit, defaultMaxBytes)}
}

// limitOf returns a limit in bytes, room if it is not above 0.
func limitOf(limit, room int) int {
	if limit <= 0 {
		return room
	}
	return limit
}

func (b *page) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// firstWord returns the generated token that a picture opens with, 0-based: the first one that is a
// word or a piece of one, with a letter or a digit, and not an article before another word. If
// there is none, it is the first word, then the first token that is neither a control token nor
// white space, then the first one; -1 if nothing was generated.
func firstWord(e *attribution.Explanation) int {
	words := wordTokens(e)
	for _, t := range words {
		if !isArticle(e.Steps, t) {
			return t
		}
	}
	if len(words) > 0 {
		return words[0]
	}
	return min(0, len(e.Steps)-1)
}

// firstWords returns the generated tokens that a picture of layers shows if none are named: the
// first 6 that are words or pieces of words, else the first token; nil if nothing was generated.
func firstWords(e *attribution.Explanation) []int {
	words := wordTokens(e)
	if words = words[:min(mostPanels, len(words))]; len(words) == 0 && len(e.Steps) > 0 {
		return []int{0}
	}
	return words
}

// articles are those of English, German, French, Spanish and Italian. Answers often begin with one,
// which says little about where the answer comes from.
var articles = []string{
	"the", "a", "an", "der", "die", "das", "ein", "eine", "le", "la", "les", "un", "une", "el",
	"los", "las", "una", "il", "lo", "gli",
}

// isArticle reports whether token t is an article and the one after it begins another word, so that
// the A of "A. Paris" is none, nor a piece of a word that is spelled like one.
func isArticle(steps []attribution.GeneratedToken, t int) bool {
	if t+1 >= len(steps) || steps[t+1].Special {
		return false
	}
	begins, _ := word(units.WithoutMarks(steps[t+1].Text))
	text := strings.TrimSpace(units.WithoutMarks(steps[t].Text))
	return begins && slices.Contains(articles, strings.ToLower(text))
}

// wordTokens returns the generated tokens that are words or pieces of words; if there are none,
// those that are neither control tokens nor white space. What a target does not name is left out.
func wordTokens(e *attribution.Explanation) (words []int) {
	var others []int
	for t, g := range e.Steps {
		text := units.WithoutMarks(g.Text)
		switch {
		case g.Special || g.Rest || strings.TrimSpace(text) == "":
		case strings.ContainsFunc(text, func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r)
		}):
			words = append(words, t)
		default:
			others = append(others, t)
		}
	}
	if words == nil {
		return others
	}
	return words
}

// leftOut writes a sentence on what is left out and why.
func (b *page) leftOut(what string) {
	b.printf(`<div style="%s">%s left out here: the picture would be larger than %s bytes. All `+
		`numbers are in the explanation. %s</div>`, small, what, thousands(b.limit), b.toDo())
}

// lastLeftOut writes that the last n tokens are left out.
func (b *page) lastLeftOut(n int) {
	if n == 1 {
		b.leftOut("The last of the " + b.words.shown + " is")
		return
	}
	b.leftOut(fmt.Sprintf("The last %s %s are", thousands(n), b.words.shown))
}
