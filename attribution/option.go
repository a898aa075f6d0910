package attribution

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/attribution/aggregation"
	"github.com/headwater-ml/headwater/attribution/scorer"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
)

// Option describes one option of [Options], or two that belong together: a row of [OptionTable].
// The checks of the library, the settings in a [Result] and the flags of the command all come from
// these rows, so a new option is a field of [Options], a row, and the code that uses the field.
type Option struct {
	// Name is what errors and warnings call the option: "max tokens".
	Name string
	// Field is the field of [Options], "MaxTokens" or "Sampling.TopK"; for layers, which are two
	// fields, "FirstLayer and LastLayer".
	Field string
	// Flag is the name of the option's own flag on a command line, without hyphens before it:
	// "max-tokens". Key is instead its name in the text of [SetOptions]: "heads" of "heads=max". An
	// option that a command line cannot set has neither.
	Flag, Key string
	// Group is the subject of the option.
	Group OptionGroup
	// Help is one sentence about what the option does. A word in backquotes stands for the value.
	Help string

	value value
	// conflict returns why the option does not go with the other options, "" if it does. It is
	// asked only if the option is given.
	conflict func(o *Options) string
	// encoder and decoder are why a model of that kind does not take the option, "" if it does.
	encoder, decoder string
	// takes is whether the option changes anything for a method, and why is the reason if not. A
	// nil takes means every method.
	takes func(o *Options, m planned) bool
	why   string
	// quiet is whether methods that do not take the option are left without a warning.
	quiet bool
	// setting is the key of the option in the settings of a result, and shown its value there. The
	// empty value is left out. Without shown it is the value that was given to a method that takes
	// the option.
	setting string
	shown   func(o *Options, m planned) string
}

// OptionGroup is the subject of an option.
type OptionGroup string

// The groups of options.
const (
	// MethodOptions choose which methods are computed, and how their rows are combined.
	MethodOptions OptionGroup = "methods"
	// ScorerOptions are those of scorers.
	ScorerOptions OptionGroup = "scorers"
	// GenerationOptions choose what is generated and which rows explain it.
	GenerationOptions OptionGroup = "generation"
	// ConversationOptions are what is put into the model's chat template.
	ConversationOptions OptionGroup = "conversation"
)

// OptionTable returns a row for every option of some groups, of all without any, in the order in
// which they are checked.
func OptionTable(groups ...OptionGroup) []Option {
	return slices.DeleteFunc(allOptions(), func(r Option) bool {
		return len(groups) > 0 && !slices.Contains(groups, r.Group)
	})
}

// LookupOption returns the row of that name or key, and the zero Option if there is none: an error
// of a plugin may be about an option of its own.
func LookupOption(name string) Option {
	rows := allOptions()
	i := slices.IndexFunc(rows, func(r Option) bool {
		return name != "" && (r.Name == name || r.Key == name)
	})
	if i < 0 {
		return Option{}
	}
	return rows[i]
}

// Setting returns how the option is written for [SetOptions]: "heads=VALUE", or "lift" of a switch.
func (r Option) Setting() string {
	if r.value.alone != "" {
		return r.Key
	}
	return r.Key + "=VALUE"
}

// SetOptions reads options from text into o: the Key of some of the rows, each with its value, as
// "heads=max,layers=1:2". A key alone turns a switch on. A comma ends a value only before the next
// key, so that a value may have commas. The error, a [trace.UsageError], names the option, the
// value and its limits; for an unknown key it names the nearest one, with its methods, and lists
// those of the rows.
func SetOptions(o *Options, rows []Option, text string) error {
	for _, setting := range splitSettings(text) {
		key, value, given := strings.Cut(setting, "=")
		i := slices.IndexFunc(rows, func(r Option) bool { return key != "" && r.Key == key })
		if i < 0 {
			return unknownKey(key, rows)
		}
		row := rows[i]
		switch {
		case !given && row.value.alone == "":
			_, usage, _ := strings.Cut(row.Help, "`")
			usage, _, _ = strings.Cut(usage, "`")
			return row.usagef("%s has no value; write %s=%s", trace.Called(row.Name), row.Key,
				usage)
		case !given:
			value = row.value.alone
		}
		if err := row.Set(o, value); err != nil {
			reason := message.Words(err, nil)
			return row.usagef("%s %.60q: %s", trace.Called(row.Name), value, reason)
		}
	}
	return nil
}

