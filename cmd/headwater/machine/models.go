// Package machine has the commands on what the program knows and what this machine has: models,
// methods, plugins and notebooks.
package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/ollama"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/family"
	"github.com/headwater-ml/headwater/models/known"
)

// modelList is the output of headwater models.
type modelList struct {
	Models []trace.Info `json:"models"`
	// Families are the architectures of directories that open.
	Families []string `json:"families"`
	// Known are the models that headwater download brings by a short name: all if no model is
	// named, otherwise those that are.
	Known []knownFacts `json:"known,omitempty"`
	// Ollama are references of models in the store of Ollama, if no model is named.
	Ollama []string `json:"ollama,omitempty"`
}

// ollamaModels returns references of the models in the store of Ollama. There are none without a
// home folder.
func ollamaModels() []string {
	store, err := ollama.FromEnvironment()
	if err != nil {
		return nil
	}
	refs := store.Names()
	for i, name := range refs {
		refs[i] = ollama.Prefix + name
	}
	return refs
}

// knownFacts is what is known about a model with a short name.
type knownFacts struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Licence string `json:"licence"`
	// Downloaded says that it opens by its name here. Source and Weights say which of its two forms
	// that is: hub or wheel, and the type of the weights.
	Downloaded bool   `json:"downloaded"`
	Source     string `json:"source,omitempty"`
	Weights    string `json:"weights,omitempty"`
	// Problem says why it cannot be opened although it is there.
	Problem string `json:"problem,omitempty"`
	text    string // what is there, for people
}

// knownModels looks for the known models among some names on this machine.
func knownModels(ctx context.Context, names []string) []knownFacts {
	opts, wrong := known.FromEnvironment()
	var all []knownFacts
	for _, m := range known.All() {
		if !slices.Contains(names, m.Name) {
			continue
		}
		facts := knownFacts{Name: m.Name, Title: m.Title, Licence: m.Licence}
		place, err := known.Place{}, wrong
		if wrong == nil {
			place, err = m.Find(ctx, opts)
		}
		missing, damaged := (*known.MissingError)(nil), (*known.DamagedError)(nil)
		switch {
		case err == nil:
			facts.Downloaded, facts.Source, facts.Weights = true, place.Source, place.Weights
			facts.text = "downloaded: " + place.String()
		case errors.As(err, &missing):
			facts.text = "not downloaded: " + models.DownloadHint(missing.Model)
		case errors.As(err, &damaged):
			facts.Problem = err.Error()
			facts.text = fmt.Sprintf("%v (headwater download %s downloads it again)", err, m.Name)
		default:
			facts.Problem = cli.ErrorText(err)
			facts.text = facts.Problem
		}
		all = append(all, facts)
	}
	return all
}

// String returns one line on the model.
func (k knownFacts) String() string {
	return fmt.Sprintf("%s, %s, %s", k.Title, k.Licence, render.Visible(k.text, cli.MaxMessage))
}

// Commands are the commands on what the program knows and what this machine has.
var Commands = cli.Family{
	modelsCommand, methodsCommand, examplesCommand, downloadCommand, setupCommand,
	doctorCommand, installCommand, kernelCommand,
}

func modelsCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models [MODEL]...",
		Short: "list the embedded and the known models, or describe the named ones",
		RunE: func(cmd *cobra.Command, refs []string) error {
			list := modelList{Families: family.Names()}
			names := refs
			if len(refs) == 0 {
				refs, names = models.Builtin(), known.Names()
				list.Ollama = ollamaModels()
			}
			list.Known = knownModels(cmd.Context(), names)
			for _, ref := range refs {
				m, err := models.Open(ref, models.Options{Backend: "go"})
				if err != nil {
					return err
				}
				list.Models = append(list.Models, m.Info())
			}
			if asJSON {
				return cli.WriteJSON(k.Stdout, list)
			}
			return writeModels(k, list)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// shownModels joins the first references of a list.
func shownModels(refs []string) string {
	const most = 20
	text := message.List(refs[:min(most, len(refs))])
	if len(refs) > most {
		text += ", …"
	}
	return text
}

// headNote names the head of a model that does not predict tokens.
func headNote(h trace.Head) string {
	switch {
	case h == trace.NoHead:
		return "no head"
	case h.Classifies():
		return "head " + string(h)
	}
	return ""
}

// writeModels writes a table.
func writeModels(k *cli.Kit, list modelList) error {
	w := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFAMILY\tLAYERS\tHEADS\tWIDTH\tVOCABULARY\tCONTEXT\tHASH\tNOTE")
	for _, m := range list.Models {
		limit := "no limit"
		if m.Context > 0 {
			limit = strconv.Itoa(m.Context)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%.12s\t%s\n", render.Visible(m.Name, 200),
			m.Family, m.Layers, m.Heads, m.Width, m.Vocab, limit, m.Hash,
			cmp.Or(m.Note, headNote(m.Head)))
	}
	for _, m := range list.Models {
		for _, remark := range m.Remarks {
			fmt.Fprintf(w, "\n%s: %s", render.Visible(m.Name, 200),
				render.Visible(remark, cli.MaxMessage))
		}
		if m.Remarks != nil {
			fmt.Fprintln(w)
		}
	}
	if len(list.Known) > 0 {
		fmt.Fprintln(w)
	}
	for _, k := range list.Known {
		fmt.Fprintf(w, "%s: %v\n", k.Name, k)
	}
	if n := len(list.Ollama); n > 0 {
		fmt.Fprintf(w, "\n%d in the store of Ollama: %s\n", n, shownModels(list.Ollama))
	}
	fmt.Fprintf(w, "\nA directory in the layout of Hugging Face (config.json, "+
		"model.safetensors, tokenizer.json) and a GGUF file\n"+
		"open by their paths, a model of the Hub by its name, and a model of Ollama as "+
		"ollama:NAME:TAG. The family must be\none of %s.\n", strings.Join(list.Families, ", "))
	return w.Flush()
}
