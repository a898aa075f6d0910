package figures

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/export/figure"
	"github.com/headwater-ml/headwater/internal/reproduction"
)

// origin is where a file comes from, as the file has it.
type origin struct {
	// Figure and Part are the name of the figure and of its picture. Version is that of the
	// program, if the caller named one.
	Figure  string `json:"figure"`
	Part    string `json:"part,omitempty"`
	Version string `json:"version,omitempty"`
	// Model, Hash and Backend are of the model; a path is reduced to its last part.
	Model   string `json:"model"`
	Hash    string `json:"model_hash"`
	Backend string `json:"backend"`
	// Reduced reports whether a small sample was taken. Remake is the command that makes it again.
	Reduced bool   `json:"reduced,omitempty"`
	Remake  string `json:"remake"`
}

// About returns the origin of a picture or a table as JSON, in ASCII without <, > and &, so that it
// can stand in a comment of Markdown. part is its name, and version that of the program; empty
// leaves it out.
func About(r *reproduction.Reproduction, part, version string) string {
	m := origin{
		Figure: r.ID, Part: part, Version: version, Model: modelName(r.Model), Hash: r.Hash,
		Backend: r.Backend, Reduced: r.Reduced, Remake: "headwater figures " + r.ID,
	}
	if r.Model != DefaultModel(r.ID) {
		m.Remake += " --model " + m.Model
	}
	if r.Reduced {
		m.Remake += " --reduced"
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // it has texts and a flag alone
	}
	var b strings.Builder
	for _, c := range string(text) {
		switch {
		case c < 0x80:
			b.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(c>>10), 0xdc00+(c&0x3ff))
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// modelName returns the name of a model without the folders of a path.
func modelName(name string) string {
	base, _ := trace.WithoutFolder(name)
	return base
}

// DefaultModel returns the default model of a figure, with choices or without; empty for an unknown
// id.
func DefaultModel(id string) string {
	id, _, _ = strings.Cut(id, ",")
	for _, f := range All() {
		if f.ID == id {
			return f.Model
		}
	}
	return ""
}

// Draw draws picture i of a reproduction. version is that of the program; empty leaves it out.
func Draw(
	r *reproduction.Reproduction, i int, o figure.Options, version string,
) (*figure.Figure, error) {
	p := r.Pictures[i]
	d, err := figure.Grid(p.Columns, p.Charts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name(p.Name), err)
	}
	return figure.Draw(o, About(r, p.Name, version), d)
}
