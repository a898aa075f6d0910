package gonbext

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"sync"
	"weak"

	"github.com/headwater-ml/headwater/attribution"
)

// keptByEngine are the explanations of this program that the engine keeps.
var keptByEngine struct {
	sync.Mutex
	all map[weak.Pointer[attribution.Explanation]]keptAs
}

// keptAs says how the engine keeps an explanation.
type keptAs struct {
	number int    // in the engine, from 1
	sum    uint64 // of what the program got
	by     string // how prompt tokens are put together in it, as in Figure
}

// remember notes that the engine keeps an explanation under a number, 0 if it does not, and how its
// prompt tokens are put together.
func remember(e *Explanation, number int, by string) {
	if e == nil || number == 0 {
		return
	}
	keptByEngine.Lock()
	defer keptByEngine.Unlock()
	if keptByEngine.all == nil {
		keptByEngine.all = map[weak.Pointer[attribution.Explanation]]keptAs{}
	}
	keptByEngine.all[weak.Make(e)] = keptAs{number, checksum(e), by}
}

// numberOf returns the number of an explanation in the engine, or an error if the engine does not
// keep what e is.
func numberOf(e *Explanation) (int, error) {
	kept, err := keptOf(e)
	return kept.number, err
}

// keptOf says how the engine keeps an explanation, or returns an error if it does not keep what e
// is.
func keptOf(e *Explanation) (keptAs, error) {
	if e == nil {
		return keptAs{}, usagef("there is no explanation to save: it is nil")
	}
	keptByEngine.Lock()
	kept, known := keptByEngine.all[weak.Make(e)]
	keptByEngine.Unlock()
	switch {
	case !known:
		return keptAs{}, usagef("this explanation was not returned by Explain, Heads, FlowGraph, " +
			"Maps or Last in this cell, so the engine does not have it; save one of those, with " +
			"By of Figure to put tokens together")
	case kept.sum != checksum(e):
		return keptAs{}, usagef("this explanation was changed after it was made, and the engine " +
			"has it as it was; save it before the change")
	}
	return kept, nil
}

var seed = maphash.MakeSeed()

// checksum returns a number that differs if the texts or the numbers of an explanation do. It is
// for this process only.
func checksum(e *Explanation) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	text := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	for _, s := range e.Prompt.Texts {
		text(s)
	}
	for _, step := range e.Steps {
		text(step.Text)
	}
	var b [8]byte
	numbers := func(values []float64) {
		for _, x := range values {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
			h.Write(b[:])
		}
		h.WriteByte(1)
	}
	for _, name := range e.Order {
		text(name)
		if r := e.Methods[name]; r != nil {
			for _, row := range r.Rows {
				numbers(row)
			}
		}
	}
	return h.Sum64()
}
