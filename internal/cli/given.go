package cli

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/internal/message"
)

// given is the value of a flag with the text that the command line has for it. An empty text is an
// error: --model "$NAME" with an unset NAME would mean the default, which nobody asked for.
type given struct {
	pflag.Value
	text string
}

// Set implements pflag.Value.
func (g *given) Set(text string) error {
	g.text = text
	if err := g.Value.Set(text); err != nil || text != "" {
		return err
	}
	return errors.New("it is empty; leave it out, or give it a value")
}

// switched is the value of a flag that is on or off.
type switched struct{ pflag.Value }

// Set implements pflag.Value.
func (s switched) Set(text string) error {
	on, err := message.ParseSwitch(text)
	if err != nil {
		return err
	}
	return s.Value.Set(strconv.FormatBool(on))
}

// noteGiven makes a [given] of every flag of a command that takes a value, and a [switched] of the
// others.
func noteGiven(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "[]" || f.DefValue == "0s" { // which the help would show
			f.DefValue = ""
		}
		if f.NoOptDefVal == "" {
			f.Value = &given{Value: f.Value}
		} else {
			f.Value = switched{f.Value}
		}
	})
}

// Given reports whether a flag asks for something: the command line has it, and its value is not
// the default and no switch that is off. A flag that asks for nothing is no mistake anywhere. A
// model that is named is asked for, also if it is the default.
func Given(cmd *cobra.Command, name string) bool {
	flag := cmd.Flags().Lookup(name)
	if flag == nil || !flag.Changed {
		return false
	}
	text := flag.Value.String()
	if g, ok := flag.Value.(*given); ok {
		text = cmp.Or(text, g.text) // some values do not write themselves
	}
	return name == "model" || text != flag.DefValue &&
		!slices.Contains([]string{"auto", "false", "never", "none", "off"}, text)
}
