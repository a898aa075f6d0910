package machine

import (
	"bufio"
	"context"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/tiny"
)

// example is a prompt for SmolLM2 or for the embedded model.
type example struct {
	// Model is the name that opens the model, as in --model.
	Model    string `json:"model"`
	Prompt   string `json:"prompt"`
	Kind     string `json:"kind"`
	Expected string `json:"expected"`
	// See is what to look at.
	See string `json:"see"`
	// HeldOut is whether training kept words of it apart. It is known of the embedded model only.
	HeldOut bool `json:"held_out"`
}

// smolLM2 is the short name of the model of realExamples.
const smolLM2 = "smollm2"

// realExamples are prompts for SmolLM2. What they say of the picture was seen with the weights that
// make smollm2 brings, and TestRealExamples sees it again.
var realExamples = []example{
	{
		Prompt: "The Eiffel Tower is in Paris. The Colosseum is in",
		Kind:   "fact", Expected: "Rome",
		See: "both methods name osse, a piece of Colosseum; direct holds Paris against Rome",
	},
	{
		Prompt: "Day is to night as black is to",
		Kind:   "analogy", Expected: "white",
		See: "both methods name black; neither names Day and night, which the answer needs too",
	},
	{
		Prompt: "When Mary and John went to the store, John gave a drink to",
		Kind:   "indirect object", Expected: "Mary",
		See: "Value Zeroing says that both names are read, direct that the second John speaks " +
			"against Mary",
	},
	{
		Prompt: "def area(width, height): return width *",
		Kind:   "code", Expected: "height",
		See: "as with Mary and John: height is for the answer, and the second width against it",
	},
}

func examplesCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "examples",
		Short: "list prompts for SmolLM2 and for the embedded model, and what to see in them",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var real, toy []example
			for _, e := range realExamples {
				e.Model = smolLM2
				real = append(real, e)
			}
			for _, e := range tiny.Examples() {
				toy = append(toy, example{
					tiny.Name, e.Prompt, e.Kind.String(), e.Expected, e.Note, e.HeldOut,
				})
			}
			if asJSON {
				return cli.WriteJSON(k.Stdout, append(real, toy...))
			}
			return writeExamples(cmd.Context(), k, real, toy)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// writeExamples writes a block for each prompt, those of each model below a line that says how to
// run them.
func writeExamples(ctx context.Context, k *cli.Kit, real, toy []example) error {
	w := bufio.NewWriter(k.Stdout)
	for _, m := range knownModels(ctx, []string{smolLM2}) {
		fmt.Fprintf(w, "Prompts for a language model, %s: "+
			"headwater explain --model %s \"PROMPT\"\n", path.Base(m.Repo), m.Name)
		if m.Path == "" {
			fmt.Fprintf(w, "%s: %v\n", m.Name, m)
		}
	}
	fmt.Fprintln(w)
	writeBlocks(w, real)
	fmt.Fprintf(w, "Prompts for the embedded model, %s (%s): headwater explain \"PROMPT\"\n\n",
		tiny.Name, tiny.Note)
	writeBlocks(w, toy)
	return w.Flush()
}

// writeBlocks writes a block for each prompt.
func writeBlocks(w *bufio.Writer, all []example) {
	for _, e := range all {
		kind := e.Kind
		if e.HeldOut {
			kind += ", of words that training kept apart"
		}
		fmt.Fprintln(w, e.Prompt)
		writeFields(w, [][2]string{{"kind", kind}, {"next", e.Expected}, {"see", e.See}})
	}
}
