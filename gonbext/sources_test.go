package gonbext_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/sources"
)

// weather is the result of an engine: two sentences, the second one strong.
func weather() *sources.Result {
	return &sources.Result{
		Model: trace.Info{Name: "tiny"}, Documents: []string{"It rained. It was <cold>."},
		Sources: []sources.Source{
			{Text: "It rained.", Begin: 0, End: 10}, {Text: "It was <cold>.", Begin: 11, End: 25},
		},
		Prompt: "…", Answer: " cold", AnswerTokens: []string{" cold"}, Target: "cold",
		TargetTokens: [2]int{0, 1}, LogProbability: -1, WithoutSources: -9,
		Methods: []sources.Scores{{
			Method: sources.LeaveOneOut, Unit: "nats", LDS: 0.75, Passes: 2,
		}},
	}
}

// TestSourcesCell: a cell shows progress, then the documents with their scores; it saves nothing
// else, and prints what it got.
func TestSourcesCell(t *testing.T) {
	requests := make(chan engine.Request, 1)
	next := make(chan struct{}, 10)
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		requests <- r
		conn.send(engine.Event{Progress: &trace.Progress{Stage: "asking for the answer"}})
		<-next // it is on the screen
		result := weather()
		result.Methods[0].Values = append(result.Methods[0].Values, -0.25, 7.5)
		result.Methods[0].Drops = []sources.Drop{{K: 1, Nats: 7.5}}
		conn.send(engine.Event{Sources: result})
		conn.send(engine.Event{Done: true})
	})
	k.shown = func(*os.Process, protocol.DisplayData) { next <- struct{}{} }
	r := k.run("sources", true)
	left := saved(r.displays)
	if r.status != 0 || r.stdout != "strongest 1 of 2\n" || r.stderr != "" || len(left) != 1 {
		t.Fatalf("status %d, stdout %q, stderr %q, %d displays", r.status, r.stdout, r.stderr,
			len(left))
	}
	if first := fmt.Sprint(r.displays[0].Data); !strings.Contains(first, "asking for the answer") {
		t.Errorf("the first display is %.200q, want progress", first)
	}
	request := <-requests
	ask, err := request.Ask()
	if err != nil || request.Kind != engine.KindSources || request.Model.Name != "tiny" ||
		ask.Question != "why?" || ask.Answer != "cold" || ask.Options.Passes != 8 ||
		len(ask.Documents) != 1 {
		t.Errorf("request %+v, %v: %+v", request.Kind, err, ask)
	}
	for mime, wants := range map[protocol.MIMEType][]string{
		protocol.MIMETextHTML: {
			"It was &lt;cold&gt;.", "LDS 0.75 on", "top 1: 7.50 (nats)", ">+7.50<",
			"background:#0a2658",
		},
		protocol.MIMETextPlain: {"It was <cold>.", "+7.50", "LDS 0.75 on", "top 1: 7.50 (nats)"},
	} {
		picture, _ := left[0][mime].(string)
		if mime == protocol.MIMETextPlain { // a line may end in the middle
			picture = strings.Join(strings.Fields(picture), " ")
		}
		for _, want := range wants {
			if !strings.Contains(picture, want) {
				t.Errorf("%s lacks %q:\n%s", mime, want, picture)
			}
		}
		if strings.Contains(picture, "asking for the answer") {
			t.Errorf("%s keeps the progress", mime)
		}
	}
}

// TestSourcesCellErrors: what is wrong is one red line, and the engine is asked only for what may
// be right.
func TestSourcesCellErrors(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		conn.send(failure("no room\nmore"))
	})
	for name, want := range map[string]string{
		"sources":           "no room",
		"sources no text":   "no document is given",
		"sources method":    "method &#34;context-site&#34; of sources is unknown; did you mean context-cite?",
		"sources palette":   "blue-rust",
		"sources two":       "two values of SourceOptions are given",
		"sources by words":  "want sentence, paragraph, or bytes",
		"sources and files": "are saved as .html, .json or .txt",
	} {
		r := k.run(name, true)
		left := saved(r.displays)
		shown := fmt.Sprint(left)
		if len(left) != 1 || !strings.Contains(shown, want) || r.stderr != "" ||
			strings.Contains(shown, "goroutine") {
			t.Errorf("%s shows %.400q, stderr %q; want %q", name, shown, r.stderr, want)
		}
	}
}

