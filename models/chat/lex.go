package chat

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The tokens inside tags, as Jinja2 has them.
var (
	stringToken   = regexp.MustCompile(`^(?s:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")`)
	floatToken    = regexp.MustCompile(`^\d+(?:_\d+)*(?:\.\d+(?:_\d+)*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)`)
	integerToken  = regexp.MustCompile(`^(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[1-9](?:_?\d)*|0(?:_?0)*)`)
	nameToken     = regexp.MustCompile(`^[\pL\pN\pM_]+`)
	operatorToken = regexp.MustCompile(`^(?:\*\*|//|==|!=|>=|<=|[-+*/%~\[\](){}<>=.:|,])`)
)

// printTag is the statement that {{ is read as.
const printTag = "print"

// lexer splits a template into tokens. Text gets Jinja2's trim_blocks and lstrip_blocks here, and {{ x }} becomes {% print x %}.
type lexer struct {
	source string
	pos    int
	tokens []*tokens.Token
	// lineStart says that the text at pos begins a line, although a tag has eaten the line break.
	lineStart bool
}

// lex returns the tokens of a template.
func lex(source string) ([]*tokens.Token, error) {
	source = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source)
	l := &lexer{source: strings.TrimSuffix(source, "\n"), lineStart: true}
	for l.pos < len(l.source) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.emit(tokens.EOF, "")
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

// stripIndent removes the spaces between a line break and the tag that follows.
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

// closed moves behind the end of a tag and what belongs to it: all space after a minus, a line break after a block or comment.
func (l *lexer) closed(sign byte, block bool) {
	from := l.pos
	if sign == '-' {
		rest := l.source[l.pos:]
		l.pos += len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	} else if block && sign == 0 && strings.HasPrefix(l.source[l.pos:], "\n") {
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
	// The sign may be the one that opened it: {#-#}.
	sign := l.source[l.pos+end-1]
	l.pos += end + 2
	if end == 0 || sign != '-' && sign != '+' {
		sign = 0
	}
	l.closed(sign, true)
	return nil
}

var (
	rawTag    = regexp.MustCompile(`^\s*raw\s*(-?)%\}`)
	endRawTag = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*([-+]?)%\}`)
)

// raw emits what stands between {% raw %} and {% endraw %}; m is the match of rawTag.
func (l *lexer) raw(m []int) error {
	body := l.source[l.pos+m[1]:]
	end := endRawTag.FindStringSubmatchIndex(body)
	if end == nil {
		return l.errorf("{%% raw %%} does not end")
	}
	text := body[:end[0]]
	if m[2] < m[3] {
		text = strings.TrimLeftFunc(text, isSpace)
	}
	switch body[end[2]:end[3]] {
	case "-":
		text = strings.TrimRightFunc(text, isSpace)
	case "":
		l.lineStart = strings.HasSuffix(l.source[:l.pos+m[1]], "\n")
		text = l.stripIndent(text)
	}
	l.emitText(text)
	l.pos += m[1] + end[1]
	var sign byte
	if end[4] < end[5] {
		sign = body[end[4]]
	}
	l.closed(sign, true)
	return nil
}

// tag reads the inside of a tag up to its end, %} or }}.
func (l *lexer) tag(end string) error {
	l.emit(tokens.BlockBegin, "{%")
	if end == "}}" {
		l.emit(tokens.Name, printTag)
	}
	var open []byte
	for {
		rest := l.source[l.pos:]
		trimmed := strings.TrimLeftFunc(rest, isSpace)
		l.pos += len(rest) - len(trimmed)
		if trimmed == "" {
			return l.errorf("a tag does not end with %s", end)
		}
		if len(open) == 0 {
			if sign, ok := closes(trimmed, end); ok {
				l.emit(tokens.BlockEnd, "%}")
				l.pos += len(end)
				if sign != 0 {
					l.pos++
				}
				l.closed(sign, end == "%}")
				return nil
			}
		}
		if err := l.token(trimmed, &open); err != nil {
			return err
		}
	}
}

// closes reports whether s begins with the end of a tag, and its sign.
func closes(s, end string) (sign byte, ok bool) {
	if strings.HasPrefix(s, end) {
		return 0, true
	}
	if s[0] == '-' || s[0] == '+' && end == "%}" {
		return s[0], strings.HasPrefix(s[1:], end)
	}
	return 0, false
}

// token reads one token; open are the brackets that are open, by what closes them.
func (l *lexer) token(s string, open *[]byte) error {
	for _, t := range []struct {
		kind    tokens.Type
		pattern *regexp.Regexp
	}{
		{tokens.Float, floatToken},
		{tokens.Integer, integerToken},
		{tokens.Name, nameToken},
		{tokens.String, stringToken},
		{tokens.Operator, operatorToken},
	} {
		val := t.pattern.FindString(s)
		if val == "" {
			continue
		}
		if t.kind == tokens.Operator {
			if err := l.bracket(val[0], open); err != nil {
				return err
			}
		}
		l.emit(t.kind, val)
		l.pos += len(val)
		return nil
	}
	return l.errorf("unexpected character %q", []rune(s)[0])
}

// bracket keeps account of brackets, which hide the end of a tag.
func (l *lexer) bracket(c byte, open *[]byte) error {
	switch c {
	case '(':
		*open = append(*open, ')')
	case '[':
		*open = append(*open, ']')
	case '{':
		*open = append(*open, '}')
	case ')', ']', '}':
		n := len(*open) - 1
		if n < 0 || (*open)[n] != c {
			return l.errorf("unexpected %q", c)
		}
		*open = (*open)[:n]
	}
	return nil
}

func (l *lexer) emitText(s string) {
	if s != "" {
		l.emit(tokens.Data, s)
	}
	l.lineStart = false
}

func (l *lexer) emit(kind tokens.Type, val string) {
	l.tokens = append(l.tokens, &tokens.Token{Type: kind, Val: val, Pos: l.pos, Line: l.line()})
}

// line is the number of the current line, counted on from the last token.
func (l *lexer) line() int {
	if len(l.tokens) == 0 {
		return 1 + strings.Count(l.source[:l.pos], "\n")
	}
	last := l.tokens[len(l.tokens)-1]
	return last.Line + strings.Count(l.source[last.Pos:l.pos], "\n")
}

func (l *lexer) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", l.line(), fmt.Sprintf(format, args...))
}

// isSpace is Python's str.isspace of one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
