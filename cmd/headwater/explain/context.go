package explain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/export"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/sources"
	"github.com/headwater-ml/headwater/models"
)

// contextFlags are the flags of headwater context.
type contextFlags struct {
	cli.ModelFlags
	ask                   sources.Ask
	chat                  attribution.Options // its conversation, Specials and languages
	messages              string
	top, width            int
	output, format, color string
	palette               string
}

// What a template has for the documents and the question.
const (
	documentsMark = "{context}"
	questionMark  = "{question}"
)

// maxAnswer is the most tokens of an answer that a model may generate.
const maxAnswer = 4096

// maxDocument is the most bytes of a document. No model reads as much.
const maxDocument = 16 << 20

func contextCommand(k *cli.Kit) *cobra.Command {
	f := contextFlags{}
	cmd := &cobra.Command{
		Use:   "context [flags] --question QUESTION FILE...",
		Short: "say which sentence of your documents an answer came from",
		Args:  func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return explainContext(cmd.Context(), k, f, args)
		},
	}
	f.Add(cmd)
	flags, ask, opts := cmd.Flags(), &f.ask, &f.ask.Options
	flags.StringVarP(&ask.Question, "question", "q", "", "the `question` about the documents")
	flags.StringVarP(&ask.Answer, "answer", "a", "", "explain this `answer` (default the "+
		"model's own)")
	flags.StringVar(&ask.Target, "target", "", "explain this `part` of the answer: a text that it "+
		"contains, such as one sentence, or bytes of it as BEGIN:END (default the whole answer)")
	flags.Func("by", "divide documents by `sentence|paragraph|BEGIN:END,BEGIN:END`, bytes of the "+
		"document from 0 and END not included (default sentence)", func(s string) error {
		ask.By = s
		_, err := sources.ParseDivision(s)
		return err
	})
	flags.Func("methods", "`names` of methods, joined by commas: "+
		strings.Join(sources.Methods(), ", ")+" (default both; the first orders the list)",
		func(s string) error {
			opts.Methods = strings.Split(s, ",")
			_, err := opts.WithDefaults()
			return err
		})
	cli.WholeFlag(flags, &opts.Ablations, "ablations", 8, 4096, "let context-cite fit `N` random "+
		"halves", "64")
	cli.WholeFlag(flags, &opts.HeldOut, "held-out", 8, 4096, "measure LDS on `N` further random "+
		"halves", "32")
	cli.WholeFlag(flags, &opts.Passes, "passes", 4, 65536, "let leave-one-out ask for at most `N` "+
		"texts; documents with more sources are searched from paragraphs to sentences", "64")
	flags.Func("penalty", "`λ` of the lasso of context-cite, from 0 to 100 (default 0.01)",
		func(s string) error {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || !(v >= 0 && v <= 100) || math.IsNaN(v) {
				return fmt.Errorf("want a number from 0 to 100")
			}
			opts.Penalty = &v
			return nil
		})
	flags.Uint64Var(&opts.Seed, "seed", 0, "`number` that the random halves begin with, from "+
		"0 to 18446744073709551615; equal ones give equal scores")
	cli.WholeFlag(flags, &ask.MaxTokens, "max-tokens", 1, maxAnswer, "let the model answer in at "+
		"most `N` tokens", "64")
	cli.OptionFlags(cmd, &f.chat, attribution.OptionTable(attribution.ConversationOptions))
	cli.MessagesFlag(cmd, &f.messages)
	flags.StringVar(&ask.Template, "template", "", "the `prompt`, with {context} and {question} "+
		"in it and \\n for a line break (default the documents, Question: and Answer:, each on "+
		"a line of its own)")
	for _, name := range []string{"specials", "source language", "target language"} {
		cli.OptionFlag(flags, &f.chat, name)
	}
	flags.StringVarP(&f.output, "output", "o", "", cli.OutputFlag)
	flags.StringVar(&f.format, "format", "", "form of the result: `text|html|json` "+
		"(default: the ending of --output, else text)")
	flags.StringVar(&f.color, "color", "auto", "colours in text: `auto|always|never`")
	flags.StringVar(&f.palette, "palette", "", "colours of html: `"+
		strings.Join(render.PaletteNames(), "|")+"`")
	flags.Lookup("palette").DefValue = render.PaletteNames()[0]
	cli.WholeFlag(flags, &f.width, "width", 60, 10000, "`columns` of text",
		"those of the terminal, else 100")
	cli.WholeFlag(flags, &f.top, "top", 1, cli.MaxTop, "list in text and html the strongest "+
		"sources, `K` of them", "all up to 20, else 10")
	return cmd
}

