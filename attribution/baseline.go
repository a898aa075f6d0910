package attribution

import (
	"context"
	"sync"

	"github.com/headwater-ml/headwater/attribution/aggregation"
)

// maxBaselines is the largest number of float64 that baselines keeps: 64 MiB.
const maxBaselines = 8 << 20

// baselines caches results of expensive aggregations over uniform attention. They depend on
// positions and not on the text, so each is computed once in a process.
var baselines = struct {
	sync.Mutex
	rows    map[baselineKey][]float64 // [K,T]
	numbers int
}{rows: map[baselineKey][]float64{}}

// baselineKey has everything that a cached result depends on.
type baselineKey struct {
	aggregation  string
	cfg          aggregation.Config
	rule         aggregation.Normalization
	tokens, last int // last is the token that was swapped to the end
}

// extendBase extends the job's uniform state by uniform attention of the shape of c, and returns
// its results, [K,N-Skip,T]. Token last is swapped with the last one first; see [job.only].
func (j *job) extendBase(ctx context.Context, c aggregation.Rows, last int) ([]float64, error) {
	mixed, _ := j.rule.Apply(aggregation.Uniform(c, j.cfg), j.cfg)
	if last < c.T()-1 {
		mixed = swapped(mixed, last)
	}
	a, err := aggregation.Lookup(j.aggregation)
	if err != nil {
		return nil, err
	}
	if !a.Info().TopOnly || c.N-c.Skip != 1 {
		return j.extended(ctx, j.uniform, j.base[:0], mixed)
	}
	key := baselineKey{j.aggregation, j.cfg, j.rule, c.T(), last}
	baselines.Lock()
	known, ok := baselines.rows[key]
	baselines.Unlock()
	if ok {
		mixed.Skip = mixed.N
		_, err := j.extended(ctx, j.uniform, nil, mixed)
		return append(j.base[:0], known...), err
	}
	out, err := j.extended(ctx, j.uniform, j.base[:0], mixed)
	if err != nil {
		return nil, err
	}
	baselines.Lock()
	defer baselines.Unlock()
	if _, ok := baselines.rows[key]; !ok && baselines.numbers+len(out) <= maxBaselines {
		baselines.rows[key] = append([]float64(nil), out...)
		baselines.numbers += len(out)
	}
	return out, nil
}
