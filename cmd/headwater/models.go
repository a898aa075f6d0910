package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/family"
)

// modelList is the output of headwater models.
type modelList struct {
	Models []trace.Info `json:"models"`
	// Families are the architectures of directories that open.
	Families []string `json:"families"`
}

func (p *program) modelsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models [MODEL]...",
		Short: "list the embedded models, or describe those in directories and GGUF files",
		RunE: func(_ *cobra.Command, refs []string) error {
			if len(refs) == 0 {
				refs = models.Builtin()
			}
			list := modelList{Families: family.Names()}
			for _, ref := range refs {
				m, err := models.Open(ref, models.Options{Backend: "go"})
				if err != nil {
					return err
				}
				list.Models = append(list.Models, m.Info())
			}
			if asJSON {
				return writeJSON(p.stdout, list)
			}
			return p.writeModels(list)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "write JSON, for programs")
}

// writeModels writes a table.
func (p *program) writeModels(list modelList) error {
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFAMILY\tLAYERS\tHEADS\tWIDTH\tVOCABULARY\tCONTEXT\tHASH\tNOTE")
	for _, m := range list.Models {
		limit := "no limit"
		if m.Context > 0 {
			limit = strconv.Itoa(m.Context)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.12s\t%s\n", render.Visible(m.Name, 200),
			m.Family, m.Layers, m.Heads, m.Width, m.Vocab, limit, m.Hash, m.Note)
	}
	fmt.Fprintf(w, "\nA directory in the layout of Hugging Face (config.json, "+
		"model.safetensors, tokenizer.json) or a GGUF file opens by its path,\n"+
		"and a model of the Hub by its name. Its family must be one of %s.\n",
		strings.Join(list.Families, ", "))
	return w.Flush()
}
