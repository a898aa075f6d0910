package export

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/jsonread"
	"github.com/headwater-ml/headwater/internal/message"
)

// MadeVersion is the version of the form of [Made].
const MadeVersion = 1

// Made is the origin of a file: all that is needed to make it again. A file holds it as JSON.
type Made struct {
	// Form is [MadeVersion]. Version is that of the program.
	Form    int    `json:"form"`
	Version string `json:"version"`
	// Model is the model that was explained.
	Model MadeModel `json:"model"`
	// Prompt is the text that the user gave. PromptIDs and StepIDs are the tokens.
	Prompt    string `json:"prompt"`
	PromptIDs []int  `json:"prompt_ids"`
	StepIDs   []int  `json:"step_ids"`
	// Options are those of the explanation, and By is a grouping that was made after it, of methods
	// whose numbers differ if it is known before.
	Options attribution.Options `json:"options"`
	By      string              `json:"by,omitempty"`
	// Settings are, by method, the settings that computed the numbers.
	Settings map[string]map[string]string `json:"settings"`
	// Format and Show are the kind of the file and its picture.
	Format Format      `json:"format"`
	Show   render.Show `json:"show"`
	// Recorded reports whether the numbers come from the records of another program, which the file
	// does not have.
	Recorded bool `json:"recorded,omitempty"`
	// FlowSource is, for a flow graph, the token at its source.
	FlowSource *int `json:"flow_source,omitempty"`
	// Against is, for a comparison of two explanations, the origin of the other one.
	Against *Made `json:"against,omitempty"`
	// Numbers has, by method, the SHA-256 of all values, as little-endian float64.
	Numbers map[string]string `json:"numbers"`
	// Shown has the values that the file shows, with nine digits, so that another run can compare
	// its own with them; nil if they are more than maxShown.
	Shown []*float64 `json:"shown,omitempty"`
}

// MadeModel is a model as a file names it.
type MadeModel struct {
	// Name is the name that the user gave; of a path its last part alone, and then Local is set.
	Name  string `json:"name"`
	Local bool   `json:"local,omitempty"`
	Hash  string `json:"hash"`
	// Family, Backend and DType are the architecture, the program that computed it and the type of
	// the weights.
	Family  string `json:"family"`
	Backend string `json:"backend"`
	DType   string `json:"dtype,omitempty"`
}

// maxShown limits how many values a file holds a second time.
const maxShown = 20_000

// NewMade returns an origin with the facts that only the caller knows: the prompt as it was typed,
// the options, the grouping, the type of the weights and the version of the program. The rest is
// filled in when a file is written.
func NewMade(
	prompt string, opts attribution.Options, by units.Grouping, dtype, version string,
) Made {
	m := Made{Prompt: prompt, Options: opts, Version: version}
	switch {
	case by.OfTokens() || by.String() == opts.By:
	case opts.Together() || opts.Target != "": // whose numbers differ if they are known before
		m.By = by.String()
	default:
		m.Options.By = by.String()
	}
	m.Model.DType = dtype
	return m
}

// MadeOf returns how an explanation was made, as its Origin says. One without an Origin, or whose
// tokens were put together by a program, cannot be made again, which Recorded says. The error says
// why the Origin cannot be read.
func MadeOf(e *attribution.Explanation, version string) (Made, error) {
	if e.Origin == nil {
		m := NewMade(e.Prompt.Text, attribution.Options{}, units.Grouping{}, "", version)
		m.Recorded = true
		return m, nil
	}
	was, err := readMade(e.Origin)
	if err != nil {
		return Made{}, trace.Usagef("the origin of the explanation: %v", err)
	}
	var facts attribution.Facts
	if len(e.Order) > 0 && e.Methods[e.Order[0]] != nil {
		facts = e.Methods[e.Order[0]].Facts
	}
	by, err := units.ParseGrouping(facts.By)
	if err != nil {
		return Made{}, err
	}
	m := NewMade(was.Prompt, was.Options, by, was.Model.DType, version)
	m.Show, m.Recorded = was.Show, was.Recorded || facts.Spans && facts.By == ""
	return m, nil
}

