package gonbext

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/engine"
)

// Figure says what a saved file shows. What it leaves open is as in the picture of the explanation:
// By, Filter, Layer and Palette of its [View], and for [FlowGraph] its Token and Source.
type Figure struct {
	// Kind is what a figure shows: heatmap, text, layers, flow, compare, heads, head, maps or map.
	// Default: what the latest picture is, such as flow after [FlowGraph], and layers after
	// [Layers]. A page, .html, of text is that of heatmap, and one of map that of maps; the page of
	// heads opens any head, so there is no page of head.
	Kind string
	// Method is the method shown; default the first one of the explanation, for maps and map the
	// first one that has maps. For compare a layer may stand after it, as in direct@5: see
	// [Compare].
	Method string
	// Against is, for compare, the explanation on side B. Nil compares two methods of one
	// explanation. See [Compare].
	Against *Explanation
	// AgainstMethod is, for compare, the method of side B, also with a layer. Default: with Against
	// the same as Method, else the next one of the explanation.
	AgainstMethod string
	// Token is the generated token that layers and flow show, that text is limited to, and from
	// whose prediction heads and head look, 0-based. Nil is the first one, for flow, heads and
	// head that of the picture, and for text all.
	Token *int
	// Tokens are, for layers, several generated tokens on one scale in place of Token. See
	// [Layers].
	Tokens []int
	// By puts prompt tokens together, as in [View]: "word", "sentence", or bytes of the prompt.
	// "token" leaves them as they are where the picture has words.
	By string
	// Layer is the layer whose values are shown, 0-based, as in [View]. The method shown must have
	// it: one of single layers has all of them with AllLayers of [Options]. For head it is the
	// layer of Head, for map the layer shown, and for maps one that is among the twelve.
	Layer *int
	// Head is the head that the kind head shows, 0-based. Nil is the one that [Heads] opens.
	Head *int
	// Filter makes prompt tokens grey, as in [View]. A filter that is empty and not nil hides none
	// where that of the picture does.
	Filter attribution.Filter
	// Source is the prompt token that the graph of flow comes from, 0-based, as in [View].
	Source *int
	// Size is the width: column, double or slide; default double.
	Size string
	// Font is the size of text in points, from 4 to 48; 0 is the default of the size.
	Font float64
	// Palette is the name of the colours, as in [View]; default blue-rust.
	Palette string
}

// show returns the form in which the engine reads a figure.
func (f Figure) show() (json.RawMessage, error) {
	look, err := figureLook{f.Size, f.Font, f.Palette}.json()
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Kind          string             `json:"kind,omitempty"`
		Method        string             `json:"method,omitempty"`
		AgainstMethod string             `json:"against_method,omitempty"`
		Token         *int               `json:"token,omitempty"`
		Tokens        []int              `json:"tokens,omitempty"`
		By            string             `json:"by,omitempty"`
		Layer         *int               `json:"layer,omitempty"`
		Head          *int               `json:"head,omitempty"`
		Filter        attribution.Filter `json:"filter,omitzero"`
		Source        *int               `json:"source,omitempty"`
		Look          json.RawMessage    `json:"look"`
	}{
		f.Kind, f.Method, f.AgainstMethod, f.Token, f.Tokens, f.By, f.Layer, f.Head, f.Filter,
		f.Source, look,
	})
}

// figureLook is the size and the colours of a figure.
type figureLook struct {
	Size    string  `json:"size,omitempty"`
	Font    float64 `json:"font,omitempty"`
	Palette string  `json:"palette,omitempty"`
}

func (l figureLook) json() (json.RawMessage, error) {
	data, err := json.Marshal(l)
	if err != nil { // JSON has no NaN and no infinity
		return nil, usagef("Font %v is no size", l.Font)
	}
	return data, nil
}

