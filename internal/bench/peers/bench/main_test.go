package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/models"
)

func TestServe(t *testing.T) {
	m, err := models.Open("tiny", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReader(`{"task":"forward","ids":[5,6,7]}
{"task":"decode","ids":[5,6,7],"new":3}
{"task":"rows","ids":[5,6,7],"new":3}
{"task":"train","ids":[5]}
{"task":"forward","ids":[-1]}
`)
	var out bytes.Buffer
	if err := serve(context.Background(), m, in, &out); err != nil {
		t.Fatal(err)
	}
	var got []reply
	for d := json.NewDecoder(&out); d.More(); {
		var r reply
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if len(got) != 5 {
		t.Fatalf("serve gave %d replies to 5 requests", len(got))
	}
	for _, r := range got[:3] {
		if r.Error != "" || r.MS <= 0 {
			t.Errorf("reply %+v, want a time and no error", r)
		}
	}
	if diff := cmp.Diff(got[1].IDs, got[2].IDs); len(got[1].IDs) == 0 || diff != "" {
		t.Errorf("decode made %v, with rows it made %v", got[1].IDs, got[2].IDs)
	}
	if want := `task "train" is unknown; known are decode, forward, rows`; got[3].Error != want {
		t.Errorf("error %q, want %q", got[3].Error, want)
	}
	if got[4].Error == "" {
		t.Error("a negative id was accepted")
	}
	if err := serve(context.Background(), m, strings.NewReader("{"), &out); err == nil {
		t.Error("half a request was accepted")
	}
}
