package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			e, made := f.Explained.Explanation, f.Explained.Request
			if len(e.Steps) != 1 || string(made.Text) != "a b" ||
				string(f.Figure) != `{"kind":"text"}` {
				t.Errorf("%s of %d steps of %q", f.Figure, len(e.Steps), made.Text)
			}
			return large, []string{"a note"}, nil
		},
	})
	save := func(file string) ([]byte, []string, error) {
		return client.Save(t.Context(), file, json.RawMessage(`{"kind":"text"}`))
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

// TestSaveDrawn saves the picture that was drawn last, and of one explanation the one that was
// drawn of it last. A picture that cannot be saved is an error that says why, until there is
// another one.
func TestSaveDrawn(t *testing.T) {
	client, _ := serve(t, server.Config{
		Open: one(&reader{}),
		Encode: func(_ context.Context, f server.File) ([]byte, []string, error) {
			said := string(f.Explained.Request.Text) + " " + string(f.Explained.Request.Show)
			if f.Against != nil {
				said += " against " + string(f.Against.Request.Text)
			}
			return []byte(said), nil, nil
		},
	})
	explain := func(text, show string) {
		client.Show = json.RawMessage(show)
		if _, err := client.Explain(t.Context(), engine.Model{}, text,
			attribution.Options{Methods: []string{"raw"}, Positions: []int{1}}); err != nil {
			t.Fatal(err)
		}
	}
	saves := func(of int, want string) {
		t.Helper()
		data, _, err := client.Save(t.Context(), "a.svg", nil, of)
		if err != nil || string(data) != want {
			t.Errorf("%d is saved as %q, %v; want %q", of, data, err, want)
		}
	}
	drawn := func(show string, of ...int) {
		t.Helper()
		if err := client.Drawn(t.Context(), json.RawMessage(show), of...); err != nil {
			t.Error(err)
		}
	}
	explain("a b", `"first"`)
	explain("a b c", `"second"`)
	drawn(`"layers"`, 1)
	saves(0, `a b "layers"`)
	saves(1, `a b "layers"`)
	saves(2, `a b c "second"`)
	drawn(`"compare"`, 2, 1)
	saves(0, `a b c "compare" against a b`)
	saves(1, `a b "layers"`)
	drawn(`"latest"`, 0)
	saves(2, `a b c "latest"`)
	if err := client.DrawnOther(t.Context(), "it is a chart"); err != nil {
		t.Error(err)
	}
	if _, _, err := client.Save(t.Context(), "a.svg", nil); !errors.Is(err, trace.ErrUsage) ||
		!strings.Contains(err.Error(), "it is a chart") {
		t.Errorf("a chart: %v", err)
	}
	saves(1, `a b "layers"`)
	explain("a b", `"third"`)
	saves(0, `a b "third"`)
	for want, of := range map[string][]int{
		"explanation 7 of this kernel is no longer kept": {7},
		"explanation -1; they count from 1":              {-1},
		"3 explanations for one file":                    {1, 2, 1},
		"has explanations or a reason":                   nil,
	} {
		err := client.Drawn(t.Context(), nil, of...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want a usage error with %q", of, err, want)
		}
	}
	saves(0, `a b "third"`)
}

// TestSaveChosen saves explanations by their numbers, two for a comparison, with how they were
// shown and the attention that the file asks for.
func TestSaveChosen(t *testing.T) {
	client, _ := serve(t, server.Config{
		Open: one(&reader{}),
		Encode: func(_ context.Context, f server.File) ([]byte, []string, error) {
			made := f.Explained.Request
			said := f.Name + " " + string(made.Text) + string(made.Show)
			if f.Against != nil {
				said += " against " + string(f.Against.Request.Text)
			}
			if f.Name == "heads.svg" {
				tensors, err := f.Tracer.Trace(t.Context(), []int{3, 4},
					[]trace.Tap{trace.Attention})
				if err != nil {
					return nil, nil, err
				}
				said += " " + tensors[0].Name
			}
			return []byte(said), nil, nil
		},
	})
	var numbers []int
	client.OnKept = func(number int) { numbers = append(numbers, number) }
	for _, text := range []string{"a b", "a b c"} {
		client.Show = json.RawMessage(`{"by":"` + text[:1] + `"}`)
		if _, err := client.Explain(t.Context(), engine.Model{}, text,
			attribution.Options{Methods: []string{"raw"}, Positions: []int{1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Last(t.Context()); err != nil || !slices.Equal(numbers, []int{1, 2, 2}) {
		t.Fatalf("numbers %v, want 1 and 2 of two explanations and 2 of the latest; %v", numbers,
			err)
	}
	for _, c := range []struct {
		file string
		of   []int
		want string
	}{
		{"a.svg", nil, `a.svg a b c{"by":"a"}`},
		{"a.svg", []int{1}, `a.svg a b{"by":"a"}`},
		{"a.svg", []int{0, 1}, `a.svg a b c{"by":"a"} against a b`},
		{"heads.svg", []int{2}, `heads.svg a b c{"by":"a"} attention`},
	} {
		data, _, err := client.Save(t.Context(), c.file, nil, c.of...)
		if err != nil || string(data) != c.want {
			t.Errorf("%s of %v: %q, %v; want %q", c.file, c.of, data, err, c.want)
		}
	}
	for want, of := range map[string][]int{
		"explanation 7 of this kernel is no longer kept": {7},
		"explanation 3 of this kernel is no longer kept": {1, 3},
		"explanation -1; they count from 1":              {-1},
		"3 explanations for one file":                    {1, 2, 1},
	} {
		_, _, err := client.Save(t.Context(), "a.svg", nil, of...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want a usage error with %q", of, err, want)
		}
	}
}
