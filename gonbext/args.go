package gonbext

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/attribution/units"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/message"
)

// ExplainArgs is [Explain] with the words of a %exec line of GoNB, so that a cell without Go code
// can explain a prompt:
//
//	%exec gonbext.ExplainArgs "the keys to the cabinet" --methods rollout,flow --max-tokens 3
//
// In GoNB's own kernel a line // must follow, because GoNB runs no cell without Go. The options
// stand before or after the prompt. They are those of the command headwater explain that are about
// the model, the methods, what is generated and what is shown: --model, --backend, --dtype,
// --max-memory, --by, --layer, --filter, --token, the flags of [attribution.OptionTable], and --set
// for [attribution.SetOptions].
func ExplainArgs() {
	out := newDisplay()
	prompt, settings, err := parseArgs(os.Args[1:])
	if err == nil {
		_, err = explain(out, "", prompt, settings)
	}
	if err != nil {
		out.exit(wordedAsFlags(err))
	}
}

// Only in a cell, so that a program that imports this package keeps its flags as they are.
func init() {
	if gonbui.IsNotebook {
		passOptions(flag.CommandLine, os.Args, os.Stderr, os.Exit)
	}
}

// passOptions lets an option of [ExplainArgs] stand before the prompt: GoNB calls flag.Parse before
// the function of a %exec line, which would end the program at the first option, because package
// flag does not know it. If a cell has a flag of that name, flags are its own, and a wrong one ends
// it as ever.
func passOptions(flags *flag.FlagSet, args []string, stderr io.Writer, exit func(int)) {
	if len(args) < 2 || !strings.HasPrefix(args[1], "--") {
		return
	}
	name, _, _ := strings.Cut(args[1][2:], "=")
	known := arguments(&attribution.Options{}, &Model{}, &Show{})
	if !slices.ContainsFunc(known, func(a argument) bool { return a.name == name }) {
		return
	}
	var said bytes.Buffer
	flags.Init(args[0], flag.ContinueOnError)
	flags.SetOutput(&said)
	flags.Usage = func() {
		if flags.Lookup(name) == nil {
			return // parseArgs reads the options
		}
		flags.PrintDefaults()
		_, _ = said.WriteTo(stderr)
		exit(2)
	}
}

// argument is one option of a %exec line.
type argument struct {
	name string
	// on is what a switch sets; for other options set reads the value.
	on  *bool
	set func(value string) error
}

