package attribution

import (
	"fmt"
	"slices"

	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
)

// allOptions returns a row for every option. The order is that of the checks and of the warnings.
func allOptions() []Option {
	return slices.Concat(generationRows, conversationRows, combinationRows, scorerRows, resultRows,
		studyRows())
}

// Reasons that several rows give.
const (
	noResidual = "its rows contain the residual or stay as they are"
	noRows     = "it combines no rows"
	noScorer   = "it is no scorer"
	generates  = "it reads a text and generates none; what it predicts at a position is " +
		"explained by that position's row"
	eitherOfTwo = "give one of the two"
)

// Which methods take an option.
func isScorer(_ *Options, m planned) bool { return m.scorer != nil }
func explainsToken(o *Options, m planned) bool {
	return isScorer(o, m) || o.studyNeeds().Contrast
}
func combinesRows(_ *Options, m planned) bool { return m.scorer == nil }
func addsResidual(_ *Options, m planned) bool { return m.Residual > 0 }

// generationRows are the options about what is explained and how text is generated.
var generationRows = []Option{
	{
		Name: "methods", Field: "Methods", Flag: "methods", Group: MethodOptions,
		Help:  "`names` of methods, joined by commas",
		value: methodNames(),
	},
	{
		Name: "max tokens", Field: "MaxTokens", Flag: "max-tokens", Group: GenerationOptions,
		Help: "generate at most `N` tokens",
		value: whole(func(o *Options) *int { return &o.MaxTokens },
			1, maxTokens, fmt.Sprint(defaultTokens)),
		conflict: func(o *Options) string {
			return onOff(o.Continuation != "",
				fmt.Sprintf("%s %d and a continuation; every token of a continuation is "+
					"explained, and no other is generated: %s",
					trace.Called("max tokens"), o.MaxTokens, eitherOfTwo))
		},
		encoder: generates,
	},
	{
		Name: "continuation", Field: "Continuation",
		Flag: "continuation", Group: GenerationOptions,
		Help: "explain this `text` instead of one that the model chooses; it goes on right " +
			"where the prompt ends, so begin it with a space where one belongs",
		value: someWords(func(o *Options) *string { return &o.Continuation },
			fmt.Sprintf("at most %d", maxTextBytes)),
		encoder: generates,
	},
	{
		Name: "positions", Field: "Positions", Flag: "position", Group: GenerationOptions,
		Help: "for models that read, explain the tokens at these `numbers` from 0, joined by " +
			"commas (default every [MASK], or where the class is read)",
		value:   positions(),
		decoder: "every token that it generates is explained",
	},
	{
		Name: "pair", Field: "Pair", Flag: "pair", Group: GenerationOptions,
		Help: "a second `text` that the model reads after the prompt, for models of pairs: " +
			"the context of a question, the document of a query",
		value: someWords(func(o *Options) *string { return &o.Pair },
			fmt.Sprintf("at most %d", maxTextBytes)),
		decoder: "it reads one text",
	},
	{
		Name: "by", Field: "By", Flag: "by", Group: GenerationOptions,
		Help: "put prompt tokens together by `word|sentence|turn|BEGIN:END,BEGIN:END`, bytes " +
			"of the prompt from 0 and END not included; turn is the messages of a chat and " +
			"its template: shares and scores are added up, of flow and lift the highest " +
			"counts, and occlusion, interchange and reagent take them away together " +
			"(default tokens)",
		value: grouping(func(o *Options) *string { return &o.By }, func(s string) string {
			_, wrong := units.ReadGrouping(s)
			return wrong
		}),
	},
	{
		Name: "target", Field: "Target", Flag: "target", Group: GenerationOptions,
		Help: "explain generated tokens together by `answer|word|sentence|sentence:N|" +
			"BEGIN:END,BEGIN:END`: all of them, each word, each sentence, the N-th from 1, " +
			"or tokens from 0 and END not included; values are added up, of flow and lift " +
			"the highest counts, and a row's own text is a source of its own (default tokens)",
		value: grouping(func(o *Options) *string { return &o.Target }, func(s string) string {
			_, wrong := units.ReadTarget(s)
			return wrong
		}),
		encoder: "its rows are positions of the text that it reads, which positions name; " +
			"group the text itself with by",
	},
	{
		Name: "specials", Field: "Specials", Flag: "special", Group: GenerationOptions,
		Help: "put begin-of-text before the prompt: `on|off|auto` (default auto, " +
			"as the tokenizer says)",
		value: specialTokens(),
		conflict: func(o *Options) string {
			return onOff(o.InChat(),
				trace.Called("specials")+
					" and a chat; the chat template has its own control tokens")
		},
	},
	{
		Name: "source language", Field: "From", Flag: "from", Group: GenerationOptions,
		Help: "for models that translate, the `language` of the prompt, such as en or eng_Latn",
		value: someWords(func(o *Options) *string { return &o.From },
			fmt.Sprintf("at most %d", maxTextBytes)),
		encoder: generates,
	},
	{
		Name: "target language", Field: "To", Flag: "to", Group: GenerationOptions,
		Help: "for models that translate, the `language` to translate into, such as fr or fra_Latn",
		value: someWords(func(o *Options) *string { return &o.To },
			fmt.Sprintf("at most %d", maxTextBytes)),
		encoder: generates,
	},
	{
		Name: "temperature", Field: "Sampling.Temperature", Flag: "temperature",
		Group: GenerationOptions,
		Help:  "draw tokens at temperature `T`",
		value: number(func(o *Options) *float64 { return &o.Sampling.Temperature },
			maxTemperature, false, "the most probable token"),
		conflict: func(o *Options) string {
			return onOff(o.Continuation != "",
				fmt.Sprintf("%s %v and a continuation; a continuation says which tokens come, "+
					"and none is drawn: %s", trace.Called("temperature"),
					o.Sampling.Temperature, eitherOfTwo))
		},
		encoder: generates,
	},
	{
		Name: "beams", Field: "Sampling.Beams", Key: "beams", Group: GenerationOptions,
		Help:  "search for a probable text with `N` beams, as translators do",
		value: whole(func(o *Options) *int { return &o.Sampling.Beams }, 1, trace.MaxBeams, "1"),
		conflict: func(o *Options) string {
			searches := o.Sampling.Beams > 1
			return onOff(searches && (o.Sampling.Temperature > 0 || o.Continuation != ""),
				fmt.Sprintf("%s %d and a temperature or a continuation; a search chooses the "+
					"text and draws nothing: %s", trace.Called("beams"), o.Sampling.Beams,
					eitherOfTwo))
		},
		encoder: generates,
	},
	{
		Name: "top-k", Field: "Sampling.TopK", Key: "top-k", Group: GenerationOptions,
		Help:  "draw among the `K` most probable tokens",
		value: whole(func(o *Options) *int { return &o.Sampling.TopK }, 0, maxTopK, "all"),
		conflict: func(o *Options) string {
			return needsTemperature(o, "top-k", o.Sampling.TopK)
		},
	},
	{
		Name: "top-p", Field: "Sampling.TopP", Key: "top-p", Group: GenerationOptions,
		Help:  "draw among the most probable tokens that have `P` together",
		value: number(func(o *Options) *float64 { return &o.Sampling.TopP }, 1, false, "all"),
		conflict: func(o *Options) string {
			return needsTemperature(o, "top-p", o.Sampling.TopP)
		},
	},
	{
		Name: "seed", Field: "Sampling.Seed", Flag: "seed", Group: GenerationOptions,
		Help: "`number` that drawing begins with, from 0 to 18446744073709551615; " +
			"equal ones give equal tokens",
		value: seed(func(o *Options) *uint64 { return &o.Sampling.Seed }),
		conflict: func(o *Options) string {
			return needsTemperature(o, "seed", o.Sampling.Seed)
		},
	},
	{
		Name: "alternatives", Field: "Alternatives",
		Flag: "alternatives", Group: GenerationOptions,
		Help: "list the `N` most probable tokens of each place; JSON has all, pictures show " +
			"at most 20",
		value: whole(func(o *Options) *int { return &o.Alternatives },
			1, maxAlternatives, fmt.Sprint(defaultAlternatives)),
	},
}

