package gonbext

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

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
// what [Explain], [Draw], [Layers], [Compare], [Heads], [FlowGraph], [Maps], [Experts] or [Lens]
// drew last, also in an earlier cell, unless a [Show] says otherwise:
//
//	gonbext.Explain("the keys to the cabinet")
//	gonbext.Save("keys.svg", gonbext.Show{Method: "direct", Size: "column"})
//
// A picture of something else is an error that names what saves it, such as [SaveChart]. A page,
// .html, is the picture itself, to be clicked on in any browser. [SaveExplanation] saves another
// explanation than the latest. What a Show leaves open is as in the picture. A file that exists is
// replaced when the new one is complete. Save says what it wrote, with remarks on what the file
// cannot show, and a cell shows a small .svg or .png. On an error it shows one line and ends the
// program; see [TrySave].
func Save(path string, show ...Show) {
	f, err := saveExplanation(path, nil, show)
	f.tell(err)
}

// TrySave is [Save], with the remarks and the error returned.
func TrySave(path string, show ...Show) (notes []string, err error) {
	f, err := saveExplanation(path, nil, show)
	return f.remarks, worded(err)
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
	f, err := saveGiven(path, e, show)
	f.tell(err)
}

// TrySaveExplanation is [SaveExplanation], with the remarks and the error returned.
func TrySaveExplanation(path string, e *Explanation, show ...Show) (
	notes []string, err error,
) {
	f, err := saveGiven(path, e, show)
	return f.remarks, worded(err)
}

// saveGiven saves an explanation that is not nil.
func saveGiven(path string, e *Explanation, show []Show) (savedFile, error) {
	if e == nil {
		return savedFile{}, usagef("there is no explanation to save: it is nil")
	}
	return saveExplanation(path, e, show)
}

// saveExplanation saves an explanation; nil is the latest picture.
func saveExplanation(path string, e *Explanation, shows []Show) (f savedFile, err error) {
	show, err := onlyShow(shows)
	if err != nil {
		return f, err
	}
	asked, err := showJSON(show)
	if err != nil {
		return f, err
	}
	if show.Against != nil && !show.View().Compares {
		return f, usagef("Against is for the kind compare, and the kind is %q", show.Kind)
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

// savedFile is a file that was written.
type savedFile struct {
	name string
	data []byte
	// contents is what the file has, such as "6.75 in, matrix of direct".
	contents string
	// remarks are on what it cannot show.
	remarks []string
}

// saveFile writes what make returns to a file: the bytes, and notes that begin with the contents.
// A file that cannot be written is an error before make is called, and after an error there is no
// file.
func saveFile(
	path string, make func(context.Context) ([]byte, []string, error),
) (f savedFile, err error) {
	out, err := atomicfile.Create(path)
	if err != nil {
		return f, usagef("%q cannot be written: %v", path, err)
	}
	defer out.Abandon()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	data, notes, err := make(ctx)
	if err != nil {
		return f, interrupted(ctx, err)
	}
	if _, err = out.Write(data); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return f, pkg.Errorf("writing %q: %w", path, atomicfile.Cause(err))
	}
	f = savedFile{name: filepath.Base(path), data: data}
	if len(notes) > 0 {
		f.contents, f.remarks = notes[0], notes[1:]
	}
	return f, nil
}

// tell says what was written, or shows the error and ends the program.
func (f savedFile) tell(err error) {
	out := newDisplay()
	if err != nil {
		out.exit(err)
	}
	out.note("wrote "+f.name+": "+f.contents, f.preview())
	for _, n := range f.remarks {
		out.note(f.name+": "+n, "")
	}
}

// previewBytes is how large a file may be whose picture is shown in the cell.
const previewBytes = 100_000

// preview returns the markup of a small picture of the file, "" if the file is large or no image of
// a browser.
func (f savedFile) preview() string {
	ending := strings.ToLower(filepath.Ext(f.name))
	kind := map[string]string{".svg": "svg+xml", ".png": "png"}[ending]
	if kind == "" || len(f.data) > previewBytes {
		return ""
	}
	return fmt.Sprintf(`<img src="data:image/%s;base64,%s" alt="%s" style="max-width:min(100%%,`+
		`24em);background:#fff">`, kind, base64.StdEncoding.EncodeToString(f.data),
		html.EscapeString(f.contents))
}