// nextSetting is what begins a setting after a comma.
var nextSetting = regexp.MustCompile(`^[a-z-]+(=|$)`)

// splitSettings divides a text at the commas before a key.
func splitSettings(text string) (all []string) {
	for i, part := range strings.Split(text, ",") {
		if i > 0 && !nextSetting.MatchString(part) {
			all[len(all)-1] += "," + part
			continue
		}
		all = append(all, part)
	}
	return all
}

// unknownKey returns the error of a key that no row has.
func unknownKey(key string, rows []Option) error {
	var known []string
	for _, row := range rows {
		if row.Key != "" {
			known = append(known, row.Key)
		}
	}
	slices.Sort(known)
	near := message.Nearest(key, known)
	for i, name := range near {
		if methods := LookupOption(name).TakenBy(); methods != nil {
			near[i] += " of " + message.Some(methods, 3)
		}
	}
	question := ""
	if near != nil {
		question = "did you mean " + strings.Join(near, ", or ") + "? "
	}
	for _, row := range rows {
		if key != "" && row.Flag == key {
			question = "did you mean " + trace.Called(row.Name) + "? "
		}
	}
	return trace.Usagef("there is no setting %s; %sknown are %s", message.Quote(key), question,
		message.List(known))
}

// AppliesTo reports whether the option is one of a method, with some value and for some model.
func (r Option) AppliesTo(m Method) bool {
	o := Options{Lift: true, Heads: trace.Heads{Fusion: trace.OneHead}}
	return r.takes != nil && r.takes(&o, m.alone(&o))
}