// conversationRows are the options of what is put into the model's chat template. Each turns it on.
var conversationRows = []Option{
	{
		Name: "chat", Field: "Chat", Flag: "chat", Group: ConversationOptions,
		Help: "take the prompt for what a user says, put it into the model's chat template, " +
			"and explain the answer",
		value: switched(func(o *Options) *bool { return &o.Chat }),
	},
	{
		Name: "system text", Field: "Conversation.System",
		Flag: "system", Group: ConversationOptions,
		Help: "begin a chat with this `text` of the system",
		value: someWords(func(o *Options) *string { return &o.Conversation.System },
			fmt.Sprintf("at most %d", maxTextBytes)),
	},
	{
		Name: "messages", Field: "Conversation.Messages", Group: ConversationOptions,
		Help: "messages of a chat before the prompt, as `JSON`: a list, or an object with " +
			"messages and tools",
		value: messages(),
	},
	{
		Name: "tools", Field: "Conversation.Tools", Group: ConversationOptions,
		Help:  "tools that the model may call in a chat, a list as `JSON`",
		value: tools(),
	},
	{
		Name: "chat variables", Field: "Conversation.Variables",
		Flag: "chat-set", Group: ConversationOptions,
		Help: "give the chat template a variable, `NAME=VALUE`, such as " +
			"enable_thinking=false; the value is JSON or a text",
		value: chatVariables(),
	},
	{
		Name: "chat template", Field: "Conversation.Template",
		Key: "chat-template", Group: ConversationOptions,
		Help: "take the chat template of this `name`, of a model that has several",
		value: someWords(func(o *Options) *string { return &o.Conversation.Template },
			fmt.Sprintf("at most %d", maxTextBytes)),
	},
	{
		Name: "date", Field: "Conversation.Date",
		Key: "chat-date", Group: ConversationOptions,
		Help:  "the `DATE` that a chat template asks for, as 2026-11-26 (default today)",
		value: dateOf(func(o *Options) *string { return &o.Conversation.Date }),
	},
}

