package gonbext

import (
	"github.com/headwater-ml/headwater/gonbext/render"
)

// Layers shows M[t,:,:] of several generated tokens side by side: a line for each layer, a column
// for each prompt token; see [render.Layers]. tokens count from 0; default: the first 6 that are
// words. Methods that have one layer alone are left out, such as value-zeroing unless
// AllLayers is set:
//
//	e := gonbext.Explain("the keys to the cabinet", gonbext.Options{AllLayers: true})
//	gonbext.Layers(e, 0, 1)
//
// On an error Layers shows one line and ends the program; see [TryLayers].
func Layers(e *Explanation, tokens ...int) {
	if err := TryLayers(e, tokens...); err != nil {
		newDisplay().exit(err)
	}
}

// TryLayers is [Layers], with the error returned.
func TryLayers(e *Explanation, tokens ...int) error {
	l := render.Layers{Heatmap: render.Heatmap{Explanation: e}, Tokens: tokens}
	if err := l.Check(); err != nil {
		return worded(err)
	}
	plain := l
	plain.MaxBytes = plainBytes
	newDisplay().show(l, render.LayersText{Layers: plain, Width: plainColumns}, render.LayersText{
		Layers: l, Width: columns(),
	})
	drew(figureOf(l), e, nil)
	return nil
}

// figureOf returns what a figure of a picture of layers shows: of its methods, the first one that
// has several layers.
func figureOf(l render.Layers) Figure {
	f := Figure{Kind: "layers", Tokens: l.Tokens}
	if l.Tokens == nil {
		f.Tokens = render.FirstWords(l.Explanation)
	}
	if len(f.Tokens) == 1 {
		f.Token, f.Tokens = &f.Tokens[0], nil
	}
	for _, name := range l.Explanation.Order {
		if r := l.Explanation.Methods[name]; r != nil && r.Shape[2] > 1 {
			f.Method = name
			break
		}
	}
	return f
}