// TestSourcesInterrupted: interrupting the cell ends it at once, and the request with it.
func TestSourcesInterrupted(t *testing.T) {
	hungUp := make(chan struct{})
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		conn.send(engine.Event{Progress: &trace.Progress{
			Stage: "asking without random sources", Unit: "text", Done: 3, Total: 98,
		}})
		_, _ = io.Copy(io.Discard, conn)
		close(hungUp)
	})
	var interrupted time.Time
	k.shown = func(cell *os.Process, d protocol.DisplayData) {
		if strings.Contains(fmt.Sprint(d.Data), "text 3 of 98") {
			interrupted = time.Now()
			_ = cell.Signal(os.Interrupt)
		}
	}
	r := k.run("sources", true)
	if took := time.Since(interrupted); took > 2*time.Second {
		t.Errorf("the cell ended %v after it was interrupted", took)
	}
	left := saved(r.displays)
	if len(left) != 1 || !strings.Contains(fmt.Sprint(left[0]), "gonbext: interrupted") {
		t.Errorf("status %d, saved %v; want one line", r.status, left)
	}
	<-hungUp
}

// TestSaveSources: each form is a file; one that cannot be is an error, and leaves nothing behind.
func TestSaveSources(t *testing.T) {
	dir, r := t.TempDir(), weather()
	r.Methods[0].Values = append(r.Methods[0].Values, 7.5, 0)
	r.Methods[0].LDS = 1
	for _, name := range []string{"a.html", "a.JSON", "a.txt"} {
		path := filepath.Join(dir, name)
		for range 2 { // the second one replaces the first one
			must(t, gonbext.TrySaveSources(path, r))
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), "leave-one-out") ||
			!strings.Contains(string(data), "It rained.") {
			t.Errorf("%s, %v: %s", name, err, data)
		}
		var back sources.Result
		if strings.HasSuffix(name, "JSON") && (json.Unmarshal(data, &back) != nil ||
			back.Methods[0].Values[0] != 7.5) {
			t.Errorf("%s does not have the numbers: %s", name, data)
		}
	}
	missing := filepath.Join(dir, "missing", "a.html")
	for _, c := range []struct {
		path     string
		r        *sources.Result
		settings []gonbext.SourceOptions
		want     string
	}{
		{filepath.Join(dir, "b.svg"), r, nil, `ends with ".svg"; sources are saved as .html, .json or .txt`},
		{filepath.Join(dir, "b"), r, nil, `ends with ""`},
		{missing, r, nil, "cannot be written"},
		{filepath.Join(dir, "b.html"), nil, nil, "the result is nil"},
		{filepath.Join(dir, "b.html"), r, []gonbext.SourceOptions{{Palette: "x"}}, "blue-rust"},
		{filepath.Join(dir, "b.html"), r, make([]gonbext.SourceOptions, 2), "two values"},
	} {
		err := gonbext.TrySaveSources(c.path, c.r, c.settings...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.path, err, c.want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("%d files in the folder, want 3", len(files))
	}
}

// TestSourceOptions: settings that no engine needs to see are refused without one.
func TestSourceOptions(t *testing.T) {
	texts := []string{"It rained. It was cold."}
	for want, settings := range map[string][]gonbext.SourceSetting{
		"a setting is nil":              {nil},
		"two values of Model are given": {gonbext.Model{}, gonbext.Model{}},
		"Top -1":                        {gonbext.SourceOptions{Top: -1}},
		"MaxMemory -1":                  {gonbext.Model{MaxMemory: -1}},
		"penalty NaN":                   {gonbext.SourceOptions{Penalty: new(math.NaN())}},
		"does not go with an answer":    {gonbext.SourceOptions{Answer: "a", MaxTokens: 1}},
	} {
		_, err := gonbext.TrySources("why?", texts, settings...)
		if !errors.Is(err, trace.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
