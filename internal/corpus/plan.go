package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/message"
)

// MaxShards is the largest number of shards, and MaxTasks that of tasks by default: arrays of jobs
// often end near it.
const (
	MaxShards    = 100_000
	DefaultTasks = 1000
)

// maxTries is how many records may fail before a plan is given up: a few may be too long.
const maxTries = 100

// Settings are what a plan is made of besides the input.
type Settings struct {
	Version string
	Model   Model
	Options attribution.Options
	// Shards and Tasks are as in [Manifest]; a Tasks of 0 is the number of shards, but at most
	// [DefaultTasks].
	Shards, Tasks int
	// Try explains a record, to learn the methods and their units. It is called for one record
	// after another until it succeeds; if it fails for all of the first [maxTries], the plan fails
	// too, because an option does not fit the model. It is not called for records that are wrong.
	Try func(ctx context.Context, r Record) (*attribution.Explanation, error)
	// OnRecord, if not nil, is called with the number of records read so far.
	OnRecord func(records int64)
}

// MakePlan reads an input once and returns its manifest. Records that are wrong are part of the
// plan. It needs about 400 bytes of memory a shard, and those of one record.
func MakePlan(ctx context.Context, s *Source, set Settings) (*Manifest, error) {
	if set.Shards < 1 || set.Shards > MaxShards {
		return nil, pkg.Errorf("%d shards; want 1 to %d", set.Shards, MaxShards)
	}
	if set.Tasks == 0 {
		set.Tasks = min(set.Shards, DefaultTasks)
	}
	m := &Manifest{
		Form: Form, Version: set.Version, Model: set.Model, Options: set.Options, Tasks: set.Tasks,
		Shards: make([]Contents, set.Shards), Input: Input{Place: s.name, Format: s.format},
	}
	ids := make([]hash.Hash, set.Shards)
	for i := range ids {
		ids[i] = sha256.New()
	}
	for _, file := range s.files {
		if !utf8.ValidString(file.Name) { // the manifest, which is JSON, would have another name
			return nil, pkg.Errorf("the input %s has the file %q, whose name is not valid "+
				"UTF-8; rename it", s, file.Name)
		}
	}
	first := trial{try: set.Try}
	for _, file := range s.files {
		file, err := s.read(ctx, file, file.Name, func(r Record) error {
			shard := r.shard(set.Shards)
			m.Shards[shard].Records++
			addID(ids[shard], r.File, r.Number, r.ID)
			m.Input.Records++
			if set.OnRecord != nil {
				set.OnRecord(m.Input.Records)
			}
			return first.add(ctx, r)
		})
		if err != nil {
			return nil, err
		}
		m.Input.Files = append(m.Input.Files, file)
	}
	if m.Input.Records == 0 {
		return nil, pkg.Errorf("the input %s has no records", s)
	}
	if first.methods == nil {
		return nil, first.failed(s)
	}
	m.Methods = first.methods
	for i := range ids {
		m.Shards[i].IDs = hex.EncodeToString(ids[i].Sum(nil))
	}
	var err error
	m.Hash, err = m.digest()
	return m, err
}

// trial explains records until one of them can be explained.
type trial struct {
	try     func(ctx context.Context, r Record) (*attribution.Explanation, error)
	methods []Method // nil before the first success
	tries   int
	wrong   int64 // records that were wrong
	last    error // of the latest try, or what is wrong with the latest record
}

// add tries a record if none has succeeded yet.
func (t *trial) add(ctx context.Context, r Record) error {
	if t.methods != nil {
		return nil
	}
	if r.Err != "" {
		t.wrong++
		if t.tries == 0 {
			t.last = fmt.Errorf("%s record %d: %s", r.File, r.Number, r.Err)
		}
		return nil
	}
	e, err := t.try(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.tries++
		t.last = fmt.Errorf("%s record %d: %w", r.File, r.Number, err)
		if t.tries == maxTries {
			return pkg.Errorf("none of the first %d records can be explained; the last "+
				"one is %w", t.tries, t.last)
		}
		return nil
	}
	for _, name := range e.Order {
		t.methods = append(t.methods, Method{name, ColumnOf(name), e.Methods[name].Unit})
	}
	return nil
}

// failed returns the error of an input of which nothing can be explained.
func (t *trial) failed(s *Source) error {
	return pkg.Errorf("no record of the input %s can be explained: %d %s wrong, and %d "+
		"failed; the last one is %w", s, t.wrong, message.IsOrAre(int(t.wrong)), t.tries, t.last)
}
