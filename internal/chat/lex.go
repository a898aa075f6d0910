package chat

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// token is a piece of a template.
type token struct {
	kind tokenKind
	text string // as it stands in the template; printTag where the template has {{
	line int    // from 1
}

type tokenKind int

const (
	textToken     tokenKind = iota // text outside of tags
	tagBeginToken                  // {% or {{
	tagEndToken                    // %} or }}
	nameToken
	integerToken
	floatToken
	stringToken
	operatorToken
	endToken // the end of the template
)

// tagTokens are the tokens inside tags by Jinja2's lexer, in the order in which they are tried.
var tagTokens = []struct {
	kind    tokenKind
	pattern *regexp.Regexp
}{
	{floatToken, regexp.MustCompile(
		`^\d+(?:_\d+)*(?:\.\d+(?:_\d+)*` + exponent + `?|` + exponent + `)`)},
	{integerToken, regexp.MustCompile(
		`^(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[1-9](?:_?\d)*|0(?:_?0)*)`)},
	{nameToken, namePattern},
	{stringToken, regexp.MustCompile(
		`^(?s:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)},
	{operatorToken, regexp.MustCompile(`^(?:\*\*|//|==|!=|>=|<=|[-+*/%~\[\](){}<>=.:|,])`)},
}

// exponent is the exponent of a float.
const exponent = `(?:[eE][+-]?\d+(?:_\d+)*)`

// namePattern is a name, which may begin with a digit; the parser rejects that.
var namePattern = regexp.MustCompile(`^[\pL\pN\pM_]+`)

// printTag is the name of the statement that {{ stands for.
const printTag = "{{ }}"

// lexer splits a template into tokens. It removes white space around tags as Jinja2 does with
// trim_blocks and lstrip_blocks, and writes {{ x }} as a statement of the name printTag.
type lexer struct {
	source string
	pos    int
	tokens []token
	// line is the line of byte lineAt; lines are counted from there to the next token.
	line, lineAt int
	// lineStart reports whether the text at pos begins a line, even if a tag has removed the line
	// break.
	lineStart bool
}

// lex returns the tokens of a template; the last one is an endToken.
func lex(source string) ([]token, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	l := &lexer{source: strings.TrimSuffix(source, "\n"), line: 1, lineStart: true}
	for l.pos < len(l.source) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.emit(endToken, "")
	return l.tokens, nil
}

// next reads text up to a tag, and the tag.
func (l *lexer) next() error {
	rest := l.source[l.pos:]
	at := tagStart(rest)
	if at < 0 {
		l.emitText(rest)
		l.pos = len(l.source)
		return nil
	}
	kind := rest[at+1]
	text, sign := rest[:at], byte(0)
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		sign = rest[at+2]
	}
	switch {
	case sign == '-':
		text = strings.TrimRightFunc(text, isSpace)
	case sign == 0 && kind != '{':
		text = l.stripIndent(text)
	}
	l.emitText(text)
	l.pos += at + 2
	if sign != 0 {
		l.pos++
	}
	switch kind {
	case '#':
		return l.comment()
	case '{':
		return l.tag("}}")
	}
	if m := rawTag.FindStringSubmatchIndex(l.source[l.pos:]); m != nil {
		return l.raw(m)
	}
	return l.tag("%}")
}

// tagStart returns where the first tag begins, or -1.
func tagStart(s string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], '{')
		if n < 0 || i+n+1 >= len(s) {
			return -1
		}
		i += n
		if c := s[i+1]; c == '%' || c == '{' || c == '#' {
			return i
		}
	}
}

// stripIndent removes the spaces between a line break and the tag that follows text.
func (l *lexer) stripIndent(text string) string {
	start := strings.LastIndexByte(text, '\n') + 1
	if start == 0 && !l.lineStart {
		return text
	}
	if strings.TrimLeftFunc(text[start:], isSpace) == "" {
		return text[:start]
	}
	return text
}

// skipAfterTag skips the white space that the end of a tag removes: all of it after a minus sign,
// one line break after a statement or a comment without a sign.
func (l *lexer) skipAfterTag(sign byte, removesLine bool) {
	from := l.pos
	if sign == '-' {
		rest := l.source[l.pos:]
		l.pos += len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	} else if removesLine && sign == 0 && strings.HasPrefix(l.source[l.pos:], "\n") {
		l.pos++
	}
	l.lineStart = l.pos > from && l.source[l.pos-1] == '\n'
}

