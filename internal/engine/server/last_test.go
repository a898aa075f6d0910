package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
)

// TestLast gets explanations again: the latest one that has a token, as the client got it.
func TestLast(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&reader{})})
	_, err := client.Last(t.Context())
	if !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "there is no explanation yet") {
		t.Errorf("before the first one: %v", err)
	}
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("model", 0o700))
	for _, text := range []string{"a b", "a b c"} {
		want, err := client.Explain(t.Context(), engine.Model{Name: "./model"}, text,
			attribution.Options{Methods: []string{"raw", "flow"}, Positions: []int{1, 0}})
		must(t, err)
		if want.Model.Name != "./model" {
			t.Fatalf("the model is called %s", filepath.ToSlash(want.Model.Name))
		}
		// What fails before the first token does not count.
		if _, err := client.Explain(t.Context(), engine.Model{}, text,
			attribution.Options{Positions: []int{99}}); err == nil {
			t.Fatal("position 99 of three tokens is explained")
		}
		for range 2 {
			got, err := client.Last(t.Context())
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, and the explanation differs (-first +again):\n%s", err, diff)
			}
		}
	}
}

// TestLastOfCancelled gets what there was when a request was cancelled.
func TestLastOfCancelled(t *testing.T) {
	m := &wordModel{gate: make(chan struct{}), ended: make(chan struct{})}
	client, _ := serve(t, server.Config{Open: one(m)})
	cancelled := errors.New("enough")
	func() {
		defer func() { _ = recover() }()
		_, _ = client.Explain(t.Context(), engine.Model{}, "a b", attribution.Options{
			MaxTokens: 5, Methods: []string{"rollout"},
			OnStep: func(*attribution.Explanation) { panic(cancelled) }, // the client is gone
		})
	}()
	<-m.ended
	eventually(t, func() bool {
		e, err := client.Last(t.Context())
		return err == nil && len(e.Steps) == 1
	})
}

// TestSave sends the bytes of a file of the latest explanation, larger than an event.
func TestSave(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 300_000)
	refused := errors.New("no such format")
	client, _ := serve(t, server.Config{
		Open: one(&reader{}),
		Encode: func(_ context.Context, f server.File) ([]byte, []string, error) {
			if f.Name == "a.bmp" {
				return nil, nil, refused
			}
			e := f.Explanation
			if len(e.Steps) != 1 || e.Prompt.Text != "a b" ||
				string(f.Asked) != `{"kind":"text"}` {
				t.Errorf("%s of %d steps of %q", f.Asked, len(e.Steps), e.Prompt.Text)
			}
			return large, []string{"a note"}, nil
		},
	})
	save := func(file string) ([]byte, []string, error) {
		return client.Save(t.Context(), file, json.RawMessage(`{"kind":"text"}`), nil)
	}
	if _, _, err := save("a.svg"); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("before an explanation: %v", err)
	}
	if _, err := client.Explain(t.Context(), engine.Model{}, "a b",
		attribution.Options{Methods: []string{"raw"}, Positions: []int{1}}); err != nil {
		t.Fatal(err)
	}
	data, notes, err := save("a.svg")
	if err != nil || !bytes.Equal(data, large) || !slices.Equal(notes, []string{"a note"}) {
		t.Errorf("%d bytes, %q, %v", len(data), notes, err)
	}
	if _, _, err := save("a.bmp"); err == nil || !strings.Contains(err.Error(), "no such format") {
		t.Errorf("another format: %v", err)
	}
	if _, _, err := save(strings.Repeat("a", 1<<20)); !errors.Is(err, trace.ErrUsage) {
		t.Errorf("a long name: %v", err)
	}
}

// saying is an encoder whose file tells what it is of.
func saying(_ context.Context, f server.File) ([]byte, []string, error) {
	said := f.Explanation.Prompt.Text + " " + string(f.Show)
	if f.Against != nil {
		said += " against " + f.Against.Prompt.Text
	}
	return []byte(said), nil, nil
}

