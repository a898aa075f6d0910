package tokenizer

import (
	"slices"
	"strings"
)

// translating is how a class of tokenizers names the language of a text, as transformers 5 has it:
// by a control token beside the source, and by one with which the target begins.
type translating struct {
	// before and after stand around the name of a language in its token.
	before, after string
	// source is the language of a source for which none was named.
	source string
	// last puts the token of the source after the end of the text, and not in front of it.
	last bool
	// ofTarget makes the token in front of the source that of the target's language, which the
	// target does not begin with then.
	ofTarget bool
}

var translatingClasses = map[string]translating{
	"MBartTokenizer":   {source: "en_XX", last: true},
	"MBart50Tokenizer": {source: "en_XX"},
	"NllbTokenizer":    {source: "eng_Latn"},
	"M2M100Tokenizer":  {before: "__", after: "__", source: "en"},
	"MarianTokenizer":  {before: ">>", after: "<<", ofTarget: true},
}

// translate makes the tokenizer one of several languages if its class is, in the language that the
// configuration names for sources.
func (t *Tokenizer) translate(class string, c Config) {
	k, ok := translatingClasses[class]
	if !ok {
		return
	}
	if text := c.Special["eos_token"]; text != "" {
		t.end = text
	} else {
		t.end = "</s>"
	}
	legacy, _ := c.Settings["legacy_behaviour"].(bool)
	k.last = k.last || legacy
	t.translating = &k
	if named, ok := c.Settings["src_lang"].(string); ok {
		k.source = named
	}
	if id, ok := t.Language(k.source); ok || k.ofTarget {
		t.around(id, ok)
	}
}

// Languages returns the names of the languages that a text may be in, in the order of the ids of
// their tokens: "fr_XX", or "fr" of a token __fr__. It is empty for a tokenizer that does not name
// the language of a text.
func (t *Tokenizer) Languages() (languages []string) {
	if t.translating == nil {
		return nil
	}
	for id := range t.vocab.entries {
		if name, ok := t.languageOf(id); ok {
			languages = append(languages, name)
		}
	}
	return languages
}

// IsLanguage reports whether a token stands for a language.
func (t *Tokenizer) IsLanguage(id int) bool {
	if t.translating == nil || !t.vocab.has(id) {
		return false
	}
	_, ok := t.languageOf(id)
	return ok
}

// languageOf returns the name of the language that a token stands for.
func (t *Tokenizer) languageOf(id int) (name string, ok bool) {
	k, e := t.translating, t.vocab.entries[id]
	name, before := strings.CutPrefix(e.content, k.before)
	name, after := strings.CutSuffix(name, k.after)
	isName := strings.Trim(name, "_") == name && name != "" &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && (r|0x20 < 'a' || r|0x20 > 'z')
		})
	// Without marks, a language is a control token such as en_XX or eng_Latn.
	return name, before && after && isName && e.special && (k.before != "" ||
		strings.Count(name, "_") == 1)
}

// Language returns the id of the token of a language, by its name in [Tokenizer.Languages], by the
// token, or by the part before an underscore if one language alone has it: "fr" for "fr_XX".
func (t *Tokenizer) Language(name string) (id int, ok bool) {
	var like []int
	for id := range t.vocab.entries {
		language, is := "", false
		if t.translating != nil {
			language, is = t.languageOf(id)
		}
		switch short, _, _ := strings.Cut(language, "_"); {
		case !is:
		case name == language || name == t.vocab.entries[id].content:
			return id, true
		case name == short:
			like = append(like, id)
		}
	}
	if len(like) != 1 {
		return 0, false
	}
	return like[0], true
}

// TargetInSource reports whether the language of the target is named in front of the source, and
// not at the start of the target (Marian).
func (t *Tokenizer) TargetInSource() bool {
	return t.translating != nil && t.translating.ofTarget
}

// In returns the tokenizer for texts whose language has a token of this id. If the language of the
// target is named in front of the source, it is the target's.
func (t *Tokenizer) In(language int) *Tokenizer {
	view := *t
	view.around(language, true)
	return &view
}

// around puts the token of a language, if there is one, and the end of the text around texts.
func (t *Tokenizer) around(language int, named bool) {
	control := func(id int) templatePart {
		text := t.vocab.entries[id].content
		return templatePart{special: true, tokens: []token{{Encoded{ID: id, Special: true}, text}}}
	}
	around := func(parts ...templatePart) []templatePart {
		if end, ok := t.vocab.ids[t.end]; ok {
			parts = append(parts, control(end))
		}
		switch {
		case !named:
		case t.translating.last:
			parts = append(parts, control(language))
		default:
			parts = slices.Insert(parts, 0, control(language))
		}
		return parts
	}
	first, second := templatePart{text: 0}, templatePart{text: 1}
	t.post = postProcessors{{
		place{"post_processor", "TemplateProcessing"},
		template{around(first), around(first, second)},
	}}
}