// parseArgs reads a prompt and options, in any order. What stands after the word -- is the prompt.
func parseArgs(args []string) (prompt string, settings []Setting, err error) {
	var o attribution.Options
	var m Model
	var v Show
	known := arguments(&o, &m, &v)
	found, ended := false, false // the prompt, and the options by --
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--" && !ended {
			ended = true
			continue
		}
		if ended || !strings.HasPrefix(word, "--") {
			if found {
				return "", nil, usagef("two prompts, %.60q and %.60q: a prompt of several words "+
					"needs quotes", prompt, word)
			}
			prompt, found = word, true
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		at := slices.IndexFunc(known, func(a argument) bool { return a.name == name })
		if at < 0 {
			return "", nil, unknownOption(name, known)
		}
		option := known[at]
		if option.on != nil && !given {
			value, given = "true", true
		}
		if !given {
			if len(args) == 0 {
				return "", nil, usagef("option --%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		if err := option.read(value); err != nil {
			return "", nil, err
		}
	}
	if !found {
		return "", nil, usagef(`the prompt is missing: %%exec gonbext.ExplainArgs "the prompt" ` +
			"--max-tokens 3")
	}
	return prompt, []Setting{Options(o), m, v}, nil
}

// names returns the names of options, as they are written.
func names(all []argument) []string {
	var n []string
	for _, a := range all {
		n = append(n, "--"+a.name)
	}
	return n
}

// elsewhere are options of headwater explain that have a function of their own in a cell.
var elsewhere = map[string]string{
	"view": "a cell below %% shows another view: gonbext.Heads, FlowGraph, Maps, Experts, Lens " +
		"or Patch with the prompt, or gonbext.Layers(gonbext.Last())",
	"output":   `gonbext.Save("figure.svg") in a later cell, below %%, saves the picture`,
	"messages": "gonbext.Explain takes messages in Conversation of gonbext.Options",
	"edit":     "gonbext.Explain takes edits in Edits of gonbext.Options",
	"against":  "gonbext.Compare compares two explanations",
}

// unknownOption says what to do in the place of an option that is not known: the function that does
// it, else the options that are spelled like it, else all.
func unknownOption(name string, known []argument) error {
	if instead := elsewhere[name]; instead != "" {
		return usagef("--%s is no option of a cell; %s", name, instead)
	}
	if row := attribution.LookupOption(name); row.Key != "" && row.Key == name {
		return usagef("--%s is no option by itself; write --set %s", name, row.Setting())
	}
	n := names(known)
	if near := message.DidYouMean("--"+name, n); near != "" {
		return usagef("unknown option --%.60s; %s", name, strings.TrimSpace(near))
	}
	return usagef("unknown option --%.60s; known are %s", name, strings.Join(n, ", "))
}

// read sets the option to a value.
func (a argument) read(value string) error {
	if a.on != nil {
		on, err := message.ParseSwitch(value)
		if err != nil {
			return usagef("option --%s is %.60q; %v", a.name, value, err)
		}
		*a.on = on
		return nil
	}
	err := a.set(value)
	if err == nil {
		return nil
	}
	reason := message.Words(err, flagOf)
	if usage := (*trace.UsageError)(nil); errors.As(err, &usage) && usage.Option != "" {
		return usagef("%s", reason) // which names one option of several
	}
	return usagef("option --%s is %.60q: %s", a.name, value, reason)
}

// arguments returns the options, which set the fields of o, m and v.
func arguments(o *attribution.Options, m *Model, v *Show) []argument {
	text := func(name string, to *string) argument {
		return argument{name: name, set: func(s string) error {
			*to = s
			return nil
		}}
	}
	all := []argument{
		text("model", &m.Name), text("backend", &m.Backend), text("dtype", &m.DType),
		text("caption", &v.Caption),
		{name: "max-memory", set: func(s string) (err error) {
			m.MaxMemory, err = message.ParseBytes(s)
			return err
		}},
		{name: "by", set: func(s string) error {
			v.By = s
			_, err := units.ParseGrouping(s)
			return err
		}},
		{name: "layer", set: func(s string) error {
			layer, err := strconv.Atoi(s)
			if err != nil {
				return usagef("want a layer, counted from 0")
			}
			v.Layer = &layer
			return nil
		}},
		{name: "token", set: func(s string) error {
			err := (*render.Show)(v).SetTokens(s)
			if v.Tokens != nil {
				err = usagef("want one token; gonbext.Layers(gonbext.Last(), %s) shows several", s)
			}
			return err
		}},
		{name: "filter", set: func(s string) error {
			on, err := message.ParseSwitch(s)
			if err != nil {
				return usagef("%v", err)
			}
			v.Filter = attribution.Filter{}
			if on {
				v.Filter = attribution.DefaultFilter()
			}
			return nil
		}},
		{name: "set", set: func(s string) error {
			return attribution.SetOptions(o, attribution.OptionTable(), s)
		}},
	}
	for _, row := range attribution.OptionTable() {
		if row.Flag == "" || row.Flag == "by" { // that of Show, and what --set sets
			continue
		}
		if on := row.Switch(o); on != nil {
			all = append(all, argument{name: row.Flag, on: on})
			continue
		}
		all = append(all, argument{name: row.Flag, set: func(s string) error {
			return row.Set(o, s)
		}})
	}
	return all
}
