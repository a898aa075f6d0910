package gonbext

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/atomicfile"
	"github.com/headwater-ml/headwater/internal/engine"
)

// showJSON returns the form in which the engine reads what a picture shows.
func showJSON(show any) (json.RawMessage, error) {
	data, err := json.Marshal(show)
	if err != nil { // JSON has no NaN and no infinity
		return nil, usagef("the Font of Show is no size: %v", err)
	}
	return data, nil
}

// Save saves the latest picture of this kernel to a file, in the format that its name ends with:
// .svg, .pdf, .png, .tex, .html, .csv, .parquet, .json, .inseq.json or .neuronpedia.json. That is
// what [Explain], [Draw], [Layers], [Compare], [Heads], [FlowGraph] or [Maps] drew last, also in an
// earlier cell, unless a [Show] says otherwise:
//
//	gonbext.Explain("the keys to the cabinet")
//	gonbext.Save("keys.svg", gonbext.Show{Method: "direct", Size: "column"})
//
// A picture of something else is an error that names what saves it, such as [SaveChart]. A page,
// .html, is the picture itself, to be clicked on in any browser. [SaveExplanation] saves another
// explanation than the latest. What a Show leaves open is as in the picture. A file that exists is
// replaced when the new one is complete. Save prints remarks on what the file cannot show. On an
// error it shows one line and ends the program; see [TrySave].
func Save(path string, show ...Show) {
	notes, err := TrySave(path, show...)
	endSave(path, notes, err)
}

// TrySave is [Save], with the remarks and the error returned.
func TrySave(path string, show ...Show) (notes []string, err error) {
	notes, err = saveExplanation(path, nil, show)
	return notes, worded(err)
}

// SaveExplanation is [Save] for any explanation: one of this cell, one that a file of JSON had, or
// one that your code made or changed. It saves what [Explain] and its like drew of it, or says the
// file that it comes from, unless a [Show] says otherwise:
//
//	a := gonbext.Explain("the keys to the cabinet", gonbext.Show{By: "word"})
//	gonbext.Explain("the key to the cabinets")
//	gonbext.SaveExplanation("keys.svg", a)
//
// Its origin goes into the file, and headwater reproduce then says whether the numbers are still
// those. See [TrySaveExplanation].
func SaveExplanation(path string, e *Explanation, show ...Show) {
	notes, err := TrySaveExplanation(path, e, show...)
	endSave(path, notes, err)
}

// TrySaveExplanation is [SaveExplanation], with the remarks and the error returned.
func TrySaveExplanation(path string, e *Explanation, show ...Show) (
	notes []string, err error,
) {
	if e == nil {
		return nil, worded(usagef("there is no explanation to save: it is nil"))
	}
	notes, err = saveExplanation(path, e, show)
	return notes, worded(err)
}

// saveExplanation saves an explanation; nil is the latest picture.
func saveExplanation(path string, e *Explanation, shows []Show) (notes []string, err error) {
	show, err := onlyShow(shows)
	if err != nil {
		return nil, err
	}
	asked, err := showJSON(show)
	if err != nil {
		return nil, err
	}
	if show.Against != nil && show.Kind != render.KindCompare {
		return nil, usagef("Against is for the kind compare, and the kind is %q", show.Kind)
	}
	var own *engine.Picture
	if e != nil || show.Against != nil {
		own = &engine.Picture{Explanation: e, Against: show.Against}
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
		return client.Save(ctx, filepath.Base(path), asked, own)
	})
}

// onlyShow returns what a call shows, the zero value if it says nothing.
func onlyShow(shows []Show) (render.Show, error) {
	if len(shows) > 1 {
		return render.Show{}, usagef("%d values of Show for one picture; give one", len(shows))
	}
	return render.Show(append(shows, Show{})[0]), nil
}

// drewOther tells the engine that a picture was drawn that [Save] does not save, and why.
func drewOther(reason string) { tell(engine.Picture{Other: reason}) }

// tellDrawn tells the engine what was drawn of an explanation.
func tellDrawn(e *Explanation, show render.Show) {
	if text, err := showJSON(show); err == nil && e != nil {
		tell(engine.Picture{Explanation: e, Against: show.Against, Show: text})
	}
}

// tell tells the engine of this kernel of a picture, if there is one, so that [Save] saves it. An
// error is left for Save to report: a picture is no reason to end a cell.
func tell(p engine.Picture) {
	ctx := context.Background()
	if client, err := running(ctx); err == nil {
		if err := client.Drew(ctx, p); err != nil {
			_ = client.Drew(ctx, engine.Picture{Other: "the latest picture cannot be saved: " +
				wordsOf(err, fieldOf)})
		}
	}
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
		return nil, pkg.Errorf("writing %q: %w", path, atomicfile.Cause(err))
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
