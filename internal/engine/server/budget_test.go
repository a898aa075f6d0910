package server_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// sizedModel has weights of some bytes and runs that need some more, and refuses a limit below.
type sizedModel struct {
	wordModel
	weights, run, limit int64
}

// tooLittle is an error of memory, as models return it.
type tooLittle struct{ need, limit int64 }

func (e tooLittle) Error() string {
	return fmt.Sprintf("needs %d, limit %d", e.need, e.limit)
}

func (e tooLittle) Kind() errorkind.Kind { return errorkind.Memory }

func (m *sizedModel) Memory() trace.Memory { return trace.Memory{Weights: m.weights} }

func (m *sizedModel) Within(limit int64) (trace.Model, error) {
	if limit > 0 && limit < m.weights {
		return nil, tooLittle{m.weights, limit}
	}
	view := *m
	view.limit = limit
	return &view, nil
}

func (m *sizedModel) Steps(
	ctx context.Context, ids []int, ask trace.Ask,
) iter.Seq2[trace.Step, error] {
	if need := m.weights + m.run; m.limit > 0 && need > m.limit {
		return func(yield func(trace.Step, error) bool) {
			yield(trace.Step{}, tooLittle{need, m.limit})
		}
	}
	return m.wordModel.Steps(ctx, ids, ask)
}

// TestBudget keeps all models and their runs within one budget of 1000 bytes. The least recently
// used models leave, before a model is opened, before one that is open is used again, and before a
// run that needs more. A model that alone needs more is refused and closes the others in vain.
func TestBudget(t *testing.T) {
	sizes := map[string]sizedModel{
		"a": {weights: 300, run: 10}, "b": {weights: 300, run: 10}, "c": {weights: 300, run: 10},
		"wide": {weights: 100, run: 500}, "large": {weights: 600, run: 10},
		"larger": {weights: 1001}, "widest": {weights: 10, run: 1000},
	}
	for _, c := range []struct {
		name   string
		ask    []string
		limit  int64 // of the last request
		fails  string
		opened int
		want   []string // the latest used one first
	}{
		{"all fit", []string{"a", "b", "c"}, 0, "", 3, []string{"c", "b", "a"}},
		{"used again", []string{"a", "b", "c", "a"}, 0, "", 3, []string{"a", "c", "b"}},
		{"opening", []string{"a", "b", "a", "large"}, 0, "", 3, []string{"large", "a"}},
		{"run", []string{"a", "b", "a", "wide"}, 0, "", 3, []string{"wide", "a"}},
		{"back", []string{"a", "b", "large", "a"}, 0, "", 4, []string{"a", "large"}},
		{"too large", []string{"a", "larger"}, 0, "needs 1001, limit 1000; this is the limit of all models of the engine", 1, []string{}},
		{"run too large", []string{"a", "widest"}, 0, "needs 1010, limit 1000; this is", 2, []string{"widest"}},
		// One model leaves, then it is the limit of the request that is too low.
		{"own limit", []string{"a", "b", "wide"}, 550, "needs 600, limit 550", 3, []string{"wide", "b"}},
		{"own limit that is lower", []string{"a", "wide"}, 350, "needs 600, limit 350", 2, []string{"wide", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened := 0
			client, _ := serve(t, server.Config{
				Models: 9, Memory: 1000,
				Open: func(
					_ context.Context, which engine.Model, _ func(trace.Progress),
				) (trace.Model, error) {
					m := sizes[which.Name]
					if which.MaxMemory == 0 || which.MaxMemory > 1000 {
						t.Errorf("%s is opened with the limit %d", which.Name, which.MaxMemory)
					}
					if m.weights > which.MaxMemory {
						return nil, tooLittle{m.weights, which.MaxMemory}
					}
					opened++
					return &m, nil
				},
			})
			var err error
			for i, name := range c.ask {
				which := engine.Model{Name: name}
				if i == len(c.ask)-1 {
					which.MaxMemory = c.limit
				} else if err != nil {
					t.Fatal(err)
				}
				_, err = client.Explain(t.Context(), which, "a", attribution.Options{MaxTokens: 1})
			}
			if (err != nil) != (c.fails != "") ||
				err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("error %v, want %q", err, c.fails)
			}
			if opened != c.opened {
				t.Errorf("%d models were opened, want %d", opened, c.opened)
			}
			s, err := client.Info(t.Context())
			left := []string{}
			for _, m := range s.Open {
				left = append(left, m.Name)
			}
			if diff := cmp.Diff(c.want, left); diff != "" || err != nil {
				t.Errorf("models left (-want +got), %v:\n%s", err, diff)
			}
			if s.Limit != 1000 || s.MaxModels != 9 {
				t.Errorf("limit %d, %d models; want 1000 and 9", s.Limit, s.MaxModels)
			}
		})
	}
}

// TestStatusOfEngine says who the engine is and how long it has had nothing to do. Who only looks
// does not keep it busy.
func TestStatusOfEngine(t *testing.T) {
	t.Setenv("JPY_SESSION_NAME", "work/a.ipynb")
	client, _ := serve(t, server.Config{Open: one(&wordModel{}), Build: "v1.2.3"})
	_, err := client.Explain(t.Context(), engine.Model{Name: "a", DType: "float32"}, "a",
		attribution.Options{MaxTokens: 1})
	must(t, err)
	// The answer may arrive before the engine has counted the request as ended.
	first, err := client.Info(t.Context())
	for end := time.Now().Add(10 * time.Second); err == nil && first.Running > 0; {
		if time.Now().After(end) {
			t.Fatalf("%d requests are running", first.Running)
		}
		first, err = client.Info(t.Context())
	}
	must(t, err)
	second, err := client.Info(t.Context())
	must(t, err)
	if second.Idle <= first.Idle || second.Age <= first.Age || second.Idle > second.Age {
		t.Errorf("idle %v, then %v; age %v, then %v", first.Idle, second.Idle, first.Age,
			second.Age)
	}
	if s := second; s.Build != "v1.2.3" || s.Notebook != "work/a.ipynb" || s.Host == "" ||
		s.Memory < 1<<20 || s.Running != 0 || len(s.Open) != 1 || s.Open[0].DType != "float32" {
		t.Errorf("status %+v", s)
	}
}
