package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// KnownCommand refuses an unknown subcommand.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if names == nil {
		return Usagef("%s has no commands, got %.60q; see %s --help", cmd.Name(), args[0],
			cmd.CommandPath())
	}
	return Usagef("unknown command %.60q; %s", args[0], message.KnownAre(args[0], names))
}

// NoArguments refuses any argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no argument, got %.60q; see %s --help", cmd.Name(), args[0],
			cmd.CommandPath())
	}
	return nil
}

// NeedFlags returns a usage error that names the flags that are missing.
func NeedFlags(cmd *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			missing = append(missing, "--"+name)
		}
	}
	if missing == nil {
		return nil
	}
	return Usagef("%s needs %s; see %s --help", cmd.Name(), message.List(missing),
		cmd.CommandPath())
}

// OneOf returns a usage error if a flag's value is not one of those known.
func OneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return Usagef("--%s %.60q is unknown; %s", flag, value, message.KnownAre(value, known))
}

// QuotedNames lists names for a message, the first few.
func QuotedNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name[:min(len(name), 60)]))
	}
	return message.Some(quoted, 20)
}

// Limits of flags that are no option of the library.
const (
	MaxIndex = attribution.MaxIndex // of a token
	MaxTop   = 1_000_000
)

// WholeFlag adds a flag that takes a whole number from least to most. The usage gets the range and,
// unless it is empty, what the number is by default.
func WholeFlag(f *pflag.FlagSet, p *int, name string, least, most int, usage, byDefault string) {
	usage = fmt.Sprintf("%s, from %d to %d", usage, least, most)
	_, err := strconv.Atoi(byDefault)
	if err != nil && byDefault != "" {
		usage += " (default " + byDefault + ")"
	}
	f.Func(name, usage, func(s string) error { return SetWhole(p, s, least, most) })
	if err == nil {
		f.Lookup(name).DefValue = byDefault
	}
}

// SetWhole reads a whole number from least to most.
func SetWhole(p *int, s string, least, most int) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	*p = n
	return nil
}