// needsTemperature returns why an option of drawing tokens, with its value, does not go with a
// temperature of 0.
func needsTemperature(o *Options, option string, value any) string {
	return onOff(o.Sampling.Temperature == 0,
		fmt.Sprintf("%s %v; it does nothing without a temperature above 0: the most probable "+
			"token is taken and none is drawn", trace.Called(option), value))
}

// combinationRows are the options of methods that combine the rows of layers.
var combinationRows = []Option{
	{
		Name: "residual", Field: "Residual", Key: "residual", Group: MethodOptions,
		Help: "weight `R` of the residual connection, from 0 to 1 " +
			"(default: each method's own, mostly 0.5)",
		value: part(func(o *Options) **float64 { return &o.Residual }),
		takes: addsResidual, why: noResidual,
		setting: "residual", shown: shownResidual,
	},
	{
		Name: "drop sink", Field: "DropSink", Key: "drop-sink", Group: MethodOptions,
		Help:  "take the first source out of every row before layers are combined",
		value: switched(func(o *Options) *bool { return &o.DropSink }),
		takes: combinesRows, why: noRows,
		setting: "sink",
		shown: func(o *Options, _ planned) string {
			return onOff(o.DropSink, "first source taken out")
		},
	},
	{
		Name: "discard", Field: "Discard", Key: "discard", Group: MethodOptions,
		Help: "before the residual is added, set the lowest entries to 0, this `PART` of " +
			"the whole map in an encoder, of each row elsewhere",
		value: number(func(o *Options) *float64 { return &o.Discard }, 1, true, "none"),
		takes: combinesRows, why: noRows,
		setting: "discard",
		shown: func(o *Options, _ planned) string {
			return onOff(o.Discard > 0, fmt.Sprint(o.Discard))
		},
	},
	{
		Name: "heads", Field: "Heads", Key: "heads", Group: MethodOptions,
		Help: "fuse attention heads as `mean|max|min|K`; K is one head's number from 0 " +
			"(default mean)",
		value: headFusion(),
		takes: func(o *Options, m planned) bool { return m.mixing.takes(o.Heads) },
		why:   "it has no heads to be taken like that", setting: "heads",
		shown: func(o *Options, m planned) string {
			return onOff(m.mixing.takes(o.Heads), o.Heads.String())
		},
	},
	{
		Name: "per-head", Field: "PerHead", Key: "per-head", Group: MethodOptions,
		Help:  "look at head `K` of each layer over lower layers merged by their mean",
		value: oneHead(),
		conflict: func(o *Options) string {
			return onOff(o.Heads != trace.Heads{},
				fmt.Sprintf("%s %d and heads %v; one head is looked at over lower layers "+
					"merged by their mean, so %s", trace.Called("per-head"), *o.PerHead,
					o.Heads, eitherOfTwo))
		},
		takes: takesOneHead, why: "it has no heads apart",
		setting: "per_head",
	},
	{
		Name: "threshold", Field: "Threshold", Key: "threshold", Group: MethodOptions,
		Help: "set value-zeroing distances below `D` to 0",
		value: number(func(o *Options) *float64 { return &o.Threshold },
			maxThreshold, false, "none"),
		takes: func(_ *Options, m planned) bool { return m.mixing.Distance },
		why:   "its values are no distances", setting: "threshold",
	},
	{
		Name: "layers", Field: "FirstLayer and LastLayer", Key: "layers", Group: MethodOptions,
		Help: "combine layers `A:B` only, from 0 and inclusive; A: and :B leave one end open " +
			"(default all)",
		value: layers(),
		takes: combinesRows, why: "it asks the whole model",
		setting: "layers",
		shown: func(_ *Options, m planned) string {
			return fmt.Sprintf("%d-%d", m.first, m.last)
		},
	},
}

