package chat

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Kind is what a span of a rendered text is.
type Kind string

// The kinds of spans: what a message says; marks and names of roles around it, and the form of
// calls and results of tools; what stands there because tools are given; and what else the template
// writes by itself, such as a system prompt or a date.
const (
	Words Kind = ""
	Label Kind = "label"
	Tools Kind = "tools"
	Added Kind = "added"
)

// What a template writes is told apart by pieces, which end at line breaks and at marks. A piece is
// label if it names a role, if the template writes it between the messages of a plain conversation,
// or at a message of an assistant or a tool. Another one is of tools if the template does not write
// it for the same messages without tools. So it does not matter where and in which form it does.

// mark matches what ends a piece: <|im_start|>, <<SYS>>, [INST], USER: and line breaks.
var mark = regexp.MustCompile(`<+[^<>\s]+>+|\[[/_|\pL]+\]|\b\p{Lu}{2,}:|\s*\n\s*`)

// roles are names of roles. What a template writes at messages of the last two is of calls.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

// kinds are the pieces between the messages of a plain conversation, and those of a conversation
// without its tools, nil if it has none.
type kinds struct{ labels, untooled map[string]bool }

// piece is a piece [begin,end) of a text, and head where the mark directly before it begins. marked
// reports whether marks stand between it and the piece before it.
type piece struct {
	head, begin, end int
	marked           bool
}

// kindsOf renders what tells the kinds of a conversation. Where a template refuses that, fewer
// pieces are known as labels, and more as tools.
func (t *Template) kindsOf(messages []Message, opts Options) (k kinds) {
	tools := opts.Tools != nil
	opts.Tools = nil
	var plain []Message
	for _, role := range []string{"user", "assistant", "user", "assistant", "user"} {
		plain = append(plain, Message{Role: role, Content: "Word"})
	}
	text, spans, _ := t.spans(plain, opts)
	first := slices.IndexFunc(spans, func(s Span) bool { return s.Kind == Words })
	last := slices.IndexFunc(spans, func(s Span) bool { return s.Turn == len(plain)-1 })
	k.labels = piecesOf(text, spans[max(first, 0):max(first, last, 0)])
	if tools {
		text, spans, _ = t.spans(messages, opts)
		k.untooled = piecesOf(text, spans)
	}
	return k
}

// piecesOf returns all pieces that the template wrote.
func piecesOf(text string, spans []Span) map[string]bool {
	all := map[string]bool{}
	for _, s := range spans {
		for _, p := range piecesIn(text, s) {
			words := text[p.begin:p.end]
			all[words] = all[words] || s.Kind == Label
		}
	}
	return all
}

// piecesIn returns the pieces of a span that have a letter or a digit, and an empty one at its end.
func piecesIn(text string, s Span) (all []piece) {
	text = text[:s.End]
	next, p := s.Begin, piece{head: s.Begin}
	for _, m := range append(mark.FindAllStringIndex(text[s.Begin:], -1), nil) {
		end := s.End
		if m != nil {
			end = s.Begin + m[0]
		}
		words := strings.TrimSpace(text[next:end])
		if strings.ContainsFunc(words, func(c rune) bool {
			return unicode.IsLetter(c) || unicode.IsDigit(c)
		}) {
			p.begin = next + strings.Index(text[next:end], words)
			p.end = p.begin + len(words)
			all, p = append(all, p), piece{}
		}
		if m == nil {
			break
		}
		p.head, next = end, s.Begin+m[1]
		if strings.TrimSpace(text[end:next]) == "" { // a line break
			p.head = next
		} else {
			p.marked = true
		}
	}
	return append(all, piece{head: s.End, begin: s.End, end: s.End, marked: p.marked})
}

// names reports whether a piece is the name of a role, maybe in punctuation, but not in quotation
// marks, as JSON has it.
func names(piece, role string) bool {
	return strings.EqualFold(role, strings.TrimFunc(piece, func(c rune) bool {
		return c != '"' && c != '\'' && unicode.In(c, unicode.P, unicode.S, unicode.Z)
	}))
}

// of returns the kind of a piece. call reports whether it is of a call or its result.
func (k kinds) of(piece string, call bool) Kind {
	switch {
	case piece == "", call, k.labels[piece],
		slices.ContainsFunc(roles, func(role string) bool { return names(piece, role) }):
		return Label
	case k.untooled != nil && !k.untooled[piece]:
		return Tools
	}
	return Added
}

// divide returns spans in which what the template wrote has its kinds. Marks between two pieces of
// one kind are of that kind and others label; white space and punctuation is of the kind before it.
// The name of its role before a message begins its label, and what the template writes before that
// of the first message is the system's.
func (k kinds) divide(text string, spans []Span) (all []Span) {
	for i, s := range spans {
		if s.Kind == Words {
			all = join(all, s)
			continue
		}
		after := spans[min(i+1, len(spans)-1)]
		write := func(to int) {
			s.End = to
			all = join(all, s)
			s.Begin = to
		}
		for n, p := range piecesIn(text, s) {
			kind := k.of(text[p.begin:p.end], i > 0 && slices.Contains(roles[3:], s.Role))
			if kind != s.Kind && p.marked {
				s.Kind = Label
			}
			if names(text[p.begin:p.end], after.Role) {
				write(p.head)
				if i == 0 && n > 0 && all[0].Role != roles[0] { // once
					for j := range all {
						all[j].Role = roles[0]
					}
				}
				s.Turn, s.Role = after.Turn, after.Role
			}
			write(p.begin)
			s.Kind = kind
			write(p.end)
		}
	}
	return all
}

// join appends a span, to the last one if they differ in their bytes alone. It drops an empty one.
func join(all []Span, s Span) []Span {
	if s.Begin >= s.End {
		return all
	}
	if n := len(all); n > 0 {
		same := s
		same.Begin, same.End = all[n-1].Begin, all[n-1].End
		if same == all[n-1] {
			all[n-1].End = s.End
			return all
		}
	}
	return append(all, s)
}
