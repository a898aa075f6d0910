// Package corpus explains the records of a data set and writes the numbers as Parquet, in shards
// that any number of processes on any number of machines make without talking to each other.
//
//	m, err := corpus.MakePlan(ctx, source, settings)   // reads the input once
//	c, err := corpus.Create(ctx, place, m)             // writes the manifest
//	r := corpus.Runner{Corpus: c, Source: source, Explainer: explainer}
//	stats, err := r.Run(ctx)                           // as often and wherever you like
//
// Three things make that safe. A record belongs to the shard that the hash of its id says. A shard
// appears under its name only when it is complete, and is then skipped. And its bytes depend on
// nothing but the manifest: not on the process, the order or the machine, as long as machines
// compute alike.
//
// Memory does not grow with the input: see [Runner], [Corpus.Verify] and [Corpus.Merge].
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("corpus")

// maxManifest is how many bytes a manifest may have: about 100 for each shard and each input file.
const maxManifest = 256 << 20

// Corpus is a plan and the place of its shards.
type Corpus struct {
	Place    *Place
	Manifest *Manifest
}

// Open reads the manifest of a place. The caller closes the place.
func Open(ctx context.Context, p *Place) (*Corpus, error) {
	c, err := open(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pkg.Errorf("%s has no %s; plan the corpus first, or name the place "+
			"where it was planned", p, ManifestName)
	}
	return c, err
}

// open is Open; the error of a place without a manifest wraps [fs.ErrNotExist].
func open(ctx context.Context, p *Place) (*Corpus, error) {
	text, err := p.read(ctx, ManifestName, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, pkg.Errorf("%s in %s: %w", ManifestName, p, err)
	}
	return &Corpus{Place: p, Manifest: m}, nil
}

// Create writes a manifest. If the place has the same one already, it stays; a different one is an
// error, because its shards would not fit.
func Create(ctx context.Context, p *Place, m *Manifest) (*Corpus, error) {
	for {
		there, err := open(ctx, p)
		switch {
		case err == nil && there.Manifest.Hash != m.Hash:
			return nil, pkg.Errorf("%s has the manifest of another plan (%.12s…, this one "+
				"is %.12s…: %s differs); use an empty folder", p, there.Manifest.Hash, m.Hash,
				there.Manifest.difference(m))
		case err == nil:
			return there, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		text, err := m.JSON()
		if err != nil {
			return nil, err
		}
		out, err := p.create(ManifestName)
		if err != nil {
			return nil, err
		}
		if _, err = out.Write(text); err != nil {
			err = p.failed("be written", ManifestName, err)
		} else {
			err = out.commit(ctx)
		}
		out.abandon()
		switch {
		case errors.Is(err, errExists): // another plan was faster
		case err != nil:
			return nil, err
		default:
			return &Corpus{Place: p, Manifest: m}, nil
		}
	}
}

// difference names the first part in which two manifests differ.
func (m *Manifest) difference(other *Manifest) string {
	for _, part := range []struct {
		name string
		same func(a, b *Manifest) bool
	}{
		{"the version of the program", func(a, b *Manifest) bool { return a.Version == b.Version }},
		{"the model", func(a, b *Manifest) bool { return a.Model.Hash == b.Model.Hash }},
		{"the backend", func(a, b *Manifest) bool {
			return a.Model.Backend == b.Model.Backend && a.Model.DType == b.Model.DType
		}},
		{"the number of shards", func(a, b *Manifest) bool {
			return len(a.Shards) == len(b.Shards)
		}},
		{"the input", func(a, b *Manifest) bool {
			return slices.Equal(a.Input.Files, b.Input.Files)
		}},
	} {
		if !part.same(m, other) {
			return part.name
		}
	}
	return "an option"
}

// ShardsOf returns the shards of task t of tasks: those with s mod tasks = t.
func (c *Corpus) ShardsOf(task, tasks int) []int {
	var all []int
	for s := task; s < len(c.Manifest.Shards); s += tasks {
		all = append(all, s)
	}
	return all
}

// ShardState is the state of one shard.
type ShardState struct {
	Shard int
	State State
	// Why is what is wrong, "" if nothing is.
	Why string
}

// foreign returns the error of a shard that belongs to another manifest.
func (s ShardState) foreign() error {
	return &ShardError{s.Shard, fmt.Errorf("%s: %s; use an empty folder for another plan",
		ShardName(s.Shard), s.Why)}
}

// lookers is how many shards are looked at together: a bucket takes its time to answer.
const lookers = 16

// States returns the states of some shards, in their order. It reads the footers only; see
// [Corpus.Verify] for the rows.
func (c *Corpus) States(ctx context.Context, shards []int) ([]ShardState, error) {
	states, errs := make([]ShardState, len(shards)), make([]error, len(shards))
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(lookers, len(shards)) {
		wait.Go(func() {
			for i := range next {
				state, why, err := c.state(ctx, shards[i])
				states[i], errs[i] = ShardState{shards[i], state, why}, err
			}
		})
	}
	for i := range shards {
		next <- i
	}
	close(next)
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// MissingTasks returns which of a number of tasks have shards that are not complete, and these
// shards.
func (c *Corpus) MissingTasks(ctx context.Context, tasks int) (missing, shards []int, err error) {
	shards, err = c.incomplete(ctx)
	if err != nil {
		return nil, nil, err
	}
	open := map[int]bool{}
	for _, shard := range shards {
		open[shard%tasks] = true
	}
	for t := range tasks {
		if open[t] {
			missing = append(missing, t)
		}
	}
	return missing, shards, nil
}

// incomplete returns the shards that are missing or damaged. A shard of another manifest is a
// [ShardError].
func (c *Corpus) incomplete(ctx context.Context) (shards []int, err error) {
	states, err := c.States(ctx, c.ShardsOf(0, 1))
	if err != nil {
		return nil, err
	}
	for _, s := range states {
		if s.State == Foreign {
			return nil, s.foreign()
		}
		if s.State != Complete {
			shards = append(shards, s.Shard)
		}
	}
	return shards, nil
}

// NumberRanges writes numbers that are sorted with commas between them, and three or more that
// follow one another as a range: 3,17,40-42.
func NumberRanges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		} else {
			for _, n := range numbers[i : j+1] {
				parts = append(parts, strconv.Itoa(n))
			}
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
