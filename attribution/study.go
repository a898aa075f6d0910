package attribution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/registry"
)

// Study computes something of a text that is explained, beside the rows of methods: what the model
// would have said after each layer, what a prediction loses without the words that a picture names.
// It is asked for by its options, [Options.Studies], and what it finds is carried under its name in
// [Explanation.Studies] and [GeneratedToken.Studies], through JSON, pages and the engine of a
// notebook. Studies are registered from init with [RegisterStudy]; nothing else names one.
type Study struct {
	// Name is the name of what it finds: "verdict".
	Name string
	// Options are its settings. The study is asked for if the first one is given.
	Options []StudyOption
	// Whole and Token return an empty value, a pointer, of the type that it finds of the text and
	// of a generated token, into which the JSON form is read; nil if it finds nothing of the kind.
	// Generated tokens that [Options.Target] puts together have no findings.
	Whole, Token func() any
	// Needs, if not nil, is what it needs of the pass over the text.
	Needs func(Studies) StudyNeeds
	// Begin checks what is asked for against the model and the prompt, before the model runs, and
	// returns what is called when it does. Its error is mostly a [trace.UsageError].
	Begin func(*StudyRun) (StudySteps, error)
	// Check, if not nil, finds in a prompt that no model has read what Begin would refuse.
	Check func(o *Options, prompt string) error
	// Cost, if not nil, returns what it takes, in words, "" if it is quick.
	Cost func(trace.Info, Studies) string
	// Spans reports whether what it finds of the text also holds when tokens are put together.
	Spans bool
	// Words reports whether what it finds of a generated token is about the word that it is in, so
	// that the row of the word has it in [Explanation.Words]; positions in it are those of tokens.
	Words bool
}

// StudyOption is a setting of a [Study]: a row of [OptionTable] whose value is a text.
type StudyOption struct {
	// Name, Flag, Key and Help are as in [Option].
	Name, Flag, Key, Help string
	// Limits stand at the end of the help: ", from 1 to 100 (default 5)".
	Limits string
	// Wrong returns what is wrong with a value, "" if nothing is: "want answer, or a number". nil
	// takes any text up to 1 MiB.
	Wrong func(value string) string
	// Ungrouped is why the option does not go with [Options.By] and [Options.Target], "" if it
	// does: "heads read tokens as the model has them".
	Ungrouped string
	// Conflict, if not nil, returns why the option does not go with others, "" if it does.
	Conflict func(o *Options) string
	// Switch reports whether the option is on or off, and not a text; it has a key then.
	Switch bool
	// Off is what the words off and false mean for the first option of a study, which asks for it:
	// a value that asks for nothing, different from no value, or "".
	Off string
	// Generates reports whether models that read a text do not take it.
	Generates bool

	// first reports whether the option is the one that asks for its study.
	first bool
}

// key is the name of the option in [Studies].
func (o StudyOption) key() string {
	if o.Key != "" {
		return o.Key
	}
	return o.Flag
}

// off reports whether a value asks for nothing.
func (o StudyOption) off(value string) bool {
	if o.Switch {
		on, err := message.ParseSwitch(value)
		return err != nil || !on
	}
	return value == "" || value == o.Off || o.first && turnsOff(value)
}

// turnsOff reports whether the value of an option that asks for a study says that it is not asked
// for. The number 0 is a token.
func turnsOff(value string) bool { return value == "off" || value == "false" }

// conflict returns why the option does not go with the others, "" if it does or asks for nothing.
func (o StudyOption) conflict(of *Options) string {
	switch {
	case o.off(of.Studies[o.key()]):
		return ""
	case o.Ungrouped != "" && (of.By != "" || of.Target != ""):
		return trace.Called(o.Name) + " and groups of tokens; " + o.Ungrouped +
			": leave by and target out"
	case o.Conflict != nil:
		return o.Conflict(of)
	}
	return ""
}

// StudyNeeds is what a study needs of the pass over the text.
type StudyNeeds struct {
	// Lens asks a model that generates for the lens of every prediction, Logits for its logits, and
	// ByHead for the parts of its logit that each head wrote.
	Lens, Logits, ByHead bool
	// Contrast reports whether the study explains a prediction against [Options.Contrast], and
	// Foils against the next most probable tokens. ContrastReads is that of models that read, too.
	Contrast, ContrastReads, Foils bool
	// Tokens is the default of [Options.MaxTokens], 0 for that of other explanations.
	Tokens int
}

