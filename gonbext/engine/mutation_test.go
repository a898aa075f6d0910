package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
)

// mutate changes some bytes of a text, cuts it, or repeats a part of it.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(4) {
		i, j := r.IntN(len(b)), r.IntN(len(b))
		switch r.IntN(5) {
		case 0:
			b[i] ^= 1 << r.IntN(8)
		case 1:
			b[i] = byte(r.IntN(256))
		case 2:
			b = b[:i+1]
		case 3:
			b = append(b[:i:i], append(bytes.Clone(b[min(i, j):max(i, j)]), b[i:]...)...)
		case 4: // a number where gob has one byte
			b = append(b[:i:i], append([]byte{0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b[i:]...)...)
		}
	}
	return b
}

// TestMutatedFrames: whatever comes, a frame is a request or an error, and takes no more memory than its
// limits allow. What passes the check is within them.
func TestMutatedFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	options, err := json.Marshal(attribution.Options{MaxTokens: 3, Methods: []string{"rollout"}, Threshold: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for _, q := range []Request{
		{Version: Version, Kind: KindExplain, Text: []byte("the keys"), Options: options, Continuation: []byte(" are")},
		{Version: Version, Kind: KindTrace, IDs: []int{1, 2, 300}, Taps: []trace.Tap{trace.Final}, Model: Model{Name: "tiny", MaxMemory: 1 << 40}},
		{Version: Version, Kind: KindInfo},
	} {
		var b bytes.Buffer
		if err := Send(&b, q); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, b.Bytes())
	}
	var before, after runtime.MemStats
	passed := 0
	for i := range 20_000 {
		frame := mutate(r, frames[i%len(frames)])
		if i%2 == 0 && len(frame) > headBytes { // with the right length gob sees it
			binary.BigEndian.PutUint32(frame, uint32(len(frame)-headBytes))
		}
		runtime.ReadMemStats(&before)
		q, err := ReceiveRequest(bytes.NewReader(frame))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Fatalf("frame %d, %x, took %d bytes", i, frame, took)
		}
		if err != nil || q.Check() != nil {
			continue
		}
		passed++
		if q.Kind == KindInfo || q.Kind == KindStop {
			continue // the rest plays no part
		}
		if len(q.Model.Name) > maxName || len(q.Text) > maxText || q.Model.MaxMemory < 0 ||
			q.Kind != KindExplain && q.Kind != KindTrace {
			t.Fatalf("frame %d, %x, passes with %+v", i, frame, q)
		}
	}
	if passed == 0 {
		t.Error("no frame passes: the test tests nothing")
	}
}

// TestGiantFrames: a length is not believed.
func TestGiantFrames(t *testing.T) {
	for _, n := range []uint32{MaxRequest, MaxRequest + 1, MaxFrame, 1 << 31, 1<<32 - 1} {
		frame := binary.BigEndian.AppendUint32(nil, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReceiveRequest(bytes.NewReader(append(frame, "abc"...)))
		runtime.ReadMemStats(&after)
		if tooLong := n > MaxRequest; errors.Is(err, ErrTooLong) != tooLong || tooLong == errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("length %d: error %v", n, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("length %d took %d bytes", n, took)
		}
	}
}

// TestSignsOfLife come before and between frames, any number of them.
func TestSignsOfLife(t *testing.T) {
	var b bytes.Buffer
	for range 100_000 {
		b.Write(SignOfLife[:])
	}
	if err := Send(&b, Event{Done: true}); err != nil {
		t.Fatal(err)
	}
	b.Write(SignOfLife[:])
	var ev Event
	if err := Receive(&b, &ev); err != nil || !ev.Done {
		t.Errorf("%+v, %v", ev, err)
	}
	if err := Receive(&b, &ev); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

// TestMutatedOptions gives every option values of every kind: what is accepted, package attribution
// accepts, and what is refused names no type of Go.
func TestMutatedOptions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	fields := strings.Fields("methods max_tokens positions specials chat sampling alternatives heads per_head residual " +
		"first_layer last_layer all_levels threshold local_lift measured_residual drop_sink discard contrast scoring own_row lift magic")
	values := []string{
		"0", "1", "-1", "-5", "4096", "4097", "1e400", "-1e400", "1e-400", "0.5", "1.5", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", `"x"`, `""`, `"-1"`, `"9999999999999999999"`, "null", "true",
		"[]", "[-1]", "[1e99]", `["rollout"]`, `[{}]`, "{}", `{"temperature":-1}`, `{"top_p":2}`, `{"steps":-1}`, "NaN", "{", "",
	}
	accepted := 0
	for range 20_000 {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, `"`+fields[r.IntN(len(fields))]+`":`+values[r.IntN(len(values))])
		}
		text := "{" + strings.Join(parts, ",") + "}"
		q := Request{Kind: KindExplain, Options: []byte(text)}
		o, err := q.ExplainOptions()
		if (err == nil) != (q.Check() == nil) {
			t.Fatalf("%s: options %v, check %v", text, err, q.Check())
		}
		if err != nil {
			if s := err.Error(); strings.Contains(s, "Go ") || strings.Contains(s, "json") || len(s) > 300 || !errors.Is(err, attribution.ErrUsage) {
				t.Fatalf("%s: error %v", text, err)
			}
			continue
		}
		accepted++
		if err := o.Check(); err != nil || o.MaxTokens < 0 || o.MaxTokens > 4096 || o.FirstLayer < 0 || !(o.Threshold >= 0) {
			t.Fatalf("%s is accepted as %+v, %v", text, o, err)
		}
	}
	if accepted == 0 {
		t.Error("nothing is accepted: the test tests nothing")
	}
}
