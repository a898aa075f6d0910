package gonbext

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// Figure says what a saved figure shows. The zero value of every field is its default.
type Figure struct {
	// Kind is matrix, text or layers; default matrix.
	Kind string
	// Method is the method shown; default the first one of the explanation.
	Method string
	// Token is the generated token that layers show, and that text is limited to, 0-based. Nil is
	// the first one, and for text all.
	Token *int
	// Size is the width: column, double or slide; default double.
	Size string
	// Font is the size of text in points, from 4 to 48; 0 is the default of the size.
	Font float64
	// Palette is the name of the colours, as in [View]; default blue-rust.
	Palette string
}

// show returns the form in which the engine reads a figure.
func (f Figure) show() (json.RawMessage, error) {
	type look struct {
		Size    string  `json:"size,omitempty"`
		Font    float64 `json:"font,omitempty"`
		Palette string  `json:"palette,omitempty"`
	}
	data, err := json.Marshal(struct {
		Kind   string `json:"kind,omitempty"`
		Method string `json:"method,omitempty"`
		Token  *int   `json:"token,omitempty"`
		Look   look   `json:"look"`
	}{f.Kind, f.Method, f.Token, look{f.Size, f.Font, f.Palette}})
	if err != nil { // JSON has no NaN and no infinity
		return nil, usagef("Font %v is no size", f.Font)
	}
	return data, nil
}

// Save saves the latest explanation of this kernel to a file, in the format that its name ends
// with: .svg, .pdf, .png, .tex, .html, .csv, .parquet, .json or .inseq.json.
//
//	gonbext.Explain("the keys to the cabinet")
//	gonbext.Save("keys.svg", gonbext.Figure{Method: "direct", Size: "column"})
//
// A file that exists is replaced when the new one is complete. Save prints remarks on what the file
// cannot show. At most one Figure may be given. On an error it shows one line and ends the program;
// see [TrySave].
func Save(path string, figure ...Figure) {
	notes, err := TrySave(path, figure...)
	if err != nil {
		newDisplay().exit(err)
	}
	for _, n := range notes {
		fmt.Printf("%s: %s\n", filepath.Base(path), n)
	}
}

// TrySave is [Save], with the remarks and the error returned.
func TrySave(path string, figure ...Figure) (notes []string, err error) {
	if len(figure) > 1 {
		return nil, usagef("%d figures for one file; give one", len(figure))
	}
	show, err := append(figure, Figure{})[0].show()
	if err != nil {
		return nil, err
	}
	// Before any work: a file that cannot be written is an error now.
	out, err := atomicfile.Create(path)
	if err != nil {
		return nil, usagef("%q cannot be written: %v", path, err)
	}
	defer out.Abandon()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := running(ctx)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	data, notes, err := client.Save(ctx, filepath.Base(path), show)
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	if _, err = out.Write(data); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return nil, fmt.Errorf("gonbext: writing %q: %w", path, atomicfile.Cause(err))
	}
	return notes, nil
}