// TestSaveDrawn saves the picture that was drawn last, and any other explanation by itself. A
// picture that cannot be saved is an error that says why, until there is another one.
func TestSaveDrawn(t *testing.T) {
	client, _ := serve(t, server.Config{Open: one(&reader{}), Encode: saying})
	explain := func(text, show string) *attribution.Explanation {
		client.Show = json.RawMessage(show)
		e, err := client.Explain(t.Context(), engine.Model{}, text,
			attribution.Options{Methods: []string{"raw"}, Positions: []int{1}})
		must(t, err)
		return e
	}
	saves := func(p *engine.Picture, want string) {
		t.Helper()
		data, _, err := client.Save(t.Context(), "a.svg", nil, p)
		if err != nil || string(data) != want {
			t.Errorf("saved as %q, %v; want %q", data, err, want)
		}
	}
	drew := func(p engine.Picture) {
		t.Helper()
		must(t, client.Drew(t.Context(), p))
	}
	a := explain("a b", `"first"`)
	b := explain("a b c", `"second"`)
	saves(nil, `a b c "second"`)
	drew(engine.Picture{Explanation: a, Show: json.RawMessage(`"layers"`)})
	saves(nil, `a b "layers"`)
	saves(&engine.Picture{Explanation: b}, `a b c `)
	saves(&engine.Picture{Against: b}, `a b "layers" against a b c`)
	drew(engine.Picture{Explanation: b, Against: a, Show: json.RawMessage(`"compare"`)})
	saves(nil, `a b c "compare" against a b`)
	drew(engine.Picture{Other: "it is a chart"})
	if _, _, err := client.Save(t.Context(), "a.svg", nil, nil); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "it is a chart") {
		t.Errorf("a chart: %v", err)
	}
	saves(&engine.Picture{Explanation: a}, `a b `)
	explain("a b", `"third"`)
	saves(nil, `a b "third"`)
	if err := client.Drew(t.Context(), engine.Picture{}); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "has an explanation or a reason") {
		t.Errorf("a picture of nothing: %v", err)
	}
	saves(nil, `a b "third"`)
}

// TestSaveSent saves explanations that a cell sends: with bytes that are not UTF-8, NaN and
// positions of 0, larger than a request, and as the program made them. One that contradicts itself
// is refused, and so is a picture of another model's attention.
func TestSaveSent(t *testing.T) {
	var got *attribution.Explanation
	client, _ := serve(t, server.Config{
		Open: one(&reader{}),
		Encode: func(ctx context.Context, f server.File) ([]byte, []string, error) {
			got = f.Explanation
			if f.Name == "heads.svg" {
				_, err := f.Tracer.Trace(ctx, []int{3, 4}, []trace.Tap{trace.Attention})
				return []byte("heads"), nil, err
			}
			return []byte("file"), nil, nil
		},
	})
	made, err := client.Explain(t.Context(), engine.Model{}, "a b",
		attribution.Options{Methods: []string{"raw"}, Positions: []int{0, 1}})
	must(t, err)
	save := func(file string, change func(e *attribution.Explanation)) error {
		data, err := json.Marshal(made)
		must(t, err)
		e := &attribution.Explanation{}
		must(t, json.Unmarshal(data, e)) // as from a file
		change(e)
		got = nil
		_, _, err = client.Save(t.Context(), file, nil, &engine.Picture{Explanation: e})
		if diff := cmp.Diff(e, got, cmpopts.EquateNaNs()); err == nil && diff != "" {
			t.Errorf("the engine got something else (-sent +got):\n%s", diff)
		}
		return err
	}
	for name, change := range map[string]func(e *attribution.Explanation){
		"of a file": func(*attribution.Explanation) {},
		"changed": func(e *attribution.Explanation) {
			e.Prompt.Text, e.Prompt.Texts[0] = "a\xff b", "a\xff"
			e.Methods["raw"].Rows[0][0] = math.NaN()
			e.Origin = json.RawMessage(`{"form":1}`)
		},
		"large": func(e *attribution.Explanation) { // 20 MB in several requests
			r := e.Methods["raw"]
			for range 1 << 20 {
				r.Explained, r.Residue = append(r.Explained, math.Pi), append(r.Residue, math.E)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { must(t, save("a.svg", change)) })
	}
	must(t, save("heads.svg", func(*attribution.Explanation) {}))
	for name, c := range map[string]struct {
		file, want string
		change     func(e *attribution.Explanation)
	}{
		"shape": {"a.svg", "does not fit", func(e *attribution.Explanation) {
			e.Methods["raw"].Shape[1]++
		}},
		"no result": {"a.svg", "cannot be sent", func(e *attribution.Explanation) {
			e.Methods["raw"] = nil
		}},
		"another model": {"heads.svg", "has other weights", func(e *attribution.Explanation) {
			e.Model.Hash += "0"
		}},
		"too large": {"a.svg", "at most 268435456", func(e *attribution.Explanation) {
			e.Prompt.Text = strings.Repeat("a", engine.MaxPicture)
		}},
	} {
		if err := save(c.file, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
