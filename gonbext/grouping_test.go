package gonbext_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
)

func init() {
	by := func(parts string) func() {
		return func() {
			seen := 0
			count := func(e *gonbext.Explanation) { seen += len(e.Prompt.Texts) }
			e, err := gonbext.TryExplain("the keys",
				gonbext.Options{MaxTokens: 2, OnStep: count}, gonbext.Show{By: parts})
			if err != nil {
				fmt.Println(err, errors.Is(err, trace.ErrUsage))
				return
			}
			r := e.Methods["rollout"]
			fmt.Println(seen, e.Prompt.Texts, slices.Concat(r.Rows...), r.Options["by"],
				r.Options["spans"])
		}
	}
	cells["a layer that is not there"] = func() {
		layer := 1
		_, err := gonbext.TryExplain("the keys", gonbext.Show{Layer: &layer})
		fmt.Println(err, errors.Is(err, trace.ErrUsage))
	}
	cells["no number"] = func() {
		_, err := gonbext.TryExplain("the keys", gonbext.Options{Threshold: math.NaN()})
		fmt.Println(err, errors.Is(err, trace.ErrUsage))
	}
	cells["by word"], cells["by letter"] = by("word"), by("letter")
	cells["by words"] = by("words")
	cells["by more than there is"], cells["by a space"] = by("0:9"), by("3:4")
}

// beginInPieces sends an explanation of "the keys" in three tokens, without rows.
func beginInPieces(conn *engineConn) {
	conn.send(engine.Event{Explanation: &attribution.Explanation{
		Model: trace.Info{Name: "tiny", Layers: 1},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " key", "s"}, IDs: []int{1, 2, 3},
			Special: make([]bool, 3), Offsets: [][2]int{{0, 3}, {3, 7}, {7, 8}},
		},
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{"rollout": {
			Layers: []int{0}, Shape: [3]int{0, 3, 1}, Unit: "share of attention", Facts: attribution.Facts{Combined: true, AddsUp: true, Quantity: attribution.Share},
			Options: map[string]string{"aggregation": "rollout"},
		}},
	}})
}

// pieces answers with two tokens, the second when the first is on the screen.
func pieces(next chan struct{}) func(*engineConn, engine.Request) {
	return func(conn *engineConn, _ engine.Request) {
		beginInPieces(conn)
		for i, text := range []string{" are", " here"} {
			row(conn, text, 0.125, 0.25, 0.5)
			if i == 0 {
				<-next
			}
		}
		conn.send(engine.Event{Done: true})
	}
}

// A growing explanation is grouped as the result is, and OnStep sees the same groups.
func TestBy(t *testing.T) {
	next := make(chan struct{}, 10)
	k := newKernel(t, pieces(next))
	var live []string
	k.shown = func(_ *os.Process, d protocol.DisplayData) {
		live = append(live, fmt.Sprint(d.Data))
		next <- struct{}{}
	}
	r := k.run("by word", true)
	if want := "4 [the keys] [0.125 0.75 0.125 0.75] word sum of tokens\n"; r.stdout != want ||
		r.status != 0 {
		t.Errorf("status %d, stdout %q, want %q", r.status, r.stdout, want)
	}
	for i, shown := range live {
		if !strings.Contains(shown, "2 spans of the prompt") || !strings.Contains(shown, ">keys<") {
			t.Errorf("display %d is not of words:\n%s", i, shown)
		}
	}
	if len(live) < 2 || !strings.Contains(live[0], "1 token so far") {
		t.Errorf("%d displays, want one of the first token", len(live))
	}
}

// Invalid spans and numbers are refused before the engine is asked. Spans that hold no token, and a
// layer that the model does not have, are refused at the first generated token.
func TestByRefusals(t *testing.T) {
	for cell, want := range map[string]string{
		"by letter":             `grouping "letter": want word, sentence`,
		"by words":              `grouping "words": did you mean word? want word, sentence`,
		"by more than there is": "span 0 to 9; the text has bytes 0 to 8",
		"by a space":            "holds the beginning of no token",
		"no number":             "gonbext: Threshold NaN; it must be in [0,1000000]",

		"a layer that is not there": `gonbext: Layer 1; "tiny" has layers 0 to 0`,
	} {
		t.Run(cell, func(t *testing.T) {
			next := make(chan struct{}, 1)
			next <- struct{}{}
			k := newKernel(t, func(conn *engineConn, r engine.Request) {
				if cell != "by a space" && cell != "a layer that is not there" {
					t.Errorf("%s reaches the engine", cell)
				}
				pieces(next)(conn, r)
			})
			if r := k.run(cell, false); !strings.Contains(r.stdout, want) ||
				!strings.HasSuffix(r.stdout, " true\n") {
				t.Errorf("%s says %q, want %q and a usage error", cell, r.stdout, want)
			}
		})
	}
}