// Origin returns the form in which an explanation has how it was made; see [MadeOf].
func (m Made) Origin() (json.RawMessage, error) {
	m.Form = MadeVersion
	text, err := json.Marshal(m)
	if err != nil {
		return nil, pkg.Errorf("the origin cannot be written: %w", err)
	}
	return text, nil
}

// of returns the JSON of the origin of a file, in ASCII without <, > and &.
func (m Made) of(e *attribution.Explanation, f Format, o Options) (string, error) {
	m = m.complete(e, f, o)
	text, err := json.Marshal(m)
	if err != nil {
		return "", pkg.Errorf("what made the file cannot be written: %w", err)
	}
	return ascii(text), nil
}

// complete fills in the facts that the explanation has.
func (m Made) complete(e *attribution.Explanation, f Format, o Options) Made {
	m.Form, m.Format, m.Show = MadeVersion, f, o.Show
	name, local := trace.WithoutFolder(e.Model.Name)
	m.Model = MadeModel{
		Name: name, Local: local, Hash: e.Model.Hash, Family: e.Model.Family,
		Backend: e.Model.Backend, DType: m.Model.DType,
	}
	m.PromptIDs, m.StepIDs = append([]int{}, e.Prompt.IDs...), []int{}
	for _, s := range e.Steps {
		m.StepIDs = append(m.StepIDs, s.TokenIDs()...)
	}
	m.Settings, m.Numbers = map[string]map[string]string{}, map[string]string{}
	for _, method := range e.Order {
		m.Settings[method] = e.Methods[method].Options
		m.Numbers[method] = digest(slices.Concat(e.Methods[method].Rows...))
	}
	if r := Needs(o.Show, f); r != nil && o.Recorded[r.Name] != nil {
		m.Numbers[r.Name] = digest(r.Numbers(o.Recorded[r.Name]))
		if g, is := o.Recorded[r.Name].(*attribution.FlowGraph); is {
			source := g.Cut.Source
			m.FlowSource = &source
		}
	}
	m.Shown = shown(e, o)
	if Compares(o.Show, f) && o.Against != nil {
		other := o.Against.Made.complete(o.Against.Explanation, f, Options{})
		other.Shown = nil
		m.Against = &other
	}
	return m
}

// digest returns the SHA-256 of numbers as little-endian float64.
func digest(numbers []float64) string {
	h := sha256.New()
	var b [8]byte
	for _, x := range numbers {
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// shown returns the values of the method that a file shows, at the level of each token, [n,m], with
// nine digits.
func shown(e *attribution.Explanation, o Options) []*float64 {
	method, err := o.method(e)
	if err != nil {
		return nil
	}
	r := e.Methods[method]
	if r.Shape[0]*r.Shape[1] > maxShown {
		return nil
	}
	var all []*float64
	for t := range r.Shape[0] {
		for _, x := range r.Row(t, r.Level(t))[:r.Shape[1]] {
			short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
			if err != nil || math.IsNaN(short) || math.IsInf(short, 0) {
				all = append(all, nil)
				continue
			}
			all = append(all, &short)
		}
	}
	return all
}

// ascii writes the characters of JSON beyond ASCII as escapes. JSON of Go already has no <, > and
// &.
func ascii(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		}
	}
	return b.String()
}

// ChartOrigin returns the origin in the file of a chart of a cell: that it is one, and the version
// of the program. The numbers come from the cell, so it cannot be made again from this.
func ChartOrigin(version string) string {
	text, _ := json.Marshal(origin{Form: MadeVersion, Chart: version}) // texts and numbers
	return ascii(text)
}

// origin tells the two kinds of origins apart.
type origin struct {
	Form int `json:"form"`
	// Chart is the version of the program that drew a chart of a cell; empty for explanations.
	Chart string `json:"chart,omitempty"`
}

// ParseMade reads the origin of a file. Unknown keys, another form and options that are invalid are
// errors: a file may come from anybody.
func ParseMade(text []byte) (*Made, error) {
	m, err := readMade(text)
	if err == nil && !slices.Contains(Formats(), m.Format) {
		err = fmt.Errorf("its key \"format\" is %.40q; known are %v", m.Format, Formats())
	}
	return m, err
}

