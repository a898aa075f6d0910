package attribution

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// remark collects the warnings that are known before the first token.
func (r *run) remark(m trace.Model, prompt string) {
	if r.e.Prompt.BOSAdded {
		r.remarks = append(r.remarks, fmt.Sprintf("A begin-of-text token, %s, was put before the "+
			"prompt.",
			message.Quote(r.e.Prompt.Texts[0])))
	}
	if limited, ok := m.(trace.Limited); ok {
		if words := limited.UnknownWords(prompt + r.opts.Continuation); len(words) > 0 {
			r.remarks = append(r.remarks, fmt.Sprintf("The model never saw %s; prompts that it "+
				"knows: %s.",
				quoteWords(words, 10), quotePrompts(limited.Examples(), 3)))
		}
	}
	r.remarks = append(r.remarks, r.oddTokens(m)...)
	r.remarks = append(r.remarks, r.plan.warnings...)
	r.e.Warnings = append(r.e.Warnings, r.remarks...)
}

// quoteWords returns the first words, at most most, quoted and joined, and how many more there are.
// The words come from the user, so long ones are cut.
func quoteWords(words []string, most int) string {
	var some []string
	for _, w := range words[:min(len(words), most)] {
		some = append(some, message.Quote(w))
	}
	if len(words) > most {
		some = append(some, fmt.Sprintf("and %d more", len(words)-most))
	}
	return strings.Join(some, ", ")
}

// quotePrompts returns the first of a model's example prompts, quoted and joined. They are not cut,
// because users copy them.
func quotePrompts(prompts []string, most int) string {
	var some []string
	for _, p := range prompts[:min(len(prompts), most)] {
		some = append(some, strconv.Quote(p))
	}
	return strings.Join(some, ", ")
}

// oddTokens returns a sentence for everything in the tokens of the prompt that people rarely mean.
func (r *run) oddTokens(m trace.Model) (remarks []string) {
	p := r.e.Prompt
	if len(p.IDs) > 1 && p.Special[0] && p.Special[1] && p.IDs[0] == p.IDs[1] {
		remarks = append(remarks, fmt.Sprintf("%s stands twice at the start of what the model "+
			"reads; if it was typed, the tokenizer adds it once more: leave it out of the prompt.",
			message.Quote(p.Texts[0])))
	}
	remarks = append(remarks, p.controlTokens()...)
	if !strings.HasSuffix(p.Text, " ") || r.e.Model.Reads() || r.opts.InChat() {
		return remarks
	}
	word, err := m.Encode(" a", trace.SpecialsFollow)
	if err == nil && len(word) > 0 && len(word[0].Text) > 1 && word[0].Text[0] == ' ' {
		remarks = append(remarks, fmt.Sprintf("The prompt ends in a space, and the words of %s "+
			"begin with one, so hardly any word can follow: leave out the space at the end.",
			message.Quote(r.e.Model.Name)))
	}
	return remarks
}

// controlTokens returns a sentence for each message of a conversation that has control tokens: a
// model reads them as marks of its chat template.
func (p *Prompt) controlTokens() (remarks []string) {
	for _, part := range p.Parts {
		var found []string
		for j, o := range p.Offsets {
			if part.Kind == trace.Words && p.Special[j] && part.Begin <= o[0] &&
				o[0] < min(part.End, o[1]) {
				found = append(found, p.Texts[j])
			}
		}
		if found != nil {
			remarks = append(remarks, fmt.Sprintf("Message %d, the role is %s, has %s, which the "+
				"model does not read as text: %s.", part.Turn+1, message.Quote(part.Role),
				message.Count(len(found), "control token"), quoteWords(found, 3)))
		}
	}
	return remarks
}
