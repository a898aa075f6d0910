package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// FlagGroup are flags that the help of a command lists below one title, by their names without
// hyphens, joined by spaces.
type FlagGroup struct{ Title, Names string }

// helpColumns is how wide help is where nobody watches, so that its bytes are equal everywhere.
const helpColumns = 100

// helpWidth returns the columns of the terminal that help is written to. A text of help is made in
// a buffer, so the streams of the program tell.
func helpWidth(cmd *cobra.Command) int {
	return cmp.Or(Columns(cmd.Root().OutOrStdout()), helpColumns)
}

// writeHelp writes what a command does, and its usage.
func writeHelp(cmd *cobra.Command, _ []string) {
	var text strings.Builder
	writeParagraphs(&text, cmp.Or(cmd.Long, cmd.Short), helpWidth(cmd))
	text.WriteString("\n")
	text.WriteString(cmd.UsageString())
	_, _ = io.WriteString(cmd.OutOrStdout(), text.String()) // a reader that left wants no more
}

// writeUsage writes examples, the commands below this one and the flags: those of the groups, then
// the others.
func writeUsage(cmd *cobra.Command, groups []FlagGroup) error {
	var text strings.Builder
	width := helpWidth(cmd)
	text.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	commands := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() && c.Name() != "help"
	})
	if len(commands) > 0 {
		fmt.Fprintf(&text, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	if len(commands) > 0 {
		text.WriteString("\nAvailable Commands:\n")
		for _, c := range commands {
			writeHanging(&text, "  "+c.Name(), c.Short, cmd.Commands()[0].NamePadding()+3, width)
		}
	}
	flags := cmd.LocalFlags()
	var grouped []string
	for _, group := range groups {
		fmt.Fprintf(&text, "\n%s:\n", group.Title)
		for _, name := range strings.Fields(group.Names) {
			if f := flags.Lookup(name); f != nil { // cobra adds that of help late
				describeFlag(&text, f, width)
			}
			grouped = append(grouped, name)
		}
	}
	if groups == nil && flags.HasAvailableFlags() {
		text.WriteString("\nFlags:\n")
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(grouped, f.Name) && !f.Hidden {
			describeFlag(&text, f, width)
		}
	})
	if len(commands) > 0 {
		fmt.Fprintf(&text, "\nUse \"%s [command] --help\" for more information about a command.\n",
			cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), text.String())
	return err
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
	writeHanging(text, name, usage, min(10, len(name)), width)
}

// writeSettings writes what --set sets: the names, what they do, and for which methods.
func writeSettings(w io.Writer, settings []attribution.Option, width int) error {
	var text strings.Builder
	text.WriteString("\nWhat --set sets:\n")
	for _, row := range settings {
		usage := strings.ReplaceAll(row.Usage(), "`", "")
		if methods := row.TakenBy(); methods != nil {
			usage += "; for " + message.Some(methods, 3)
		}
		writeHanging(&text, "  "+row.Key, usage, 21, width)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeParagraphs writes a text in lines of up to width columns. An empty line ends a paragraph,
// and a line that begins with a space stands as it is.
func writeParagraphs(to *strings.Builder, text string, width int) {
	paragraph := ""
	end := func() {
		if paragraph != "" {
			writeHanging(to, "", paragraph, 0, width)
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph += line + " "
			continue
		}
		end()
		to.WriteString(line + "\n")
	}
	end()
}

// writeHanging writes a name and what it means in lines of up to width columns, where words are
// short enough. They begin at a column, in the line of the name if that is short enough.
func writeHanging(to *strings.Builder, name, meaning string, indent, width int) {
	to.WriteString(name)
	column := utf8.RuneCountInString(name)
	if column > 0 && column >= indent {
		column = width // so that the first word begins a line
	}
	for word := range strings.FieldsSeq(meaning) {
		n := utf8.RuneCountInString(word)
		if column > 0 && column+1+n > width {
			to.WriteString("\n")
			column = 0
		}
		space := max(indent-column, min(column, 1))
		to.WriteString(strings.Repeat(" ", space) + word)
		column += space + n
	}
	to.WriteString("\n")
}