// StudySteps is what a study does while a text is explained. Each may be nil.
type StudySteps struct {
	// Step is called for every step of a model that generates, before its token is added to the
	// explanation.
	Step func(trace.Step, *GeneratedToken) error
	// End is called once all tokens are there.
	End func(context.Context) error
}

// studies are the registered studies by name.
var studies = registry.Registry[*Study]{Kind: "study"}

// RegisterStudy adds a study. It panics as [RegisterMethod] does, and if a switch has a flag.
func RegisterStudy(s *Study) {
	for _, o := range s.Options {
		if o.Switch && o.Flag != "" {
			panic("attribution: study " + s.Name + ": the switch " + o.Name +
				" has a flag; give it a key, since a flag of a study takes a value")
		}
	}
	s.Options[0].first = true
	studies.Register(s.Name, s)
}

// allStudies returns the registered studies, sorted by name.
func allStudies() (all []*Study) {
	for _, name := range studies.Names() {
		if s, err := studies.Lookup(name); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// Studies are settings of studies by their key or flag, as in {"lens": "answer"}.
type Studies map[string]string

// asks reports whether the settings ask for the study.
func (s *Study) asks(o *Options) bool {
	first := s.Options[0]
	return !first.off(o.Studies[first.key()])
}

// asked returns the studies that are asked for.
func (o *Options) asked() []*Study {
	return slices.DeleteFunc(allStudies(), func(s *Study) bool { return !s.asks(o) })
}

// Afterwards reports whether something is computed after the last token.
func (o Options) Afterwards() bool { return len(o.asked()) > 0 }

// studyNeeds returns what the studies need that are asked for.
func (o *Options) studyNeeds() (all StudyNeeds) {
	for _, s := range o.asked() {
		if s.Needs == nil {
			continue
		}
		n := s.Needs(o.Studies)
		all.Lens, all.Logits = all.Lens || n.Lens, all.Logits || n.Logits
		all.ByHead, all.Contrast = all.ByHead || n.ByHead, all.Contrast || n.Contrast
		all.ContrastReads, all.Foils = all.ContrastReads || n.ContrastReads, all.Foils || n.Foils
		all.Tokens = max(all.Tokens, n.Tokens)
	}
	return all
}

// Ask sets a setting of a study; "" takes it back.
func (o *Options) Ask(key, value string) {
	asked := maps.Clone(o.Studies) // which other options may share
	if asked == nil {
		asked = Studies{}
	}
	if asked[key] = value; value == "" {
		delete(asked, key)
	}
	if o.Studies = asked; len(asked) == 0 {
		o.Studies = nil
	}
}

// CheckPrompt returns a [trace.UsageError] if a prompt lacks what a study asks of it, as far as
// that is known before a model reads it.
func (o Options) CheckPrompt(prompt string) error {
	for _, s := range o.asked() {
		if s.Check != nil {
			if err := s.Check(&o, prompt); err != nil {
				return err
			}
		}
	}
	return nil
}

// StudyCosts returns what the studies that are asked for take, in words, of those that are not
// quick.
func (o Options) StudyCosts(info trace.Info) (all []string) {
	for _, s := range o.asked() {
		if s.Cost == nil {
			continue
		}
		if cost := s.Cost(info, o.Studies); cost != "" {
			all = append(all, cost)
		}
	}
	return all
}

// studyRows are the rows of the options of studies, in the order of their names.
func studyRows() (rows []Option) {
	for _, s := range allStudies() {
		for _, o := range s.Options {
			rows = append(rows, o.row())
		}
	}
	return rows
}

// row returns the option as a row of [OptionTable].
func (o StudyOption) row() Option {
	key := o.key()
	wrong := o.Wrong
	switch {
	case o.Switch:
		wrong = wrongSwitch
	case wrong == nil:
		wrong = wrongLength
	}
	v := texts(func(of *Options) string { return of.Studies[key] },
		func(of *Options, text string) {
			if o.first && turnsOff(text) {
				text = o.Off
			}
			of.Ask(key, text)
		}, func(text string) string {
			if o.first && turnsOff(text) {
				return ""
			}
			return wrong(text)
		})
	v.limits, v.given = o.Limits, func(of *Options) bool { return !o.off(of.Studies[key]) }
	if o.Switch {
		v.alone = "true"
	}
	row := Option{
		Name: o.Name, Flag: o.Flag, Key: o.Key, Field: fmt.Sprintf("Studies[%q]", key),
		Group: GenerationOptions, Help: o.Help, value: v, conflict: o.conflict,
	}
	if o.Generates {
		row.encoder = generates
	}
	return row
}

// wrongSwitch returns what is wrong with the value of a switch.
func wrongSwitch(text string) string {
	_, err := message.ParseSwitch(text)
	return onOff(text != "" && err != nil, fmt.Sprint(err))
}

// wrongLength returns what is wrong with a text that is too long.
func wrongLength(text string) string {
	return onOff(len(text) > maxTextBytes,
		fmt.Sprintf("it has %d bytes; at most %d", len(text), maxTextBytes))
}

// checkStudies returns a [trace.UsageError] for a setting that no study has.
func (o Options) checkStudies() error {
	var known []string
	for _, s := range allStudies() {
		for _, option := range s.Options {
			known = append(known, option.key())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Studies)) {
		if !slices.Contains(known, key) {
			return trace.Usagef("no study has the setting %s; %s", message.Quote(key),
				message.KnownAre(key, known))
		}
	}
	return nil
}

// StudyRun is a text that is being explained, as a study sees it.
type StudyRun struct {
	// Model is the model, Options are those of the explanation, and Prompt is the text as the
	// caller gave it, without a chat template.
	Model   trace.Model
	Options Options
	Prompt  string
	// Explanation has the prompt when the study begins, and then the tokens so far. A study adds
	// what it finds to its Studies and to those of its tokens, with [Findings.Set].
	Explanation *Explanation
	// Contrast is the token of [Options.Contrast], nil without. Foils is the number of foils, and
	// Alternatives that of the alternatives that each token carries.
	Contrast            *int
	Foils, Alternatives int
	// Tokens is the number of tokens asked for, 0 if the model chooses it.
	Tokens int
	run    *run
}

// Setting returns a setting of a study, "" if it is not given.
func (r *StudyRun) Setting(key string) string { return r.Options.Studies[key] }

// Read returns a text as the model reads a prompt, under options that may differ from those of the
// run, and its tokens.
func (r *StudyRun) Read(text string, o Options) (Prompt, []trace.Token, error) {
	return readPrompt(r.Model, text, o)
}

// LogitReader returns the model, which the study reads at every position. It returns a
// [trace.UsageError] if the model does not tell what it predicts there.
func (r *StudyRun) LogitReader() (trace.LogitReader, error) {
	reader, ok := r.Model.(trace.LogitReader)
	if !ok {
		return nil, trace.Usagef("%s does not tell what it predicts at every position",
			message.Quote(r.Model.Info().Name))
	}
	return reader, nil
}

// Warn adds a remark for the user, one sentence.
func (r *StudyRun) Warn(remark string) {
	r.run.warn(remark)
	r.Explanation.Warnings = append(r.Explanation.Warnings, remark)
}

// Progress tells of a long computation, of which so much is done.
func (r *StudyRun) Progress(stage, unit string, done, total int) {
	if r.Options.OnProgress != nil {
		r.Options.OnProgress(trace.Progress{Stage: stage, Unit: unit, Done: done, Total: total})
	}
}

// OpeningToken is the value of an option about a generated token that names the one that a picture
// opens at, beside numbers.
const OpeningToken = "opening"

// WrongToken returns what is wrong with the value of an option that names a generated token by its
// number from 0 or by one of some words, "" if nothing is.
func WrongToken(text string, words ...string) string {
	_, wrong := tokenText(text, words...)
	return wrong
}

// tokenText reads the number of a generated token, -1 for none or one of the words.
func tokenText(text string, words ...string) (token int, wrong string) {
	if text == "" || slices.Contains(words, text) {
		return -1, ""
	}
	token, err := strconv.Atoi(text)
	if err != nil || token < 0 || token >= maxTokens || strconv.Itoa(token) != text {
		return -1, fmt.Sprintf("want %s, or the number of a generated token from 0 to %d",
			strings.Join(words, ", "), maxTokens-1)
	}
	return token, ""
}

// Opening returns the generated token that a picture opens at.
func (r *StudyRun) Opening() int {
	t := 0
	if r.Options.Opens != nil {
		t = r.Options.Opens(r.Explanation)
	}
	return min(t, len(r.Explanation.Steps)-1)
}

// Token returns the generated token that the value of an option names by its number or, once there
// are tokens, as [OpeningToken]; -1 if it names none. The error is a [trace.UsageError] if there is
// no such token.
func (r *StudyRun) Token(option string) (int, error) {
	row, n := LookupOption(option), len(r.Explanation.Steps)
	value := row.value.write(&r.Options)
	if n == 0 {
		n = r.Tokens // before the model runs
	} else if value == OpeningToken {
		return r.Opening(), nil
	}
	t, _ := tokenText(value)
	if t >= n && n > 0 {
		return -1, row.usagef("%s %d; the explanation has %s, counted from 0",
			trace.Called(option), t, message.Count(n, r.Explanation.shown()))
	}
	return t, nil
}

// beginStudies lets the studies check what is asked of them.
func (r *run) beginStudies(m trace.Model, prompt string) error {
	for _, s := range r.opts.asked() {
		steps, err := s.Begin(&StudyRun{
			Model: m, Options: r.opts, Prompt: prompt, Explanation: r.e, Contrast: r.contrast,
			Foils: r.opts.foils(), Alternatives: r.opts.alternatives(), Tokens: r.tokens, run: r,
		})
		if err != nil {
			return err
		}
		r.studies = append(r.studies, steps)
	}
	return nil
}

// studyStep gives a step to the studies.
func (r *run) studyStep(step trace.Step, g *GeneratedToken) error {
	for _, s := range r.studies {
		if s.Step != nil {
			if err := s.Step(step, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// endStudies lets the studies compute what they find once all tokens are there.
func (r *run) endStudies(ctx context.Context) error {
	for _, s := range r.studies {
		if s.End != nil && len(r.e.Steps) > 0 {
			if err := s.End(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Findings are what studies found, by their names. Each is a pointer to the type of [Study.Whole]
// or [Study.Token], or its JSON form if no study of the name is registered.
type Findings map[string]any

// Finding returns what a study found, nil if there is nothing of that type.
func Finding[T any](f Findings, study string) *T {
	found, _ := f[study].(*T)
	return found
}

// Set adds what a study found, a pointer. It panics if found is not one.
func (f *Findings) Set(study string, found any) {
	if _, raw := found.(json.RawMessage); !raw && reflect.TypeOf(found).Kind() != reflect.Pointer {
		panic(fmt.Sprintf("attribution: study %s found a %T, which is not a pointer", study, found))
	}
	if *f == nil {
		*f = Findings{}
	}
	(*f)[study] = found
}

// Without returns the findings without those of a study.
func (f Findings) Without(study string) Findings {
	others := maps.Clone(f)
	delete(others, study)
	return others
}

// spans returns the findings of a text that hold when tokens are put together.
func (f Findings) spans() Findings {
	kept := maps.Clone(f)
	maps.DeleteFunc(kept, func(name string, _ any) bool {
		s, err := studies.Lookup(name)
		return err != nil || !s.Spans
	})
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// GobEncode writes the findings as JSON, so that gob has to know no type of a study.
func (f Findings) GobEncode() ([]byte, error) { return json.Marshal(f) }

// GobDecode reads what GobEncode writes; [Explanation.ReadStudies] then gives them their types.
func (f *Findings) GobDecode(data []byte) error { return f.UnmarshalJSON(data) }

// UnmarshalJSON reads findings and leaves each in its JSON form.
func (f *Findings) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*f = nil
	for name, text := range raw {
		f.Set(name, text)
	}
	return nil
}

// ReadStudies gives findings that came as JSON the types of their studies. Those of a study that is
// not registered stay as they are. [Explanation.UnmarshalJSON] calls it.
func (e *Explanation) ReadStudies() error {
	if err := e.Studies.read(func(s *Study) func() any { return s.Whole }); err != nil {
		return err
	}
	for t, g := range e.Steps {
		if err := g.Studies.read(func(s *Study) func() any { return s.Token }); err != nil {
			return fmt.Errorf("token %d: %w", t, err)
		}
	}
	return nil
}

// read is [Explanation.ReadStudies] for some findings, given which type they have.
func (f Findings) read(typed func(*Study) func() any) error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		raw, isRaw := f[name].(json.RawMessage)
		s, err := studies.Lookup(name)
		if !isRaw || err != nil || typed(s) == nil {
			continue
		}
		found := typed(s)()
		if err := json.Unmarshal(raw, found); err != nil {
			return pkg.Errorf("study %s: %w", name, err)
		}
		f[name] = found
	}
	return nil
}

// UnmarshalJSON reads an explanation with what studies found.
func (e *Explanation) UnmarshalJSON(data []byte) error {
	type plain Explanation
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}
	return e.ReadStudies()
}
