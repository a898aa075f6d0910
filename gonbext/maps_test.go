package gonbext_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/engine"
)

// TestMapsCell asks the engine for a text and then for the attention over all of its tokens, and
// shows the maps that are made of it.
func TestMapsCell(t *testing.T) {
	ids := make(chan []int, 1)
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		if r.Kind != engine.KindTrace {
			if want := `{"kind":"maps"}`; string(r.Show) != want {
				t.Errorf("it is shown as %s, want %s", r.Show, want)
			}
			begin(conn)
			step(conn, " are")
			conn.send(engine.Event{Done: true})
			return
		}
		ids <- r.IDs
		sendAttention(conn, 3, 1, 0, 0, 0.5, 0.5, 0, 0.2, 0.7, 0.1)
	})
	r := k.run("maps", true)
	left := saved(r.displays)
	if r.status != 0 || r.stdout != "maps 1\n" || r.stderr != "" || len(left) != 1 {
		t.Fatalf("status %d, stdout %q, stderr %q, %d displays", r.status, r.stdout, r.stderr,
			len(left))
	}
	if got := <-ids; !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the engine was asked for ids %v, want the prompt and the token 1 2 3", got)
	}
	shown := fmt.Sprint(left[0])
	for _, want := range []string{"from every token", "layer 0 · raw", "hm-maps", "70.0 %"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	for cell, want := range map[string]string{
		"maps of direct": "there are no maps of method &#34;direct&#34;",
		"maps by word":   "maps show every token",
	} {
		if shown := fmt.Sprint(saved(k.run(cell, true).displays)); !strings.Contains(shown, want) {
			t.Errorf("%s shows %.300q, want %q", cell, shown, want)
		}
	}
}
