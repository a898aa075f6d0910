package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/certificate"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
	"github.com/headwater-ml/headwater/models/known"
	"github.com/headwater-ml/headwater/models/transformer"
)

// Each kind of error of a library gets the flag or the command that helps, and no other error does.
func TestAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"option":           {attribution.Options{Discard: 2}.Check(), "--discard"},
		"another name":     {attribution.Options{Positions: []int{-1}}.Check(), "--position"},
		"other usage":      {&trace.UsageError{Reason: "the prompt is empty"}, ""},
		"unknown option":   {&trace.UsageError{Reason: "no", Option: "of a plugin"}, ""},
		"results":          {&trace.MemoryError{}, "--max-memory"},
		"pass":             {&transformer.MemoryError{}, "--max-memory"},
		"weights":          {&models.MemoryError{Chosen: true}, "--max-memory"},
		"half the weights": {&models.MemoryError{Chosen: true, Half: 1}, "--dtype bfloat16"},
		"machine":          {&models.MemoryError{}, ""},
		"cache":            {&models.CacheError{Ref: "a/b@v1", Err: errors.New("broken")}, "headwater download a/b@v1 fetches it again"},
		"not downloaded":   {&known.MissingError{Model: known.All()[0]}, "headwater download smollm2 brings it, 98.4 MB"},
		"no tokenizer":     {&models.NoTokenizerError{Err: errors.New("none")}, "headwater trace --ids"},
		"no plugin":        {&xlaplugin.Error{Err: xlaplugin.ErrNone}, "headwater setup xla installs it"},
		"no CUDA plugin":   {xlaplugin.ErrNone, ""},
		"no source":        {errors.Join(errors.New("no network"), xlaplugin.ErrNoSource), "--from FILE"},
		"hash":             {xlaplugin.ErrUnknownHash, "--sha256 HASH"},
		"another":          {errors.New("no disk"), ""},
	} {
		want := fmt.Sprintf("line 1: %v", c.err)
		if c.want != "" {
			want += " (" + c.want + ")"
		}
		wrapped := fmt.Errorf("line 1: %w", c.err)
		if got := advise(wrapped); got.Error() != want || !errors.Is(got, wrapped) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if advise(nil) != nil {
		t.Error("no error gets advice")
	}
}

// A check that has no golden names the flag that gives one, and no other check does.
func TestAdviseChecks(t *testing.T) {
	c := &certificate.Certificate{Checks: []certificate.Check{
		{Name: "a", Skipped: certificate.NoGolden}, {Name: "b", Skipped: "too short"}, {Name: "c"},
	}}
	adviseChecks(c)
	want := []string{"no golden was given (--golden FILE)", "too short", ""}
	for i, check := range c.Checks {
		if check.Skipped != want[i] {
			t.Errorf("%s: %q, want %q", check.Name, check.Skipped, want[i])
		}
	}
}