// shownResidual returns the residual that a method adds.
func shownResidual(_ *Options, m planned) string {
	if m.mixing.IncludesResidual {
		return "in the mixing"
	}
	return fmt.Sprint(m.job.rule.Residual)
}

// takesOneHead is whether the rows of one head can be looked at.
func takesOneHead(_ *Options, m planned) bool {
	return m.mixing.takes(trace.Heads{Fusion: trace.OneHead})
}

// scorerRows are the options of scorers.
var scorerRows = []Option{
	{
		Name: "contrast", Field: "Contrast", Flag: "contrast", Group: ScorerOptions,
		Help: "let scorers explain why the prediction came and not this `token` or class; " +
			"it follows the prompt, so begin it with a space where one belongs",
		value: someWords(func(o *Options) *string { return &o.Contrast },
			"it must be one token"),
		takes: explainsToken, why: "each layer has the same values whatever is predicted; at " +
			"most the choice of the layer shown follows the contrast",
		setting: "contrast",
	},
	{
		Name: "foils", Field: "Foils", Key: "foils", Group: ScorerOptions,
		Help: "explain why the prediction came and not one of the `N` next most probable; by " +
			"default scorers compare classes so, and what chooses a layer tokens, too",
		value: count(func(o *Options) **int { return &o.Foils }, maxFoils, defaultFoils),
		conflict: func(o *Options) string {
			return onOff(o.Contrast != "",
				fmt.Sprintf("%s %d and a contrast; %s", trace.Called("foils"), *o.Foils,
					eitherOfTwo))
		},
		takes: func(o *Options, m planned) bool {
			return m.info().Foils || m.choosesLayer || o.studyNeeds().Foils
		},
		why:   "it is not explained against other tokens",
		quiet: true, setting: "foils",
		shown: func(_ *Options, m planned) string {
			return onOff(m.facts.Foils > 0, fmt.Sprint(m.facts.Foils))
		},
	},
	{
		Name: "quantity", Field: "Scoring.Quantity", Key: "quantity", Group: ScorerOptions,
		Help: "let scorers explain the `logit|probability|log-probability` " +
			"(default each scorer's own)",
		value: quantity(),
		takes: isScorer, why: noScorer,
		setting: "quantity",
		shown: func(o *Options, m planned) string {
			return string(m.quantity)
		},
	},
	{
		Name: "batch", Field: "Scoring.Batch", Key: "batch", Group: ScorerOptions,
		Help:  "let scorers run `N` texts at once",
		value: scoringNumber("batch"),
		takes: isScorer, why: noScorer,
	},
	{
		Name: "replacement", Field: "Scoring.Replacement",
		Key: "replacement", Group: ScorerOptions,
		Help: "`what` stands for a token that occlusion and its like take away: mask, " +
			"unknown, pad, end, delete, zero or a token such as \" the\" (default the first " +
			"of mask, unknown and delete that the model has, without an unknown token that " +
			"ends texts); at every place at once it is the baseline of integrated gradients " +
			"(default the first of mask, unknown, end and pad that is not nearly zero)",
		value: words(func(o *Options) *string { return &o.Scoring.Replacement },
			scorer.ReplacementRule),
		takes: func(_ *Options, m planned) bool { return m.info().Replaces },
		why:   "it replaces no token", setting: "replacement",
	},
	{
		Name: "steps", Field: "Scoring.Steps", Key: "steps", Group: ScorerOptions,
		Help:  "take `N` points of the integral of integrated gradients, between its two ends",
		value: scoringNumber("steps"),
		takes: func(_ *Options, m planned) bool { return m.info().Integrates },
		why:   "it computes no integral", setting: "steps",
		shown: func(o *Options, _ planned) string {
			return onOff(o.Scoring.Steps > 0, fmt.Sprint(o.Scoring.Steps))
		},
	},
	{
		Name: "samples", Field: "Scoring.Samples", Key: "samples", Group: ScorerOptions,
		Help:  "draw `N` random replacements in reagent",
		value: scoringNumber("samples"),
		takes: func(_ *Options, m planned) bool { return m.info().Samples },
		why:   "it draws no samples", setting: "samples",
		shown: func(o *Options, _ planned) string {
			return onOff(o.Scoring.Samples > 0, fmt.Sprint(o.Scoring.Samples))
		},
	},
	{
		Name: "scoring seed", Field: "Scoring.Seed", Group: ScorerOptions,
		Help:    "`number` that the draws of scorers begin with",
		value:   seed(func(o *Options) *uint64 { return &o.Scoring.Seed }),
		setting: "seed",
	},
}