// Save saves the latest picture of this kernel to a file, in the format that its name ends with:
// .svg, .pdf, .png, .tex, .html, .csv, .parquet, .json, .inseq.json or .neuronpedia.json. That is
// what [Explain], [Show], [Layers], [Compare], [Heads], [FlowGraph] or [Maps] drew last, also in an
// earlier cell, unless a [Figure] says otherwise:
//
//	gonbext.Explain("the keys to the cabinet")
//	gonbext.Save("keys.svg", gonbext.Figure{Method: "direct", Size: "column"})
//
// A picture of something else is an error that names what saves it, such as [SaveChart]. A page,
// .html, is the picture itself, to be clicked on in any browser. [SaveExplanation] saves another
// explanation than the latest. A file that exists is replaced when the new one is complete. Save
// prints remarks on what the file cannot show. At most one Figure may be given. On an error it
// shows one line and ends the program; see [TrySave].
func Save(path string, figure ...Figure) {
	notes, err := TrySave(path, figure...)
	endSave(path, notes, err)
}

// TrySave is [Save], with the remarks and the error returned.
func TrySave(path string, figure ...Figure) (notes []string, err error) {
	notes, err = saveExplanation(path, nil, figure)
	return notes, worded(err)
}

// SaveExplanation is [Save] for any explanation: one of this cell, one that a file of JSON had, or
// one that your code made or changed. It saves what [Explain] and its like drew of it, or says the
// file that it comes from, unless a [Figure] says otherwise:
//
//	a := gonbext.Explain("the keys to the cabinet", gonbext.View{By: "word"})
//	gonbext.Explain("the key to the cabinets")
//	gonbext.SaveExplanation("keys.svg", a)
//
// Its origin goes into the file, and headwater reproduce then says whether the numbers are still
// those. See [TrySaveExplanation].
func SaveExplanation(path string, e *Explanation, figure ...Figure) {
	notes, err := TrySaveExplanation(path, e, figure...)
	endSave(path, notes, err)
}

// TrySaveExplanation is [SaveExplanation], with the remarks and the error returned.
func TrySaveExplanation(path string, e *Explanation, figure ...Figure) (
	notes []string, err error,
) {
	if e == nil {
		return nil, worded(usagef("there is no explanation to save: it is nil"))
	}
	notes, err = saveExplanation(path, e, figure)
	return notes, worded(err)
}

// saveExplanation saves an explanation; nil is the latest picture.
func saveExplanation(path string, e *Explanation, figures []Figure) (notes []string, err error) {
	figure, err := onlyFigure(figures)
	if err != nil {
		return nil, err
	}
	show, err := figure.show()
	if err != nil {
		return nil, err
	}
	if figure.Against != nil && figure.Kind != "compare" {
		return nil, usagef("Against is for a figure of the kind compare, and the kind is %q",
			figure.Kind)
	}
	var own *engine.Picture
	if e != nil || figure.Against != nil {
		own = &engine.Picture{Explanation: e, Against: figure.Against}
	}
	return saveFile(path, func(ctx context.Context) ([]byte, []string, error) {
		out := newDisplay()
		defer out.clear()
		client, err := running(ctx)
		if e != nil {
			client, err = connect(ctx, out)
		}
		if err != nil {
			return nil, nil, err
		}
		return client.Save(ctx, filepath.Base(path), show, own)
	})
}

// onlyFigure returns the figure that a call has, the zero value if it has none.
func onlyFigure(figures []Figure) (Figure, error) {
	if len(figures) > 1 {
		return Figure{}, usagef("%d figures for one file; give one", len(figures))
	}
	return append(figures, Figure{})[0], nil
}

// saveFile writes what make returns to a file. A file that cannot be written is an error before
// make is called, and after an error there is no file.
func saveFile(
	path string, make func(context.Context) ([]byte, []string, error),
) (notes []string, err error) {
	out, err := atomicfile.Create(path)
	if err != nil {
		return nil, usagef("%q cannot be written: %v", path, err)
	}
	defer out.Abandon()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	data, notes, err := make(ctx)
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

// endSave prints the remarks on a file, or shows the error and ends the program.
func endSave(path string, notes []string, err error) {
	if err != nil {
		newDisplay().exit(err)
	}
	for _, n := range notes {
		fmt.Printf("%s: %s\n", filepath.Base(path), n)
	}
}
