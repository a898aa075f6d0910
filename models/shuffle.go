package models

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/headwater-ml/headwater/models/spec"
)

// shuffled returns a loader that puts the entries of each matrix in a random order, so that only
// the sizes of the weights remain of what was learnt (Adebayo et al. 2018, §3.1). Norms and biases
// do not change; without them numbers might grow without bound.
func shuffled(load spec.Loader, seed uint64) spec.Loader {
	return func(p spec.Param, put func(first int, values []float32)) error {
		if len(p.Shape) < 2 {
			return load(p, put)
		}
		all, err := whole(load, p)
		if err != nil {
			return err
		}
		h := fnv.New64a()
		fmt.Fprint(h, p.Name)
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		put(0, all)
		return nil
	}
}