// comment skips a comment.
func (l *lexer) comment() error {
	end := strings.Index(l.source[l.pos:], "#}")
	if end < 0 {
		return l.errorf("a comment {# does not end")
	}
	// The sign may be the one that opened the comment: {#-#}.
	sign := l.source[l.pos+end-1]
	l.pos += end + 2
	if end == 0 || sign != '-' && sign != '+' {
		sign = 0
	}
	l.skipAfterTag(sign, true)
	return nil
}

var (
	rawTag    = regexp.MustCompile(`^\s*raw\s*(-?)%\}`)
	endRawTag = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

// raw emits the text between {% raw %} and {% endraw %}; match is the match of rawTag.
func (l *lexer) raw(match []int) error {
	body := l.source[l.pos+match[1]:]
	end := endRawTag.FindStringSubmatchIndex(body)
	if end == nil {
		return l.errorf("{%% raw %%} does not end")
	}
	text := body[:end[0]]
	if match[2] < match[3] {
		text = strings.TrimLeftFunc(text, isSpace)
	}
	switch body[end[2]:end[3]] {
	case "-":
		text = strings.TrimRightFunc(text, isSpace)
	case "":
		l.lineStart = strings.HasSuffix(l.source[:l.pos+match[1]], "\n")
		text = l.stripIndent(text)
	}
	l.emitText(text)
	l.pos += match[1] + end[1]
	var sign byte
	if end[4] < end[5] {
		sign = body[end[4]]
	}
	l.skipAfterTag(sign, true)
	return nil
}

// tag reads the inside of a tag up to its end, %} or }}.
func (l *lexer) tag(end string) error {
	l.emit(tagBeginToken, "{%")
	if end == "}}" {
		l.emit(nameToken, printTag)
	}
	var brackets []byte // the closing brackets that are expected, the innermost last
	for {
		rest := l.source[l.pos:]
		trimmed := strings.TrimLeftFunc(rest, isSpace)
		l.pos += len(rest) - len(trimmed)
		if trimmed == "" {
			return l.errorf("a tag does not end with %s", end)
		}
		if len(brackets) == 0 {
			if sign, ok := tagEnd(trimmed, end); ok {
				l.emit(tagEndToken, end)
				l.pos += len(end)
				if sign != 0 {
					l.pos++
				}
				l.skipAfterTag(sign, end == "%}")
				return nil
			}
		}
		if err := l.tagToken(trimmed, &brackets); err != nil {
			return err
		}
	}
}

// tagEnd reports whether s begins with the end of a tag, and returns its sign or 0.
func tagEnd(s, end string) (sign byte, ok bool) {
	if strings.HasPrefix(s, end) {
		return 0, true
	}
	if s[0] == '-' || s[0] == '+' && end == "%}" {
		return s[0], strings.HasPrefix(s[1:], end)
	}
	return 0, false
}

// tagToken reads the first token of s, which is not empty and begins with no space.
func (l *lexer) tagToken(s string, brackets *[]byte) error {
	for _, t := range tagTokens {
		text := t.pattern.FindString(s)
		if text == "" {
			continue
		}
		if t.kind == operatorToken {
			if err := l.bracket(text[0], brackets); err != nil {
				return err
			}
		}
		l.emit(t.kind, text)
		l.pos += len(text)
		return nil
	}
	return l.errorf("unexpected character %q", []rune(s)[0])
}

// bracket notes an opening bracket and checks a closing one. Inside brackets a tag does not end.
func (l *lexer) bracket(c byte, brackets *[]byte) error {
	switch c {
	case '(':
		*brackets = append(*brackets, ')')
	case '[':
		*brackets = append(*brackets, ']')
	case '{':
		*brackets = append(*brackets, '}')
	case ')', ']', '}':
		n := len(*brackets) - 1
		if n < 0 || (*brackets)[n] != c {
			return l.errorf("unexpected %q", c)
		}
		*brackets = (*brackets)[:n]
	}
	return nil
}

func (l *lexer) emitText(s string) {
	if s != "" {
		l.emit(textToken, s)
	}
	l.lineStart = false
}

func (l *lexer) emit(kind tokenKind, text string) {
	l.countLines()
	l.tokens = append(l.tokens, token{kind, text, l.line})
}

// countLines brings line to the line of pos.
func (l *lexer) countLines() {
	l.line += strings.Count(l.source[l.lineAt:l.pos], "\n")
	l.lineAt = l.pos
}

func (l *lexer) errorf(format string, args ...any) error {
	l.countLines()
	return fmt.Errorf("line %d: %s", l.line, fmt.Sprintf(format, args...))
}

// isSpace is Python's str.isspace of one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
