// Package machine has the commands on what the program knows and what this machine has: models,
// methods, plugins and notebooks.
package machine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/ollama"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/family"
)

// modelList is the output of headwater models.
type modelList struct {
	Models []modelFacts `json:"models"`
	// Families are the architectures of directories that open, if no model is named.
	Families []string `json:"families,omitempty"`
	// Known are the models of the Hub that have a short name: all if no model is named, otherwise
	// those that are.
	Known []knownFacts `json:"known,omitempty"`
	// Ollama are references of models in the store of Ollama, if no model is named.
	Ollama []string `json:"ollama,omitempty"`
}

// modelFacts is what is known about a model and, if it is named, what it takes here.
type modelFacts struct {
	trace.Info
	Needs *models.Needs `json:"needs,omitempty"`
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
	// Name is the short name of Repo, a model of the Hub.
	Name string `json:"name"`
	Repo string `json:"repo"`
	// Path is what the name opens on this machine: a GGUF file, or a folder in the cache of the
	// Hub; empty if opening it downloads it.
	Path string `json:"path,omitempty"`
	// Problem says why it cannot be opened.
	Problem string `json:"problem,omitempty"`
}

// knownModels looks for the known models among some names on this machine.
func knownModels(ctx context.Context, names []string) []knownFacts {
	opts, wrong := hub.FromEnvironment()
	var all []knownFacts
	for _, name := range hub.Known() {
		if !slices.Contains(names, name) {
			continue
		}
		ref, err := hub.ParseRef(name)
		facts := knownFacts{Name: name, Repo: ref.Repo}
		if err = cmp.Or(err, wrong); err == nil {
			facts.Path, err = hub.Here(ctx, name, opts)
		}
		if err != nil {
			facts.Problem = cli.ErrorText(err)
		}
		all = append(all, facts)
	}
	return all
}

// String returns one line on the model.
func (k knownFacts) String() string {
	text := "not downloaded: headwater download " + k.Name + " brings it"
	switch {
	case k.Problem != "":
		text = k.Problem
	case k.Path != "":
		text = "downloaded: " + k.Path
	}
	return fmt.Sprintf("%s of the Hub, %s", k.Repo, render.Visible(text, cli.MaxMessage))
}

// Commands are the commands on what the program knows and what this machine has.
var Commands = cli.Family{
	modelsCommand, methodsCommand, examplesCommand, downloadCommand, setupCommand,
	doctorCommand, installCommand, kernelCommand,
}

func modelsCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	var f cli.ModelFlags
	cmd := &cobra.Command{
		Use: "models [MODEL]...",
		Short: "list the embedded models and those with a short name, or say what the named ones " +
			"take here",
		RunE: func(cmd *cobra.Command, refs []string) error {
			var list modelList
			names, all := refs, len(refs) == 0
			if all {
				refs, names = models.Builtin(), hub.Known()
				list.Ollama, list.Families = ollamaModels(), family.Names()
			}
			list.Known = knownModels(cmd.Context(), names)
			for _, ref := range refs {
				info, needs, err := models.Examine(cmd.Context(), ref, models.Options{
					Backend: f.Backend, DType: f.DType, MaxMemory: f.MaxMemory,
				})
				if err != nil {
					return err
				}
				if all {
					needs = nil
				}
				list.Models = append(list.Models, modelFacts{info, needs})
			}
			if asJSON {
				return cli.WriteJSON(k.Stdout, list)
			}
			return writeModels(k, list)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	f.AddPlace(cmd)
	return cmd
}

// needs is what a model takes, in lines.
func (m modelFacts) needs() string {
	size, n := message.FormatBytes, m.Needs
	kept := n.DType
	if n.Codes {
		kept += ", matrices of fewer bits as they are in the file"
	}
	fits := "more than"
	if n.Memory.Total() < n.Limit {
		fits = "of"
	}
	p := n.Memory
	text := fmt.Sprintf("%s on backend %s, before it is opened:\n"+
		"  weights  %s parameters of %.3g bits in the file; in memory\n           %s\n"+
		"  memory   about %s, %s the %s that there are here:\n           program %s, "+
		"compiled graphs %s, layers %s, embedding and head %s,\n"+
		"           passes over %d tokens %s\n",
		render.Visible(m.Name, 200), m.Backend, inWords(n.Parameters), n.Bits, kept,
		size(p.Total()), fits, size(n.Limit), size(p.Program), size(p.Graphs), size(p.Layers),
		size(p.Tables), models.NeedsTokens, size(p.Passes))
	if n.TokensPerSecond > 0 {
		text += fmt.Sprintf("  speed    about %s tokens a second without an explanation; this is "+
			"an estimate:\n           %s of memory are read in a second now\n",
			twoDigits(n.TokensPerSecond), size(int64(n.Bandwidth)))
	}
	return text
}

// twoDigits writes a number without the digits that an estimate does not have.
func twoDigits(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return strconv.FormatFloat(math.Round(x/unit)*unit, 'f', 0, 64)
}

// inWords writes a number of parameters: 134.5 million.
func inWords(n int64) string {
	switch x := float64(n); {
	case n >= 1e9:
		return fmt.Sprintf("%.2f billion", x/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", x/1e6)
	}
	return strconv.FormatInt(n, 10)
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
			m.Family, m.Layers, m.Heads, m.Width, m.Vocab, limit, cmp.Or(m.Hash, "-"),
			cmp.Or(m.Note, headNote(m.Head)))
	}
	for _, m := range list.Models {
		if m.Needs != nil {
			fmt.Fprintf(w, "\n%s", m.needs())
		}
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
	if list.Families == nil {
		return w.Flush()
	}
	fmt.Fprint(w, "\nA directory in the layout of Hugging Face (config.json, model.safetensors,\n"+
		"tokenizer.json) and a GGUF file open by their paths, a model of the Hub by its\n"+
		"name, and a model of Ollama as ollama:NAME:TAG. The family must be one of:\n\n")
	for line := range slices.Chunk(list.Families, 5) {
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	return w.Flush()
}
