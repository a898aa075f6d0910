package engine

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/mutant"
)

// requests returns valid requests of every kind that has fields.
func requests() []Request {
	return []Request{
		{
			Version: Version, Kind: KindExplain, Text: []byte("the keys\xff"),
			Continuation: []byte(" are"),
			Options:      json.RawMessage(`{"methods":["rollout"],"max_tokens":3,"threshold":0.5}`),
		},
		{
			Version: Version, Kind: KindTrace, IDs: []int{1, 2, 300}, Taps: []trace.Tap{trace.Final},
			Model: Model{Name: "tiny", MaxMemory: 1 << 40}, Options: json.RawMessage("null"),
		},
		{Version: Version, Kind: KindInfo, Options: json.RawMessage("null")},
		{
			Version: Version, Kind: KindSources, Model: Model{Name: "tiny"},
			Options: json.RawMessage(`{"Documents":["It rained. It was cold."],"Question":"why?"}`),
		},
	}
}

func marshal(t testing.TB, q Request) string {
	t.Helper()
	b, err := json.Marshal(q)
	must(t, err)
	return string(b)
}

// TestReadRequest checks that the engine reads what a client writes, also with white space around
// it.
func TestReadRequest(t *testing.T) {
	for _, want := range requests() {
		got, err := ReadRequest(strings.NewReader(" " + marshal(t, want) + "\n"))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("request, %v (-sent +read):\n%s", err, diff)
		}
	}
	if _, err := ReadRequest(strings.NewReader("")); err != io.EOF {
		t.Errorf("nothing: error %v, want io.EOF", err)
	}
	text := marshal(t, requests()[0])
	for name, c := range map[string]struct{ text, want string }{
		"two requests":  {text + text, "the client sent something after its request"},
		"cut":           {text[:20], "the request ends after 20 bytes: unexpected EOF"},
		"not JSON":      {"\x00\x00\x00\x03", "the request cannot be read: the program that sent it is not of the same version"},
		"wrong type":    {`{"Version":"x"}`, "the request cannot be read"},
		"not an object": {`[]`, "the request cannot be read"},
		"long":          {strings.Repeat(" ", maxRequest+1), "longer than the limit of 8388608 bytes"},
		"long text":     {`{"Text":"` + strings.Repeat("a", maxRequest), "longer than the limit of 8388608 bytes"},
	} {
		if _, err := ReadRequest(strings.NewReader(c.text)); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestMutatedRequests checks that any bytes give a request or an error and take little memory. A
// request that passes the check is within the limits.
func TestMutatedRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for _, q := range requests() {
		texts = append(texts, marshal(t, q))
	}
	var before, after runtime.MemStats
	passed, refused := 0, 0
	for i := range 20_000 {
		bytes := []byte(texts[i%len(texts)])
		for range 1 + r.IntN(4) {
			bytes = mutant.Scratch(r, bytes)
		}
		text := string(bytes)
		if i%100 == 0 {
			runtime.ReadMemStats(&before)
		}
		q, err := ReadRequest(strings.NewReader(text))
		if i%100 == 0 {
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
				t.Fatalf("request %d, %q, took %d bytes", i, text, took)
			}
		}
		if err != nil || q.Check() != nil {
			refused++
			continue
		}
		passed++
		if q.Kind == KindInfo || q.Kind == KindStop {
			continue // no other field is used
		}
		if len(q.Model.Name) > maxName || len(q.Text) > maxText || q.Model.MaxMemory < 0 ||
			q.Kind != KindExplain && q.Kind != KindTrace && q.Kind != KindSources {
			t.Fatalf("request %d, %q, passes with %+v", i, text, q)
		}
	}
	if passed == 0 || refused == 0 {
		t.Errorf("%d requests pass and %d are refused: the test tests nothing", passed, refused)
	}
}

