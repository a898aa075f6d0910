package engine

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	want := []Event{
		{Row: &Row{Method: "rollout\xff", Data: []float64{0, math.Inf(1), math.Copysign(0, -1), math.NaN(), 1e-310}}},
		{Done: true},
	}
	for _, e := range want {
		if err := Send(&b, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range want {
		var got Event
		if err := Receive(&b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("event (-sent +received):\n%s", diff)
		}
	}
	if err := Receive(&b, &Event{}); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestSendTooLong(t *testing.T) {
	var b bytes.Buffer
	err := Send(&b, Event{Piece: make([]byte, MaxFrame)})
	if !errors.Is(err, ErrTooLong) || b.Len() != 0 {
		t.Errorf("error = %v after %d bytes, want ErrTooLong before any", err, b.Len())
	}
}

func FuzzReceive(f *testing.F) {
	var b bytes.Buffer
	if err := Send(&b, Request{Version: Version, Kind: KindExplain, Text: []byte("a")}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 3, 'x'})
	f.Fuzz(func(t *testing.T, frame []byte) {
		var r Request
		_ = Receive(bytes.NewReader(frame), &r) // no panic, no more memory than came
	})
}

func TestStartInStat(t *testing.T) {
	rest := strings.Repeat("0 ", 18) + "4711 0 0"
	for in, want := range map[string]string{
		"12 (gonb) S " + rest:     "4711",
		"12 (a b) (c)) R " + rest: "4711",
		"12 (gone) Z " + rest:     "",
		"12 (cut) S 1 2":          "",
		"":                        "",
	} {
		if got := startInStat(in); got != want {
			t.Errorf("startInStat(%q) = %q, want %q", in, got, want)
		}
	}
}
