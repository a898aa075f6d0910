package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/models/tiny"
)

// example is a prompt for the embedded model.
type example struct {
	Prompt   string `json:"prompt"`
	Kind     string `json:"kind"`
	Expected string `json:"expected"`
	// See is what to look at.
	See string `json:"see"`
	// HeldOut is whether training kept words of it apart.
	HeldOut bool `json:"held_out"`
}

func (p *program) examplesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "examples",
		Short: "list prompts for the embedded model and what to see in them",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			var all []example
			for _, e := range tiny.Examples() {
				all = append(all, example{e.Prompt, e.Kind.String(), e.Expected, e.Note, e.HeldOut})
			}
			if asJSON {
				return writeJSON(p.stdout, all)
			}
			return p.writeExamples(all)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// writeExamples writes a block for each prompt.
func (p *program) writeExamples(all []example) error {
	w := bufio.NewWriter(p.stdout)
	fmt.Fprintf(w, "Prompts for the embedded model, %s (%s): headwater explain \"PROMPT\"\n\n",
		tiny.Name, tiny.Note)
	for _, e := range all {
		kind := e.Kind
		if e.HeldOut {
			kind += ", of words that training kept apart"
		}
		fmt.Fprintln(w, e.Prompt)
		writeFields(w, [][2]string{{"kind", kind}, {"next", e.Expected}, {"see", e.See}})
	}
	return w.Flush()
}
