package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headwater-ml/headwater/attribution"
	_ "github.com/headwater-ml/headwater/attribution/study" // whose options are flags
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/message"
)

// ModelFlags are the flags that choose the model and what it runs on.
type ModelFlags struct {
	Model, Backend, DType string
	Pre                   string
	FromFile              bool  // a file names the model, which causes no request
	MaxMemory             int64 // bytes; 0: what the machine has
	Shuffle               uint64
	AllowNaN              bool
	FoldNormBias          bool
	DropKeyBias           bool
}

// Add adds the flags that choose a model and what it runs on.
func (f *ModelFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.Model, "model", "m", "", "the `MODEL`: an embedded one, a "+
		"directory in Hugging Face layout, a GGUF file, smollm2 (see headwater download), "+
		"ollama:NAME[:TAG], or a name of the Hub such as openai-community/gpt2[@revision]")
	cmd.Flags().Lookup("model").DefValue = "tiny"
	f.AddPre(cmd)
	f.AddPlace(cmd)
}

// AddPlace adds the flags that choose what a model runs on, and how much memory it may take.
func (f *ModelFlags) AddPlace(cmd *cobra.Command) {
	cmd.Flags().Func("dtype", "hold the weights as `TYPE`: float32, or bfloat16 for half the "+
		"memory and about 2 digits (default float32)", func(s string) error {
		if known := []string{"float32", "bfloat16"}; !slices.Contains(known, s) {
			return errors.New(message.KnownAre(s, known))
		}
		f.DType = s
		return nil
	})
	MaxMemoryFlag(cmd, &f.MaxMemory, "weights and what a run records")
	f.AddBackend(cmd)
}

// AddPre adds --pre.
func (f *ModelFlags) AddPre(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Pre, "pre", "", "cut texts as tokenizer.ggml.pre `NAME` does, for a "+
		"GGUF file that does not say it")
}

// MaxMemoryFlag adds --max-memory; what names the use of the memory besides the program.
func MaxMemoryFlag(cmd *cobra.Command, to *int64, what string) {
	usage := "let the program take at most `SIZE` of memory in all, with " + what +
		", such as 8GB or 500MB (default what the machine has left)"
	cmd.Flags().Func("max-memory", usage, func(s string) (err error) {
		*to, err = message.ParseBytes(s)
		return err
	})
}

// AddBackend adds --backend.
func (f *ModelFlags) AddBackend(cmd *cobra.Command) {
	const names = "go, xla, cuda, and xla:PATH and cuda:PATH of a PJRT plugin"
	usage := "what computes, by `NAME`: " + names + " (default go for the embedded model, xla " +
		"for others if it is there)"
	cmd.Flags().Func("backend", usage, func(s string) error {
		kind, path, named := strings.Cut(s, ":")
		if s != "" && (!slices.Contains(backends.Names(), kind) || named &&
			(path == "" || kind == "go")) {
			near := ""
			if !slices.Contains(backends.Names(), kind) {
				near = message.DidYouMean(kind, backends.Names())
			}
			return fmt.Errorf("%sknown are %s", near, names)
		}
		f.Backend = s
		return nil
	})
}

// OptionFlags adds what sets options in o: a flag for each that has one of its own, and --set for
// the others, which the help then lists, after the flags in groups. --methods is apart; see
// [MethodsFlag].
func OptionFlags(
	cmd *cobra.Command, o *attribution.Options, rows []attribution.Option, groups ...FlagGroup,
) {
	var settings []attribution.Option
	for _, row := range rows {
		switch {
		case row.Name == "methods":
		case row.Flag != "":
			OptionFlag(cmd.Flags(), o, row.Name)
		case row.Key != "":
			settings = append(settings, row)
		}
	}
	slices.SortFunc(settings,
		func(a, b attribution.Option) int { return cmp.Compare(a.Key, b.Key) })
	cmd.Flags().Func("set", "set an option of those below, `NAME=VALUE`, several joined by commas "+
		"or by --set again; a NAME alone turns a switch on", func(text string) error {
		return attribution.SetOptions(o, rows, text)
	})
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		return cmp.Or(writeUsage(cmd, groups),
			writeSettings(cmd.OutOrStderr(), settings, helpWidth(cmd)))
	})
}

// MessagesFlag adds --messages, which names a file.
func MessagesFlag(cmd *cobra.Command, messages *string) {
	cmd.Flags().StringVar(messages, "messages", "", "put the messages of this JSON `FILE` before "+
		"the prompt in a chat: a list with role and content, as OpenAI and transformers write "+
		"it, or an object with messages and tools; without a prompt the last one is answered")
}

// maxMessages is the most bytes of the file of --messages.
const maxMessages = 16 << 20

// ReadMessages reads the file of --messages, if there is one.
func (k *Kit) ReadMessages(ctx context.Context, path string, o *attribution.Options) error {
	if path == "" {
		return nil
	}
	input, name, err := k.OpenInput(ctx, path)
	if err != nil {
		return fmt.Errorf("--messages: %w", err)
	}
	defer input.Close()
	text, err := io.ReadAll(io.LimitReader(input, maxMessages+1))
	if err == nil && len(text) > maxMessages {
		err = fmt.Errorf("it has more than %d bytes, which is the limit", maxMessages)
	}
	if err == nil {
		err = attribution.LookupOption("messages").Set(o, string(text))
	}
	if err != nil {
		return fmt.Errorf("--messages: %s: %w", name, err)
	}
	return nil
}

// Today returns the date of a conversation: the one that it has, or that of today if the model's
// chat template asks for one.
func Today(m trace.Model, prompt string, c trace.Conversation) string {
	talker, ok := m.(trace.Conversational)
	if !ok || c.Date != "" {
		return c.Date
	}
	if _, _, err := talker.Converse(c, prompt); errorkind.Of(err) != errorkind.Date {
		return ""
	}
	return time.Now().Format(time.DateOnly)
}

// MethodsFlag adds --methods; byDefault is the end of its help.
func MethodsFlag(cmd *cobra.Command, o *attribution.Options, byDefault string) {
	OptionFlag(cmd.Flags(), o, "methods")
	cmd.Flags().Lookup("methods").Usage += "; see headwater methods" + byDefault
}

// OptionFlag adds the flag of an option by its name.
func OptionFlag(f *pflag.FlagSet, o *attribution.Options, name string) {
	row := attribution.LookupOption(name)
	if on := row.Switch(o); on != nil {
		f.BoolVar(on, row.Flag, false, row.Usage())
		return
	}
	f.Func(row.Flag, row.Usage(), func(text string) error { return row.Set(o, text) })
}

// JSONFlag adds --json.
func JSONFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "write JSON, for programs")
}