// TakenBy returns the names of the methods that the option applies to, sorted: nil if it is not
// about methods.
func (r Option) TakenBy() (names []string) {
	for _, m := range Methods() {
		if r.AppliesTo(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Given is whether the option differs from its default.
func (r Option) Given(o *Options) bool { return r.value.given(o) }

// Set reads the value of the option from text, such as "4" or "mean", into o. Values of an option
// that is a list are added to it. The error, a [trace.UsageError], lists the values; it
// does not repeat the name and the text.
func (r Option) Set(o *Options, text string) error { return r.value.read(o, text) }

// Switch returns the field of an option that is on or off, nil for other options.
func (r Option) Switch(o *Options) *bool {
	if r.value.on == nil {
		return nil
	}
	return r.value.on(o)
}

// Usage returns the help with the range of the value and the default, if they are not in it:
// "generate at most `N` tokens, from 1 to 4096 (default 16)".
func (r Option) Usage() string { return r.Help + r.value.limits }

// Usagef returns a [trace.UsageError] about the option.
func (r Option) Usagef(format string, args ...any) error { return r.usagef(format, args...) }

func (r Option) usagef(format string, args ...any) error {
	return &trace.UsageError{Option: r.Name, Reason: fmt.Sprintf(format, args...)}
}

// check returns a [trace.UsageError] if the value is out of range or does not go with other
// options.
func (r Option) check(o *Options) error {
	if r.value.wrong != nil {
		if wrong := r.value.wrong(trace.Called(r.Name), o); wrong != "" {
			return r.usagef("%s", wrong)
		}
	}
	if r.conflict == nil || !r.Given(o) {
		return nil
	}
	if conflict := r.conflict(o); conflict != "" {
		return r.usagef("%s", conflict)
	}
	return nil
}

// checkModel returns a [trace.UsageError] if a model of this kind does not take the option.
func (r Option) checkModel(o *Options, info trace.Info) error {
	kind, reason := "a decoder", r.decoder
	switch {
	case info.Bidirectional:
		kind, reason = "an encoder", r.encoder
	case info.Reads():
		kind, reason = "a model that reads a text", r.encoder
	case info.EncoderLayers > 0:
		kind = "a model of two stacks"
	}
	if reason == "" || !r.Given(o) {
		return nil
	}
	return r.usagef("%s; %s is %s: %s", r.describe(o), message.Quote(info.Name), kind, reason)
}

// describe returns the option with its value, for a message: "max tokens 3".
func (r Option) describe(o *Options) string {
	if r.value.describe != nil {
		return r.value.describe(r.Name, o)
	}
	return trace.Called(r.Name) + " " + r.value.write(o)
}

// checkMethods returns a [trace.UsageError] if no method takes the option, and a warning for each
// method that does not where others do.
func (r Option) checkMethods(o *Options, all []planned) (warnings []string, err error) {
	if r.takes == nil || !r.Given(o) {
		return nil, nil
	}
	taken := false
	for _, m := range all {
		if r.takes(o, m) {
			taken = true
		} else if !r.quiet {
			warnings = append(warnings,
				fmt.Sprintf("%s does not apply to %s: %s.", r.Name, m.Name, r.why))
		}
	}
	if !taken {
		advice := ""
		if len(o.Methods) == 0 {
			if names := r.TakenBy(); names != nil {
				advice = "; name methods that take it, such as " + names[0]
			}
		}
		return nil, r.usagef("%s applies to none of the methods: %s: %s%s",
			trace.Called(r.Name), all[0].Name, r.why, advice)
	}
	return warnings, nil
}

// alone returns what [Option.takes] asks of a method, as far as it does not depend on the model.
func (m Method) alone(o *Options) planned {
	p := planned{Method: m}
	if m.Scorer != "" {
		p.scorer, _ = scorer.Lookup(m.Scorer)
		return p
	}
	p.mixing, _ = LookupMixing(m.Mixing)
	a, err := aggregation.Lookup(m.Aggregation)
	p.lift, p.topOnly = o.Lift && p.mixing.Sums, err == nil && a.Info().TopOnly
	return p
}

// For returns the options for one method alone: without those that it does not take, which would be
// an error of [Explain], and without functions. The error is that of [LookupMethod], or of an
// option that is wrong.
func (o Options) For(method string) (Options, error) {
	m, err := LookupMethod(method)
	if err != nil {
		return Options{}, err
	}
	var alone Options
	asked := m.alone(&o)
	for _, row := range allOptions() {
		if !row.Given(&o) || row.takes != nil && !row.takes(&o, asked) {
			continue
		}
		if err := row.Set(&alone, row.value.write(&o)); err != nil {
			return Options{}, row.usagef("%v", err)
		}
	}
	alone.Methods = []string{method} // the names of all methods are a row too
	return alone, nil
}

// check returns a [trace.UsageError] for the first option of some groups that is wrong whatever the
// model is; without groups, of all.
func (o Options) check(groups ...OptionGroup) error {
	for _, row := range OptionTable(groups...) {
		if err := row.check(&o); err != nil {
			return err
		}
	}
	return o.checkStudies()
}

// checkModel returns a [trace.UsageError] for the first option that a model of this kind does not
// take.
func (o Options) checkModel(info trace.Info) error {
	for _, row := range allOptions() {
		if err := row.checkModel(&o, info); err != nil {
			return err
		}
	}
	return nil
}

// settings returns what made the numbers of a method, by name.
func (o Options) settings(m planned) map[string]string {
	s := map[string]string{}
	if m.scorer != nil {
		s["scorer"] = m.Scorer
	} else {
		s["mixing"], s["aggregation"] = m.Mixing, m.Aggregation
	}
	if m.Normalize {
		s["normalize"] = "rows divided by their sum"
	}
	for _, row := range allOptions() {
		if row.setting == "" || (row.Group == ScorerOptions) != (m.scorer != nil) {
			continue
		}
		shown := ""
		if row.shown != nil {
			shown = row.shown(&o, m)
		} else if row.Given(&o) && (row.takes == nil || row.takes(&o, m)) {
			shown = row.value.write(&o)
		}
		if shown != "" {
			s[row.setting] = shown
		}
	}
	return s
}

// onOff returns text if a switch is on.
func onOff(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

// joined writes numbers with commas between them: "0,3,5".
func joined(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}
