package chat

import (
	"fmt"
	"slices"
	"strings"
)

// statement is a statement or a piece of text, ready to run.
type statement func(r *run) flow

// parser reads the tokens of a template by recursive descent: parse.go, statement.go, loop.go and
// macro.go read statements, expression.go and postfix.go what stands inside their tags. A syntax
// error panics with a failure, which parse returns as an error.
type parser struct {
	tokens []token         // ends with an endToken
	next   int             // index of the next token
	tag    string          // name of the statement that is being read, for errors
	blocks int             // how many blocks are open
	loops  int             // how many loops are open that a break may leave
	depth  int             // how deep the expression is nested
	used   map[string]bool // the variables in the macro that is being read
}

// parse reads a template.
func parse(source string) (body []statement, err error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	defer func() {
		if recovered := recover(); recovered != nil {
			failed, ok := recovered.(failure)
			if !ok {
				panic(recovered)
			}
			err = failed.error
		}
	}()
	p := &parser{tokens: tokens, used: map[string]bool{}}
	body, _ = p.block()
	return body, nil
}

// fail ends parsing with an error at the last token that was read.
func (p *parser) fail(format string, args ...any) {
	line := p.tokens[max(p.next-1, 0)].line
	panic(failure{fmt.Errorf("line %d, %s: %s", line, p.tag, fmt.Sprintf(format, args...))})
}

// peek returns the next token without taking it.
func (p *parser) peek() token { return p.tokens[p.next] }

// atTagEnd reports whether the rest of the tag is empty.
func (p *parser) atTagEnd() bool { return p.peek().kind == tagEndToken }

// advance takes the next token of a tag.
func (p *parser) advance() token {
	if p.atTagEnd() {
		p.fail("the tag ends too early")
	}
	p.next++
	return p.tokens[p.next-1]
}

// at reports whether the next token is one of these operators or keywords.
func (p *parser) at(texts ...string) bool {
	t := p.peek()
	return (t.kind == operatorToken || t.kind == nameToken) && slices.Contains(texts, t.text)
}

// accept takes the next token if it is this operator or keyword.
func (p *parser) accept(text string) bool {
	if !p.at(text) {
		return false
	}
	p.next++
	return true
}

// expect takes the next token, which must be this operator or keyword.
func (p *parser) expect(text string) {
	switch {
	case p.accept(text):
	case p.atTagEnd():
		p.fail("expected %q before the end of the tag", text)
	default:
		p.fail("expected %q, got %q", text, p.peek().text)
	}
}

// closeTag takes the end of the tag; nothing else may be left in it.
func (p *parser) closeTag() {
	if !p.atTagEnd() {
		p.fail("unexpected %q", p.peek().text)
	}
	p.next++
}

// statements are the statements that a template may use, by name.
var statements map[string]func(*parser) statement

func init() {
	statements = map[string]func(*parser) statement{
		printTag: (*parser).output, "print": (*parser).print, "set": (*parser).set,
		"if":  (*parser).ifStatement,
		"for": (*parser).forStatement, "break": (*parser).breakStatement,
		"continue": (*parser).continueStatement, "macro": (*parser).macro,
		"filter": (*parser).filterBlock, "with": (*parser).with,
		"generation": (*parser).generation,
	}
}

// block reads text and statements up to one of the end tags, or to the end of the template if there
// are none. It returns the name of the end tag; the rest of that tag is not read yet.
func (p *parser) block(ends ...string) (body []statement, end string) {
	for {
		t := p.peek()
		p.next++
		switch t.kind {
		case textToken:
			body = append(body, func(r *run) flow { r.write(t.text); return flowNext })
		case tagBeginToken:
			if p.atTagEnd() {
				p.tag = "tag"
				p.fail("a tag {%% %%} needs the name of a statement")
			}
			p.tag = p.advance().text
			if slices.Contains(ends, p.tag) {
				return body, p.tag
			}
			s := p.statement()
			body = append(body, func(r *run) flow { r.line = t.line; return s(r) })
		default: // the end of the template
			if len(ends) > 0 {
				p.tag = "end of the template"
				p.fail("%s is missing", strings.Join(ends, " or "))
			}
			return body, ""
		}
	}
}

// blockUntil reads a block up to the end tag, in which nothing else may stand.
func (p *parser) blockUntil(end string) []statement {
	body, _ := p.block(end)
	p.closeTag()
	return body
}

// isolatedBlock is blockUntil for a body that break and continue cannot leave.
func (p *parser) isolatedBlock(end string) []statement {
	loops := p.loops
	p.loops = 0
	defer func() { p.loops = loops }()
	return p.blockUntil(end)
}

// statement reads the statement that p.tag names.
func (p *parser) statement() statement {
	read, ok := statements[p.tag]
	if !ok {
		p.fail("a statement of this name is not expected here; known are %s", known(statements))
	}
	if p.blocks++; p.blocks > maxDepth {
		p.fail("blocks are nested deeper than %d", maxDepth)
	}
	defer func() { p.blocks-- }()
	return read(p)
}