// TestLongRequest checks that reading stops at the limit, whatever the request claims.
func TestLongRequest(t *testing.T) {
	endless := &repeat{text: `"a":[0,0,0,0,0,0,0,0,0,0,0,0],`}
	_, err := ReadRequest(io.MultiReader(strings.NewReader("{"), endless))
	if err == nil || !strings.Contains(err.Error(), "longer than the limit") {
		t.Errorf("error %v, want the limit", err)
	}
	if endless.read > maxRequest+1 {
		t.Errorf("%d bytes were read, limit %d", endless.read, maxRequest)
	}
}

// repeat is a text without end.
type repeat struct {
	text string
	read int
}

func (r *repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[(r.read+i)%len(r.text)]
	}
	r.read += len(b)
	return len(b), nil
}

func FuzzReadRequest(f *testing.F) {
	for _, q := range requests() {
		f.Add(marshal(f, q))
	}
	f.Add(`{"Options":{"max_tokens":`)
	f.Add("\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ReadRequest(strings.NewReader(text))
		if err != nil || q.Check() != nil {
			return
		}
		again, err := ReadRequest(strings.NewReader(marshal(t, q)))
		if err != nil || again.Check() != nil {
			t.Errorf("%q is accepted, and not when it is sent on: %v, %v", text, err, again.Check())
		}
	})
}

// asked is a question about two sentences, 5 bytes.
func asked(question string) Request {
	return Request{
		Kind:    KindSources,
		Options: json.RawMessage(`{"Documents":["a. b."],"Question":` + question + `}`),
	}
}

