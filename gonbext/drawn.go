package gonbext

import (
	"context"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
)

// drew tells the engine what a cell drew, as f says, so that [Save] saves this picture. against is
// side B of a comparison of two, or nil.
func drew(f Figure, e, against *Explanation) {
	show, err := f.show()
	if err != nil { // a figure of a picture has no font, which alone can be wrong
		return
	}
	tell(engine.Picture{Explanation: e, Against: against, Show: show})
}

// drewOther tells the engine that a picture was drawn that [Save] does not save, and why.
func drewOther(reason string) { tell(engine.Picture{Other: reason}) }

// tell tells the engine of this kernel of a picture, if there is one. An error is left for [Save]
// to report, which asks the same engine: a picture is no reason to end a cell.
func tell(p engine.Picture) {
	ctx := context.Background()
	if client, err := running(ctx); err == nil {
		if err := client.Drew(ctx, p); err != nil {
			_ = client.Drew(ctx, engine.Picture{Other: "the latest picture cannot be saved: " +
				wordsOf(err, fieldOf)})
		}
	}
}

// asPicture returns what a figure of a heatmap shows.
func asPicture(h render.Heatmap) Figure {
	f := Figure{Layer: h.Layer, Filter: h.Filter, Palette: h.Palette}
	if len(h.Methods) > 0 {
		f.Method = h.Methods[0]
	}
	return f
}
