package gonbext

import (
	"context"
	"fmt"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/engine"
)

// drew tells the engine that a view function named view drew a picture of explanations, as f says,
// so that [Save] saves this picture. Explanations that the engine does not have, or that are
// divided in two ways, make it one that cannot be saved. f.By is that of the explanations.
func drew(view string, f Figure, of ...*Explanation) {
	var numbers []int
	for i, e := range of {
		kept, err := keptOf(e)
		if err == nil && i > 0 && kept.by != f.By {
			err = usagef("the two explanations put tokens together in two ways")
		}
		if err != nil {
			drewOther(fmt.Sprintf("what %s drew cannot be saved: %s", view,
				trace.InWords(err, fieldOf)))
			return
		}
		f.By = kept.by
		numbers = append(numbers, kept.number)
	}
	show, err := f.show()
	if err != nil { // a figure of a picture has no font, which alone can be wrong
		return
	}
	tellDrawn(func(ctx context.Context, c engine.Client) error {
		return c.Drawn(ctx, show, numbers...)
	})
}

// drewOther tells the engine that a picture was drawn that [Save] does not save, and why.
func drewOther(reason string) {
	tellDrawn(func(ctx context.Context, c engine.Client) error {
		return c.DrawnOther(ctx, reason)
	})
}

// tellDrawn tells the engine of this kernel something, if there is one. An error is left for
// [Save] to report, which asks the same engine: a picture is no reason to end a cell.
func tellDrawn(tell func(context.Context, engine.Client) error) {
	ctx := context.Background()
	if client, err := running(ctx); err == nil {
		_ = tell(ctx, client)
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