// TestCheck has the largest values that pass and the smallest that do not.
func TestCheck(t *testing.T) {
	traced := func(change func(*Request)) Request {
		q := Request{Kind: KindTrace}
		change(&q)
		return q
	}
	for _, c := range []struct {
		name    string
		request Request
		want    string // empty: it passes
	}{
		{"longest name", traced(func(q *Request) { q.Model.Name = strings.Repeat("a", 4096) }), ""},
		{"long name", traced(func(q *Request) { q.Model.Name = strings.Repeat("a", 4097) }), "model name of 4097 bytes; at most 4096"},
		{"longest type", traced(func(q *Request) { q.Model.DType = strings.Repeat("a", 64) }), ""},
		{"long type", traced(func(q *Request) { q.Model.DType = strings.Repeat("a", 65) }), "name of a data type of 65 bytes; at most 64"},
		{"longest text", traced(func(q *Request) { q.Text = make([]byte, 1<<20) }), ""},
		{"long text", traced(func(q *Request) { q.Text = make([]byte, 1<<20+1) }), "prompt of 1048577 bytes; at most 1048576"},
		{"long continuation", traced(func(q *Request) { q.Continuation = make([]byte, 1<<20+1) }), "continuation of 1048577 bytes"},
		{"no limit", traced(func(q *Request) { q.Model.MaxMemory = 0 }), ""},
		{"negative limit", traced(func(q *Request) { q.Model.MaxMemory = -1 }), "max memory -1 bytes; it must be positive"},
		{"first id", traced(func(q *Request) { q.IDs = []int{0} }), ""},
		{"negative id", traced(func(q *Request) { q.IDs = []int{0, -1} }), "token id -1 at index 1"},
		{"last specials", traced(func(q *Request) { q.Specials = trace.SpecialsOff }), ""},
		{"specials", traced(func(q *Request) { q.Specials = trace.SpecialsOff + 1 }), "it must be auto, on or off"},
		{"all taps", traced(func(q *Request) { q.Taps = trace.Taps() }), ""},
		{"too many taps", traced(func(q *Request) { q.Taps = append(trace.Taps(), trace.Final) }), "each is recorded once"},
		{"unknown tap", traced(func(q *Request) { q.Taps = []trace.Tap{"x"} }), `unknown tap "x"; known are [`},
		{"question", asked(`"why?"`), ""},
		{"no question", asked(`""`), "the question is empty"},
		{"a number for a question", asked("1"), `option "Question" cannot be a number`},
		{"unknown part", asked(`"why?","Magic":1`), `the engine knows no option "Magic"`},
		{"longest question", asked(`"` + strings.Repeat("a", 1<<20-5) + `"`), ""},
		{"long question", asked(`"` + strings.Repeat("a", 1<<20-4) + `"`), "documents and question of 1048577 bytes"},
		{"question about no model", func() Request {
			q := asked(`"why?"`)
			q.Model.MaxMemory = -1
			return q
		}(), "max memory -1 bytes"},
		{"ids of info", Request{Kind: KindInfo, IDs: []int{-1}}, ""},
		{"unknown kind", Request{Kind: "dance"}, `does not know the request "dance"`},
		{"no kind", Request{}, `does not know the request ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.request.Check()
			if c.want == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!errors.Is(err, trace.ErrUsage) {
				t.Errorf("error %v, want a usage error with %q", err, c.want)
			}
		})
	}
}

// TestExplainOptions checks that a continuation arrives as bytes, that zero differs from no value,
// and that the error about an unknown option names it.
func TestExplainOptions(t *testing.T) {
	q := Request{
		Kind: KindExplain, Continuation: []byte("\xe2"),
		Options: json.RawMessage(`{"residual":0,"heads":"max"}`),
	}
	o, err := q.ExplainOptions()
	must(t, err)
	if o.Residual == nil || *o.Residual != 0 || o.PerHead != nil || o.Continuation != "\xe2" ||
		o.Heads.Fusion != trace.MaxHeads {
		t.Errorf("options %+v", o)
	}
	for text, want := range map[string]string{
		`{"magic":1}`:        `engine: the engine knows no option "magic": it is not of the same version, restart the kernel`,
		`{"max_tokens":"x"}`: `engine: option "max_tokens" cannot be a string`,
		`[1]`:                "engine: the options are of JSON type array; want an object",
		`{"max_tok`:          "engine: the options, 9 bytes, cannot be read as JSON",
		``:                   "engine: the options, 0 bytes, cannot be read as JSON",
	} {
		q.Options = json.RawMessage(text)
		if _, err := q.ExplainOptions(); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestMutatedOptions gives every option values of every kind. Package attribution accepts the same
// values, and no error names a Go type.
func TestMutatedOptions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	fields := []string{"magic"}
	for f := range reflect.TypeFor[attribution.Options]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			fields = append(fields, name)
		}
	}
	values := []string{
		"0", "1", "-1", "-5", "4096", "4097", "1e400", "-1e400", "1e-400", "0.5", "1.5",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808",
		`"x"`, `""`, `"-1"`, `"9999999999999999999"`, "null", "true",
		"[]", "[-1]", "[1e99]", `["rollout"]`, `[{}]`, "{}", `{"temperature":-1}`, `{"top_p":2}`,
		`{"steps":-1}`, "NaN", "{", "",
	}
	accepted := 0
	for range 20_000 {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, `"`+fields[r.IntN(len(fields))]+`":`+values[r.IntN(len(values))])
		}
		text := "{" + strings.Join(parts, ",") + "}"
		q := Request{Kind: KindExplain, Options: json.RawMessage(text)}
		o, err := q.ExplainOptions()
		if (err == nil) != (q.Check() == nil) {
			t.Fatalf("%s: options %v, check %v", text, err, q.Check())
		}
		if err != nil {
			s := err.Error()
			if strings.Contains(s, "Go ") || strings.Contains(s, "json") || len(s) > 300 ||
				!errors.Is(err, trace.ErrUsage) {
				t.Fatalf("%s: error %v", text, err)
			}
			continue
		}
		accepted++
		if err := o.Check(); err != nil || o.MaxTokens < 0 || o.MaxTokens > 4096 ||
			o.FirstLayer < 0 || !(o.Threshold >= 0) {
			t.Fatalf("%s is accepted as %+v, %v", text, o, err)
		}
	}
	if accepted == 0 {
		t.Error("nothing is accepted: the test tests nothing")
	}
}
