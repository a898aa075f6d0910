package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

// The exit statuses. A usage error is a request that no file and no machine could fulfil: an
// unknown command, flag or value, values that exclude each other, and values that do not fit the
// kind of model, its sizes or the text. A line of --input counts as a command line. Everything else
// is an error: a file, a line, a model or a plugin is missing or malformed; the network fails; the
// memory is too small; a check failed; the user interrupted.
const (
	StatusOK = iota
	StatusError
	StatusUsage
)

// The statuses by which a scheduler decides whether to run a task of a corpus again. 75 is
// EX_TEMPFAIL of sysexits.h.
const (
	StatusBadShard = 42
	StatusRetry    = 75
)

// statusHelp explains the statuses to users.
const statusHelp = "The exit status is 0; 2 if the command line asks for something " +
	"impossible (an unknown flag, a position beyond the text); 1 for any\n" +
	"other error: a file, a model or a plugin that is missing or malformed, the network, too " +
	"little memory, a check that failed. headwater corpus has two more, which its help explains."

// statusOf returns the status that an error ends the program with.
func statusOf(err error) int {
	bad, retry := (*corpus.ShardError)(nil), (*corpus.RetryError)(nil)
	switch {
	case err == nil:
		return StatusOK
	case errors.As(err, &bad):
		return StatusBadShard
	case errors.As(err, &retry):
		return StatusRetry
	case errors.Is(err, trace.ErrUsage):
		return StatusUsage
	}
	return StatusError
}

// Usagef returns an error that ends the program with the status of wrong usage.
func Usagef(format string, args ...any) error {
	return wrongUsage(message.Sprintf(format, args...))
}

// wrongUsage is an [trace.ErrUsage] of the command line itself.
type wrongUsage string

func (e wrongUsage) Error() string        { return string(e) }
func (e wrongUsage) Is(target error) bool { return target == trace.ErrUsage }

// wants are the values of flags that cobra reads, by the type of the flag.
var wants = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"uint64":   "a whole number from 0 to 18446744073709551615",
	"float64":  "a number",
	"duration": "a time such as 90s or 2h",
}

// flagError returns a usage error that names the flag, its value, and the values that it takes.
func flagError(cmd *cobra.Command, err error) error {
	// An unknown command before the flag is the mistake, not the flag.
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasAvailableSubCommands() {
		return KnownCommand(cmd, args)
	}
	text := err.Error()
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		flag := wrong.GetFlag()
		reason := message.Words(errors.Unwrap(wrong), flagOf)
		if want, ok := wants[flag.Value.Type()]; ok {
			reason = "want " + want
		}
		text = fmt.Sprintf("--%s %.60q: %s", flag.Name, wrong.GetValue(), reason)
		if usage := (*trace.UsageError)(nil); errors.As(err, &usage) && usage.Option != "" {
			text = reason // which names one option of several
		}
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		text = fmt.Sprintf("unknown flag: --%.60s", unknown.GetSpecifiedName())
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			text = fmt.Sprintf("unknown flag: -%s", unknown.GetSpecifiedName())
			if len(letters) > 1 {
				text += fmt.Sprintf(" in -%.60s", letters)
			}
		} else if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			text += "; " + near
		}
	}
	return Usagef("%s; see %s --help", text, cmd.CommandPath())
}

// nearFlag suggests the flag of the command whose name is like this one, "" if there is none.
func nearFlag(cmd *cobra.Command, name string) string {
	row := attribution.LookupOption(name)
	if row.Key != "" && row.Key == name && cmd.Flags().Lookup("set") != nil {
		return "write --set " + row.Setting()
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	return strings.TrimSpace(message.DidYouMean("--"+name, known))
}
