package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// A window is the records of a shard that are explained before their rows are written. It is part
// of what decides the bytes of a shard. windowBytes limits its texts, and so the memory.
const (
	windowRecords = 256
	windowBytes   = 4 << 20
)

// windowsAtOnce is how many windows of a shard are in memory and explained at the same time. It
// changes no byte of the shard.
const windowsAtOnce = 2

// filesAtOnce is how many shards are cut out of the input in one pass over it, each into a
// temporary file.
const filesAtOnce = 256

// Runner makes shards.
//
// It reads the input once for each 256 shards and copies the records of its shards into temporary
// files. Each worker then has two windows of records and one row group of Parquet in memory.
type Runner struct {
	Corpus    *Corpus
	Source    *Source
	Explainer Explainer
	// Shards are the shards to make; those that are complete are skipped. Workers is how many of
	// them are made at the same time, at least 1.
	Shards  []int
	Workers int
	// OnProgress, if not nil, is called after every record, by one goroutine at a time.
	OnProgress func(Stats)

	// pending are the shards that Pending has found and Run has not made; nil if nobody looked.
	pending []int

	mu    sync.Mutex
	stats Stats
}

// Stats counts what a runner has done.
type Stats struct {
	// Written and Skipped are shards that were made and that were complete before. Bad are shards
	// that cannot be made.
	Written, Skipped, Bad int
	// Records are records that have been explained or found to be wrong, of Of records in the
	// shards to be made. Errors are those of them without scores, and Tokens counts prompt tokens
	// and generated tokens.
	Records, Of, Errors, Tokens int64
}

// Pending returns which shards of the runner are to be made. It removes what killed processes left
// beside complete shards. A shard of another manifest is a [ShardError]. The next Run makes what
// Pending has found and does not look again, which takes a bucket two answers a shard.
func (r *Runner) Pending(ctx context.Context) ([]int, error) {
	states, err := r.Corpus.States(ctx, r.Shards)
	if err != nil {
		return nil, err
	}
	var pending []int
	complete := map[int]bool{}
	for _, s := range states {
		switch s.State {
		case Foreign:
			return nil, s.foreign()
		case Complete:
			complete[s.Shard] = true
		default:
			pending = append(pending, s.Shard)
		}
	}
	r.Corpus.sweep(complete)
	r.pending = pending
	return pending, nil
}

// Run makes the shards that are not complete. Shards that are bad do not stop the others; the error
// is then the first [ShardError], by number. After a [RetryError] or another error, or if the input
// has changed since the plan, which is a [ShardError] too, no further shard is begun. What is
// complete stays.
func (r *Runner) Run(ctx context.Context) (Stats, error) {
	if r.pending == nil {
		if _, err := r.Pending(ctx); err != nil {
			return r.stats, err
		}
	}
	pending := r.pending
	r.pending = nil
	r.stats = Stats{Skipped: len(r.Shards) - len(pending)}
	for _, shard := range pending {
		r.stats.Of += r.Corpus.Manifest.Shards[shard].Records
	}
	var bad *ShardError
	for some := range slices.Chunk(pending, filesAtOnce) {
		worst, err := r.runSome(ctx, some)
		if err != nil {
			return r.stats, err
		}
		if worst != nil && (bad == nil || worst.Shard < bad.Shard) {
			bad = worst
		}
	}
	if bad != nil {
		return r.stats, bad
	}
	return r.stats, nil
}

