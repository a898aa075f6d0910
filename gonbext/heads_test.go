package gonbext_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// sendAttention answers with the attention of one head over n tokens.
func sendAttention(conn *engineConn, n int, values ...float32) {
	conn.send(engine.Event{Tensor: &trace.Tensor{
		Name: "attention", Axes: "LHTS", Shape: []int{1, 1, n, n},
	}})
	var data []byte
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	conn.send(engine.Event{Piece: data})
	conn.send(engine.Event{Done: true})
}

// TestHeadsCell asks the engine for a text and then for the attention over all of its tokens.
func TestHeadsCell(t *testing.T) {
	ids := make(chan []int, 1)
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind != engine.KindTrace {
			begin(conn)
			step(conn, " are")
			conn.send(engine.Event{Done: true})
			return
		}
		ids <- r.IDs
		sendAttention(conn, 3, 1, 0, 0, 0.5, 0.5, 0, 0.2, 0.7, 0.1)
	})
	r := k.run("heads", true)
	left := saved(r.displays)
	if r.status != 0 || r.stdout != "heads 1\n" || r.stderr != "" || len(left) != 1 {
		t.Fatalf("status %d, stdout %q, stderr %q, %d displays", r.status, r.stdout, r.stderr,
			len(left))
	}
	if got := <-ids; !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the engine was asked for ids %v, want the prompt and the token 1 2 3", got)
	}
	shown := fmt.Sprint(left[0])
	for _, want := range []string{"head 0 of layer 0 looked at", "hm-heads", "All heads"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	shown = fmt.Sprint(saved(k.run("heads by word", true).displays))
	if !strings.Contains(shown, "heads are shown as they are") {
		t.Errorf("heads by word show %.300q", shown)
	}
}
