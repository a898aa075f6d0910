package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/internal/cli"
)

// flagGroups are the flags of explain as its help lists them: those that people need first, then
// groups. A flag that no group names is in the last one.
var flagGroups = []struct{ title, names string }{
	{"Flags", "model methods output open format view token max-tokens continuation contrast by " +
		"top chat help"},
	{"What is read", "input messages system chat-set pair position " +
		"special from to"},
	{"What is generated", "temperature seed alternatives edit"},
	{"What pictures show", "target without against against-model layer head source filter size " +
		"font palette color width full caption sinks alignment"},
	{"Where it is computed", "backend dtype pre max-memory"},
	{"How methods compute and tokens are drawn", "set"},
}

// groupFlags lets the help of a command list its flags by groups, wrapped to the terminal.
func groupFlags(k *cli.Kit, cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var text strings.Builder
		fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		width := cmp.Or(cli.Columns(k.Stdout), 100)
		flags := cmd.LocalFlags()
		var named []string
		for _, group := range flagGroups {
			fmt.Fprintf(&text, "\n%s:\n", group.title)
			for name := range strings.FieldsSeq(group.names) {
				if f := flags.Lookup(name); f != nil { // that of help is added late
					describeFlag(&text, f, width)
				}
				named = append(named, name)
			}
		}
		flags.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(named, f.Name) {
				describeFlag(&text, f, width)
			}
		})
		_, err := io.WriteString(cmd.OutOrStderr(), text.String())
		return err
	})
}

// describeFlag writes a flag and below it what it does.
func describeFlag(text *strings.Builder, f *pflag.Flag, width int) {
	short := "    "
	if f.Shorthand != "" {
		short = "-" + f.Shorthand + ", "
	}
	value, usage := pflag.UnquoteUsage(f)
	if f.DefValue != "" && f.DefValue != "false" {
		usage += " (default " + f.DefValue + ")"
	}
	name := strings.TrimRight("  "+short+"--"+f.Name+" "+value, " ")
	cli.WriteHanging(text, name, usage, min(10, len(name)), width)
}