// resultRows are the options about which rows are explained, and what their values are.
var resultRows = []Option{
	{
		Name: "lift", Field: "Lift", Key: "lift", Group: MethodOptions,
		Help:     "divide by what uniform attention would give at the same place",
		value:    switched(func(o *Options) *bool { return &o.Lift }),
		conflict: liftConflict,
		takes:    func(_ *Options, m planned) bool { return m.lift },
		why:      "only attention says what its rows would be if they were uniform",
		setting:  "lift",
		shown: func(_ *Options, m planned) string {
			return onOff(m.lift, "divided by uniform attention")
		},
	},
	{
		Name: "all levels", Field: "AllLevels", Key: "all-levels", Group: GenerationOptions,
		Help:  "compute flow of every layer, not of the top one alone: as many times the work",
		value: switched(func(o *Options) *bool { return &o.AllLevels }),
		takes: func(_ *Options, m planned) bool { return m.topOnly },
		why: "it is for flow, whose layers below the top are computed on request; rows of " +
			"others have every layer anyway, and scorers have none",
		quiet: true, // the other methods give what was asked for
	},
	{
		Name: "all layers", Field: "AllLayers", Key: "all-layers", Group: GenerationOptions,
		Help: "compute value-zeroing of every layer, not of the one that wrote the token " +
			"alone, as many times the work",
		value: switched(func(o *Options) *bool { return &o.AllLayers }),
	},
	{
		Name: "edits", Field: "Edits", Group: GenerationOptions,
		Help:  "run the model under these edits, a list as `JSON`",
		value: edits(),
	},
}

// liftConflict returns why lift does not go with the other options.
func liftConflict(o *Options) string {
	lift := trace.Called("lift")
	switch {
	case o.Residual != nil && *o.Residual == 1:
		return lift + " with residual 1; no attention is left to compare with uniform attention"
	case o.Discard > 0:
		return fmt.Sprintf("%s with discard %v; uniform attention has no lowest entries", lift,
			o.Discard)
	}
	return ""
}