// runSome makes shards whose records are cut out of the input in one pass.
func (r *Runner) runSome(ctx context.Context, shards []int) (bad *ShardError, err error) {
	parts, err := r.cut(ctx, shards)
	defer parts.close()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	complete := map[int]bool{}
	defer func() { r.Corpus.sweep(complete) }() // reads the folder, which may be large, once
	var next atomic.Int64
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range max(r.Workers, 1) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(shards) {
					return
				}
				err := r.make(ctx, shards[i], parts[i])
				wrong := (*ShardError)(nil)
				if err != nil && !errors.As(err, &wrong) {
					stop(err)
					return
				}
				mu.Lock()
				complete[shards[i]] = wrong == nil
				if wrong != nil {
					wrong.Shard = shards[i]
					r.count(func(s *Stats) { s.Bad++ })
					if bad == nil || wrong.Shard < bad.Shard {
						bad = wrong
					}
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return bad, context.Cause(ctx)
}

// count changes the counts and reports them.
func (r *Runner) count(change func(*Stats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.stats)
	if r.OnProgress != nil {
		r.OnProgress(r.stats)
	}
}

// parts are the records of shards in temporary files, in the order of the shards.
type parts []*part

// part is the records of one shard.
type part struct {
	file *scratchFile
	out  *bufio.Writer
	enc  *gob.Encoder
}

func (p parts) close() {
	for _, one := range p {
		one.file.Close()
	}
}

// cut copies the records of some shards into temporary files. It compares the input with the
// manifest: a worker that read another one would write wrong shards.
func (r *Runner) cut(ctx context.Context, shards []int) (parts, error) {
	m := r.Corpus.Manifest
	at := map[int]int{}
	var all parts
	for i, shard := range shards {
		file, err := scratch()
		if err != nil {
			return all, err
		}
		out := bufio.NewWriterSize(file, 1<<14)
		all = append(all, &part{file, out, gob.NewEncoder(out)})
		at[shard] = i
	}
	for _, planned := range m.Input.Files {
		name := r.Source.named(planned, len(m.Input.Files))
		found, err := r.Source.read(ctx, planned, name, func(record Record) error {
			i, ours := at[record.shard(len(m.Shards))]
			if !ours {
				return nil
			}
			if err := all[i].enc.Encode(record); err != nil {
				return scratchFailed(err)
			}
			return nil
		})
		if err != nil {
			return all, err
		}
		if found != planned {
			return all, &ShardError{shards[0], fmt.Errorf("the input %s in %s has changed since "+
				"the plan: it had %d bytes with SHA-256 %.12s…, now %d bytes with %.12s…; restore "+
				"it, or plan again in an empty folder", planned.Name, r.Source, planned.Bytes,
				planned.SHA256, found.Bytes, found.SHA256)}
		}
	}
	for _, one := range all {
		if err := one.out.Flush(); err != nil {
			return all, scratchFailed(err)
		}
	}
	return all, nil
}

// make writes one shard.
func (r *Runner) make(ctx context.Context, shard int, records *part) error {
	c := r.Corpus
	out, err := c.Place.create(ShardName(shard))
	if err != nil {
		return err
	}
	defer out.abandon()
	w := newRowWriter(out, c.Manifest, strconv.Itoa(shard))
	if err := r.rows(ctx, shard, records, w); err != nil {
		return err
	}
	if err := w.close(); err != nil {
		return c.Place.failed("be written", ShardName(shard), err)
	}
	written, err := c.commit(ctx, shard, out)
	if err != nil {
		return err
	}
	r.count(func(s *Stats) {
		if written {
			s.Written++
		} else {
			s.Skipped++
		}
	})
	return nil
}

// commit gives a shard its name, unless another process was faster and its shard is complete.
func (c *Corpus) commit(ctx context.Context, shard int, out *target) (written bool, err error) {
	failed := out.commit(ctx)
	if failed == nil {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, failed
	}
	state, why, err := c.state(ctx, shard)
	switch {
	case err != nil:
		return false, err
	case state == Complete:
		return false, nil
	case !errors.Is(failed, errExists):
		return false, failed
	case state == Foreign:
		return false, &ShardError{shard, fmt.Errorf("%s: %s", ShardName(shard), why)}
	}
	// It was damaged when it was looked at first, so it is to be replaced.
	return true, out.replace(ctx)
}

// rows explains the records of a shard and writes their rows, in the order of the input. While the
// rows of one window are written, the next one is being explained. The error is that of the first
// window that has one.
func (r *Runner) rows(ctx context.Context, shard int, records *part, w *rowWriter) error {
	if _, err := records.file.Seek(0, io.SeekStart); err != nil {
		return scratchFailed(err)
	}
	in := &windowReader{
		dec: gob.NewDecoder(bufio.NewReader(records.file)), ids: sha256.New(),
		seen: map[string]string{},
	}
	ctx, stop := context.WithCancel(ctx)
	var explaining sync.WaitGroup
	defer explaining.Wait()
	defer stop()
	var begun []*window
	for {
		for len(begun) < windowsAtOnce && !in.end {
			next := in.next()
			next.explained = make(chan struct{})
			begun = append(begun, next)
			explaining.Go(func() {
				defer close(next.explained)
				r.explain(ctx, next)
			})
		}
		if len(begun) == 0 {
			return in.check(shard, r.Corpus.Manifest.Shards[shard])
		}
		<-begun[0].explained
		if err := r.write(begun[0], w); err != nil {
			return err
		}
		begun = slices.Delete(begun, 0, 1) // nothing keeps what was written in memory
	}
}

// windowReader divides the records of a shard into windows.
type windowReader struct {
	dec *gob.Decoder
	end bool // there are no more
	// ids is the hash of the ids of count records, and seen has where each id was first.
	ids   hash.Hash
	count int64
	seen  map[string]string
}

// window is records that are explained together, and what is known of them.
type window struct {
	records []Record
	results []Result
	// err is why there are no results. It is complete when explained is closed.
	err       error
	explained chan struct{}
}

// next reads the next window. The last one has fewer records, perhaps none, or an error.
func (in *windowReader) next() *window {
	w := &window{}
	for bytes := 0; len(w.records) < windowRecords && bytes < windowBytes; {
		var one Record
		err := in.dec.Decode(&one)
		if errors.Is(err, io.EOF) {
			in.end = true
			break
		}
		if err != nil {
			in.end, w.err = true, &RetryError{pkg.Errorf("a temporary file is damaged: %w",
				atomicfile.Cause(err))}
			break
		}
		in.count++
		addID(in.ids, one.File, one.Number, one.ID)
		markSecond(&one, in.seen)
		bytes += len(one.Prompt) + len(one.Continuation)
		w.records = append(w.records, one)
	}
	return w
}

// check compares the records of a shard that were read with those of the manifest.
func (in *windowReader) check(shard int, want Contents) error {
	sum := hex.EncodeToString(in.ids.Sum(nil))
	if in.count == want.Records && sum == want.IDs {
		return nil
	}
	return &ShardError{shard, fmt.Errorf("the input has %d records for it with the hash of ids "+
		"%.12s…, the manifest %d with %.12s…; the plan was made by another program", in.count, sum,
		want.Records, want.IDs)}
}

// markSecond gives a record an error if another one before it has its id. Records of one id are in
// one shard.
func markSecond(r *Record, seen map[string]string) {
	if r.ID == "" {
		return
	}
	first, twice := seen[r.ID]
	if !twice {
		seen[r.ID] = fmt.Sprintf("%s record %d", r.File, r.Number)
		return
	}
	r.Err = fmt.Sprintf("the id is also that of %s; give each record its own", first)
}

// explain explains the records of a window.
func (r *Runner) explain(ctx context.Context, w *window) {
	if w.err != nil {
		return
	}
	var good []int
	for i := range w.records {
		if w.records[i].Err == "" {
			good = append(good, i)
		}
	}
	w.results = make([]Result, len(w.records))
	for _, group := range groups(w.records, good) {
		some := make([]Record, len(group))
		for i, at := range group {
			some[i] = w.records[at]
		}
		made := 0
		w.err = r.Explainer.Explain(ctx, some, func(i int, result Result) {
			w.results[group[i]] = result
			made++
			r.count(func(s *Stats) {
				s.Records++
				s.Tokens += int64(len(result.PromptIDs) + len(result.IDs))
				if result.Err != "" {
					s.Errors++
				}
			})
		})
		if w.err != nil {
			return
		}
		if made != len(some) {
			panic(fmt.Sprintf("corpus: %d results of %d records", made, len(some)))
		}
	}
}

// write writes the rows of a window that was explained, in the order of its records.
func (r *Runner) write(w *window, to *rowWriter) error {
	if w.err != nil {
		return w.err
	}
	wrong := int64(0)
	for i := range w.records {
		if err := to.add(&w.records[i], &w.results[i]); err != nil {
			return &RetryError{pkg.Errorf("a shard cannot be written: %w", atomicfile.Cause(err))}
		}
		if w.records[i].Err != "" {
			wrong++
		}
	}
	r.count(func(s *Stats) {
		s.Records += wrong
		s.Errors += wrong
	})
	return nil
}

// groups divides some records into those that are given to an explainer together: all of which as
// many may run at a time. A long text among short ones does not hold them up.
func groups(records []Record, some []int) [][]int {
	slices.SortStableFunc(some, func(a, b int) int {
		return textBytes(records[a]) - textBytes(records[b])
	})
	var all [][]int
	for i := 0; i < len(some); {
		n := textsAtOnce(textBytes(records[some[i]]))
		j := i
		for j < len(some) && textsAtOnce(textBytes(records[some[j]])) == n {
			j++
		}
		all = append(all, some[i:j])
		i = j
	}
	return all
}

// textBytes is the length by which records are sorted.
func textBytes(r Record) int {
	n := len(r.Prompt) + len(r.Continuation) + len(r.Pair) + len(r.Tools)
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return n
}

// sweep removes the unfinished files of shards that are complete: nobody needs what they would
// become. A process that still writes one finds its shard complete. A bucket has none.
func (c *Corpus) sweep(complete map[int]bool) {
	if c.Place.bucket != nil || len(complete) == 0 {
		return
	}
	folder := c.Place.path(shardsFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // there is nothing to sweep
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), ".")
		number, rest, parquet := strings.Cut(name, ".parquet.")
		shard, err := strconv.Atoi(number)
		if ok && parquet && err == nil && strings.HasSuffix(rest, ".tmp") && complete[shard] {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
