package bench

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/cli"
)

func TestBenchPeer(t *testing.T) {
	in := `{"task":"forward","ids":[5,6,7]}
{"task":"decode","ids":[5,6,7],"new":3}
{"task":"rows","ids":[5,6,7],"new":3}
{"task":"explain","prompt":"the keys to the cabinet","methods":["direct"],"new":3}
{"task":"train","ids":[5]}
{"task":"forward","ids":[-1]}
`
	status, stdout, stderr := headwater.Execute(t, in, "bench", "peer")
	if status != cli.StatusOK {
		t.Fatal(stderr)
	}
	var got []peerReply
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
		var r peerReply
		must(t, d.Decode(&r))
		got = append(got, r)
	}
	if len(got) != 6 {
		t.Fatalf("%d replies to 6 requests", len(got))
	}
	for i, r := range got[:4] {
		if r.Error != "" || r.MS <= 0 || i > 0 && (r.FirstMS <= 0 || r.TokenMS <= 0) {
			t.Errorf("reply %+v, want times and no error", r)
		}
	}
	if diff := cmp.Diff(got[1].IDs, got[2].IDs); len(got[1].IDs) == 0 || diff != "" {
		t.Errorf("decode made %v, with rows it made %v", got[1].IDs, got[2].IDs)
	}
	if len(got[3].IDs) != 3 {
		t.Errorf("explain made %v, want 3 tokens", got[3].IDs)
	}
	if want := `task "train" is unknown`; got[4].Error != want {
		t.Errorf("error %q, want %q", got[4].Error, want)
	}
	if got[5].Error == "" {
		t.Error("a negative id was accepted")
	}
	if status, _, _ := headwater.Execute(t, "{", "bench", "peer"); status != cli.StatusError {
		t.Errorf("half a request: status %d, want %d", status, cli.StatusError)
	}
}
