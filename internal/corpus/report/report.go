// Package report makes one HTML page of a corpus: what it is, charts of where generated tokens come
// from, and the texts in which most rests on a token or on chosen words.
//
//	found, err := report.Write(ctx, out, c, report.Options{Words: []string{"not"}})
//
// The page needs no other file and loads nothing. It works without script, except for sorting the
// texts and for choosing another generated token in a picture. Equal corpora and options give equal
// bytes.
//
// The shards are read once. Memory holds counts for each method and the texts of the list, each of
// them cut to what the page shows; it does not grow with the corpus.
package report

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headwater-ml/headwater/internal/corpus"
	"github.com/headwater-ml/headwater/internal/message"
)

// pkg is the name that the errors of this package begin with.
const pkg = message.Package("report")

// The limits of [Options].
const (
	DefaultTop = 50
	MaxTop     = 1000
	MaxWords   = 20
	maxWord    = 200 // bytes
)

// Options are what the page shows. The zero value of every field is its default.
type Options struct {
	// Method is the method by which texts are sorted and coloured; default the first of the corpus.
	Method string
	// Words are words or spans that texts are sorted by: how much of a generated token comes from
	// all of them together. Without words it is the strongest prompt token.
	Words []string
	// Top is how many texts are listed, up to [MaxTop]; 0 is [DefaultTop].
	Top int
	// OnRecord, if not nil, is called after each record with their number.
	OnRecord func(done int64)
}

// Found is what was read.
type Found struct {
	// Records counts what was read, and Errors those without scores.
	Records, Errors int64
	// Incomplete counts the shards that are missing or damaged, of Shards.
	Incomplete, Shards int
	// NeverSeen are the words that occur in no text with scores.
	NeverSeen []string
}

// Check returns an error if an option is out of range, as far as that is known without a corpus.
func (o Options) Check() error {
	if o.Top < 0 || o.Top > MaxTop {
		return pkg.Errorf("%d texts; want 1 to %d, or 0 for %d", o.Top, MaxTop, DefaultTop)
	}
	if len(o.Words) > MaxWords {
		return pkg.Errorf("%d words; at most %d can be looked for", len(o.Words), MaxWords)
	}
	for i, w := range o.Words {
		switch {
		case strings.TrimSpace(w) == "":
			return pkg.Errorf("word %d is empty; want letters, digits or signs", i+1)
		case len(w) > maxWord:
			return pkg.Errorf("word %d has %d bytes; at most %d can be looked for", i+1,
				len(w), maxWord)
		case slices.Contains(o.Words[:i], w):
			return pkg.Errorf("the word %s is given twice", message.Quote(w))
		}
	}
	return nil
}

// methodOf returns the place of the method that texts are sorted by.
func (o Options) methodOf(m *corpus.Manifest) (int, error) {
	names := m.MethodNames()
	if o.Method == "" {
		return 0, nil
	}
	if i := slices.Index(names, o.Method); i >= 0 {
		return i, nil
	}
	return 0, &MethodError{o.Method, names}
}

// MethodError is the error of a method that a corpus does not have.
type MethodError struct {
	Name  string
	Known []string
}

// Error names the method and those that the corpus has.
func (e *MethodError) Error() string {
	return fmt.Sprintf("report: the corpus has no method %s; %s", message.Quote(e.Name),
		message.KnownAre(e.Name, e.Known))
}

// Write reads the complete shards of a corpus once and writes the page. It fails if an option does
// not fit the corpus, if no shard is complete, and if a shard cannot be read.
func Write(ctx context.Context, w io.Writer, c *corpus.Corpus, o Options) (*Found, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Top == 0 {
		o.Top = DefaultTop
	}
	lead, err := o.methodOf(c.Manifest)
	if err != nil {
		return nil, err
	}
	complete, err := completeShards(ctx, c)
	if err != nil {
		return nil, err
	}
	s := newScan(c.Manifest, o, lead)
	for _, shard := range complete {
		err := c.Rows(ctx, shard, func(r corpus.Record, result corpus.Result) error {
			if err := s.add(r, &result); err != nil {
				return err
			}
			if o.OnRecord != nil {
				o.OnRecord(s.found.Records)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	s.found.Shards = len(c.Manifest.Shards)
	s.found.Incomplete = s.found.Shards - len(complete)
	for i := range s.words {
		if s.words[i].Texts == 0 {
			s.found.NeverSeen = append(s.found.NeverSeen, s.words[i].Text)
		}
	}
	page, err := s.page()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	return &s.found, nil
}

// completeShards returns the shards that can be read.
func completeShards(ctx context.Context, c *corpus.Corpus) ([]int, error) {
	states, err := c.States(ctx, c.ShardsOf(0, 1))
	if err != nil {
		return nil, err
	}
	var complete []int
	for _, s := range states {
		switch s.State {
		case corpus.Complete:
			complete = append(complete, s.Shard)
		case corpus.Foreign:
			return nil, pkg.Errorf("%s: %s; use an empty folder for another plan",
				corpus.ShardName(s.Shard), s.Why)
		}
	}
	if len(complete) == 0 {
		return nil, pkg.Errorf("none of the %d shards in %s is complete; make them first",
			len(states), c.Place)
	}
	return complete, nil
}