// readMade is ParseMade of an origin that may have no format.
func readMade(text []byte) (*Made, error) {
	var form origin
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, errors.New("what it says of its origin is no valid JSON")
	}
	if form.Form != MadeVersion {
		return nil, fmt.Errorf("what it says of its origin has form %d; this program reads form %d",
			form.Form, MadeVersion)
	}
	if form.Chart != "" {
		return nil, fmt.Errorf("it is a chart that a cell drew with headwater %.40s; run the cell "+
			"again to make it again", form.Chart)
	}
	var m Made
	if err := jsonread.Into(text, &m); err != nil {
		return nil, fmt.Errorf("what it says of its origin cannot be read: %.200s",
			message.NotJSON(err))
	}
	if err := m.Options.Check(); err != nil {
		return nil, fmt.Errorf(`its key "options": %w`, err)
	}
	if m.Against != nil {
		if err := m.Against.Options.Check(); err != nil {
			return nil, fmt.Errorf(`its key "against.options": %w`, err)
		}
		if m.Against.Against != nil {
			return nil, errors.New("it compares more than two explanations")
		}
	}
	if err := m.Show.Check(); err != nil {
		return nil, fmt.Errorf(`its key "show": %w`, err)
	}
	return &m, nil
}

// Difference returns how another run differs from the one that made a file, a sentence each: the
// model, the version, the tokens, the settings and the numbers. It is empty if nothing does.
func (m *Made) Difference(e *attribution.Explanation, o Options) (all []string) {
	now := o.Made.complete(e, m.Format, o)
	note := func(what, was, is string) {
		if was != is {
			all = append(all, fmt.Sprintf("%s: %s in the file, %s now", what, was, is))
		}
	}
	note("model hash", m.Model.Hash, now.Model.Hash)
	note("backend", m.Model.Backend, now.Model.Backend)
	note("type of the weights", m.Model.DType, now.Model.DType)
	note("version of headwater", m.Version, now.Version)
	if !slices.Equal(m.PromptIDs, now.PromptIDs) {
		note("prompt tokens", brief(m.PromptIDs), brief(now.PromptIDs))
	}
	if !slices.Equal(m.StepIDs, now.StepIDs) {
		note("generated tokens", brief(m.StepIDs), brief(now.StepIDs))
	}
	for _, method := range e.Order {
		was, is := m.Settings[method], now.Settings[method]
		for _, key := range keys(was, is) {
			note(fmt.Sprintf("setting %s of %s", key, method), strconv.Quote(was[key]),
				strconv.Quote(is[key]))
		}
	}
	all = append(all, m.numbers(now)...)
	if m.Against != nil && o.Against != nil {
		other := *m.Against
		other.Format = m.Format
		for _, d := range other.Difference(o.Against.Explanation, Options{Made: o.Against.Made}) {
			all = append(all, "side B: "+d)
		}
	}
	return all
}

// numbers returns a sentence for each method whose numbers differ, and the largest difference where
// the file has them.
func (m *Made) numbers(now Made) (all []string) {
	for _, method := range keys(m.Numbers, now.Numbers) {
		if m.Numbers[method] != now.Numbers[method] {
			all = append(all, "numbers: those of "+method+" differ")
		}
	}
	if len(all) == 0 || len(m.Shown) != len(now.Shown) {
		return all
	}
	largest, at := 0.0, -1
	for i, was := range m.Shown {
		is := now.Shown[i]
		if (was == nil) != (is == nil) {
			return append(all, fmt.Sprintf("value %d shown is a number in one run alone", i))
		}
		if was != nil && math.Abs(*was-*is) > largest {
			largest, at = math.Abs(*was-*is), i
		}
	}
	if at < 0 {
		return append(all, "the values shown agree to nine digits")
	}
	columns := max(len(m.PromptIDs), 1)
	return append(all, fmt.Sprintf("the values shown differ by at most %.3g, at generated token "+
		"%d, prompt token %d: %v in the file, %v now", largest, at/columns, at%columns,
		*m.Shown[at], *now.Shown[at]))
}

// brief writes ids, the first few of many.
func brief(ids []int) string {
	const most = 8
	if len(ids) <= most {
		return fmt.Sprint(ids)
	}
	return fmt.Sprintf("%v … (%d)", ids[:most], len(ids))
}

// keys returns the keys of two maps, sorted.
func keys[V any](a, b map[string]V) []string {
	var all []string
	for _, m := range []map[string]V{a, b} {
		for k := range m {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