// check checks what cobra does not.
func (f *contextFlags) check(cmd *cobra.Command, args []string) error {
	given, q := func(name string) bool { return cli.Given(cmd, name) }, f.ask
	if format, _ := formatOf(f.output); f.format == "" {
		f.format = "text"
		if format == export.HTML || format == export.JSON {
			f.format = string(format)
		}
	}
	switch {
	case len(args) == 0:
		return cli.Usagef("context needs a file with text, for example: " +
			`headwater context --question "What is the code?" notes.txt`)
	case q.Question == "" && (q.Template == "" || strings.Contains(q.Template, questionMark)):
		return cli.Usagef(`context needs a --question, for example: --question "What is the code?"`)
	case q.Question != "" && q.Template != "" && !strings.Contains(q.Template, questionMark):
		return cli.Usagef("--template has no %s, where the question goes", questionMark)
	case q.Template != "" && strings.Count(q.Template, documentsMark) != 1:
		return cli.Usagef("--template has %s %d times; the documents go there, once", documentsMark,
			strings.Count(q.Template, documentsMark))
	case given("answer") && given("max-tokens"):
		return cli.Usagef("--max-tokens does not go with --answer, which is as long as it is")
	case f.format == "json" && (given("top") || given("palette")),
		f.format == "html" && given("width"), f.format != "text" && given("color"),
		f.format == "text" && given("palette"):
		return cli.Usagef("--top is for text and html, --width and --color are for text and " +
			"--palette is for html")
	}
	read := 0
	for _, path := range args {
		if path == "-" {
			read++
		}
	}
	if read > 1 {
		return cli.Usagef("- is standard input, which can be read once")
	}
	return cmp.Or(
		cli.OneOf("format", f.format, "text", "html", "json"),
		cli.OneOf("color", f.color, "auto", "always", "never"),
		render.CheckPalette(f.palette),
		f.chat.Check(),
	)
}

// explainContext explains an answer and writes the result.
func explainContext(ctx context.Context, k *cli.Kit, f contextFlags, paths []string) error {
	ask := f.ask
	if err := k.ReadMessages(ctx, f.messages, &f.chat); err != nil {
		return err
	}
	ask.Names, ask.Specials = paths, f.chat.Specials
	ask.From, ask.To = f.chat.From, f.chat.To
	ask.Chat, ask.Conversation = f.chat.Chat, f.chat.Conversation
	ask.Template = strings.ReplaceAll(ask.Template, `\n`, "\n")
	for _, path := range paths {
		text, err := document(ctx, k, path)
		if err != nil {
			return err
		}
		ask.Documents = append(ask.Documents, text)
	}
	if err := ask.Check(); err != nil {
		return err
	}
	out, err := k.Create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.Abandon()
	m, err := k.Open(ctx, f.ModelFlags)
	if err != nil {
		return err
	}
	defer sayCompiled(k, m)
	if ask.InChat() {
		ask.Conversation.Date = cli.Today(m, ask.Question, ask.Conversation)
	}
	r, err := askSources(ctx, k, ask, m)
	if err != nil {
		return err
	}
	out.What = message.Count(len(r.Sources), "source")
	return out.Result(f.format == "json", r, func(w io.Writer) error {
		return showSources(k, w, f, r)
	})
}

// document reads a document. The error names the fault of the file.
func document(ctx context.Context, k *cli.Kit, path string) (string, error) {
	input, name, err := k.OpenInput(ctx, path)
	if info, failed := os.Stat(path); failed == nil && info.IsDir() {
		return "", fmt.Errorf("%s is a directory; name files with text", path)
	}
	if err != nil {
		return "", err
	}
	defer input.Close()
	text, err := io.ReadAll(io.LimitReader(input, maxDocument+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	switch at := notText(text); {
	case len(text) > maxDocument:
		return "", fmt.Errorf("%s has more than %d bytes; no model reads as much: give the part "+
			"that matters", name, maxDocument)
	case at >= 0:
		return "", fmt.Errorf("%s is no text: byte %d is %#02x; give a text in UTF-8", name, at,
			text[at])
	case len(bytes.TrimSpace(text)) == 0:
		return "", cli.Usagef("%s has no text; leave it out", name)
	}
	return string(text), nil
}

// notText returns the index of the first byte that no text has: one that is not valid UTF-8, or a
// control character other than white space. It returns -1 if there is none.
func notText(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return at
		}
		at += size
	}
	return -1
}

// askSources gets the answer and explains it.
func askSources(
	ctx context.Context, k *cli.Kit, ask sources.Ask, m *models.Model,
) (*sources.Result, error) {
	line := k.Progress()
	defer line.Clear()
	ask.Options.OnProgress = line.Report
	r, err := ask.Explain(ctx, m)
	if errors.Is(err, sources.ErrNoAnswer) && !ask.InChat() {
		if _, _, untrained := m.Converse(trace.Conversation{}, "hi"); untrained == nil {
			err = fmt.Errorf("%w (--chat)", err)
		}
	}
	return r, err
}

// showSources writes a result for people.
func showSources(k *cli.Kit, w io.Writer, f contextFlags, r *sources.Result) error {
	if f.format == "html" {
		page := *r
		page.Model.Name, _ = trace.WithoutFolder(r.Model.Name)
		page.Names = withoutFolders(r.Names)
		return render.Page(w, render.Sources{Result: &page, Palette: f.palette, Top: f.top})
	}
	look := render.Terminal{Width: f.width, Color: f.color == "always"}
	if f.output == "" || f.output == "-" {
		look.Color = cli.Colored(f.color, k.Stdout)
		if look.Width == 0 {
			look.Width = cli.Columns(k.Stdout)
		}
	}
	return render.Text(w, render.Sources{Result: r, Top: f.top}, look)
}

// withoutFolders returns the names of files without their folders, which belong to one machine,
// while a page is sent to others. If two files have one name, the names stay as they are.
func withoutFolders(paths []string) []string {
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		if slices.Contains(names, name) {
			return paths
		}
		names = append(names, name)
	}
	return names
}
