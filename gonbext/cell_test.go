package gonbext_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext"
	"github.com/headwater-ml/headwater/gonbext/render/chart"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
	"github.com/headwater-ml/headwater/internal/study/patch"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// cells are what the test's binary does when it runs as a cell, by name.
var cells = map[string]func(){
	"explain": func() {
		e := gonbext.Explain("the keys", gonbext.Model{Name: "tiny"}, gonbext.Options{MaxTokens: 3})
		fmt.Println("explained", len(e.Steps))
	},
	"try": func() {
		e, err := gonbext.TryExplain("the keys")
		fmt.Printf("steps %d, error %v\n", len(e.Steps), err)
	},
	"conversation": func() {
		e, err := gonbext.TryExplain("", gonbext.Options{Conversation: trace.Conversation{
			System: "be kind", Messages: []trace.Message{{Role: "user", Content: "hi"}},
		}})
		fmt.Printf("steps %d, error %v\n", len(e.Steps), err)
	},
	"try nothing": func() {
		e, err := gonbext.TryExplain("the keys")
		fmt.Printf("%v, error %v\n", e, err)
	},
	"own method": func() {
		attribution.RegisterMixing("mine", attribution.MixingInfo{})
		gonbext.Explain("the keys", gonbext.Options{Methods: []string{"mine+rollout"}})
	},
	"two options": func() { gonbext.Explain("a", gonbext.Options{}, gonbext.Options{}) },
	"trace": func() {
		r := gonbext.Trace("the keys", trace.Final)
		fmt.Println(r, r.Tensor(trace.Final).Data)
	},
	"unknown tap": func() { gonbext.Trace("the keys", "nonsense") },
	"last": func() {
		e := gonbext.Last()
		fmt.Println("again", len(e.Steps))
	},
	"save": func() {
		gonbext.Save(os.Getenv("HEADWATER_TEST_FILE"), gonbext.Show{Kind: "text"})
	},
	"save chosen":     saveChosen,
	"save comparison": saveComparison,
	"save chart":      saveChart,
	"draw":            draw,
	"heads": func() {
		e := gonbext.Heads("the keys", gonbext.Options{MaxTokens: 1}, gonbext.Show{Token: new(0)})
		fmt.Println("heads", len(e.Steps))
	},
	"maps": func() {
		e := gonbext.Maps("the keys", gonbext.Options{MaxTokens: 1, Methods: []string{"raw"}})
		fmt.Println("maps", len(e.Steps))
	},
	"maps of direct": func() {
		gonbext.Maps("the keys", gonbext.Options{Methods: []string{"direct"}})
	},
	"maps by word":  func() { gonbext.Maps("the keys", gonbext.Show{By: "word"}) },
	"heads by word": func() { gonbext.Heads("the keys", gonbext.Show{By: "word"}) },
	"experts": func() {
		e := gonbext.Experts("the keys", gonbext.Options{MaxTokens: 1})
		fmt.Println("experts", len(e.Steps))
	},
	"experts by word": func() { gonbext.Experts("the keys", gonbext.Show{By: "word"}) },
	"flow graph": func() {
		e := gonbext.FlowGraph("the keys", gonbext.Options{MaxTokens: 1})
		fmt.Println("flow", len(e.Steps))
	},
	"flow graph by word": func() { gonbext.FlowGraph("the keys", gonbext.Show{By: "word"}) },
	"patch": func() {
		e := gonbext.Patch("the keys", "the key", gonbext.Options{MaxTokens: 1})
		fmt.Println("patch", patch.Of(e).Runs)
	},
	"patch by word": func() { gonbext.Patch("the keys", "the key", gonbext.Show{By: "word"}) },
	"layers":        func() { gonbext.Layers(layered(), 0) },
	"layers wrong":  func() { gonbext.Layers(sides()) },
	"compare":       func() { gonbext.Compare(sides(), sides(), "rollout", "flow") },
	"compare layers": func() {
		e := sides()
		r := e.Methods["rollout"]
		r.Layers, r.Shape[2], r.Rows = []int{0, 1}, 2, [][]float64{{0.2, 0.8}, {0.3, 0.7}}
		gonbext.Compare(e, e, "rollout@0", "rollout@1")
	},
	"compare wrong": func() { gonbext.Compare(sides(), sides(), "rolout") },
	"sources": func() {
		r := gonbext.Sources("why?", []string{"It rained. It was cold."},
			gonbext.Model{Name: "tiny"}, gonbext.SourceOptions{Answer: "cold", Passes: 8})
		fmt.Println("strongest", r.Methods[0].Ranked()[0], "of", len(r.Sources))
	},
	"sources no text": func() { gonbext.Sources("why?", nil) },
	"sources method":  func() { sourcesWith(gonbext.SourceOptions{Methods: []string{"context-site"}}) },
	"sources palette": func() { sourcesWith(gonbext.SourceOptions{Palette: "red"}) },
	"sources two": func() {
		sourcesWith(gonbext.SourceOptions{}, gonbext.SourceOptions{})
	},
	"sources by words": func() { sourcesWith(gonbext.SourceOptions{By: "word"}) },
	"sources and files": func() {
		gonbext.SaveSources("a.svg", weather())
	},
	"show":      func() { gonbext.Draw(&gonbext.Explanation{Warnings: []string{"shown"}}) },
	"reproduce": func() { gonbext.Reproduce("s0-matrix") },
	"reproduce and wait": func() {
		gonbext.Reproduce("s0-matrix")
		time.Sleep(1500 * time.Millisecond) // longer than the clock of a stage takes
	},
	"chart": func() {
		gonbext.ShowChart(chart.Chart{Kind: chart.Lines, Title: "own", Series: []chart.Series{{
			Name: "a", X: []float64{0, 1, 2}, Y: []float64{0, math.NaN(), 1},
		}}})
	},
	"variable":  func() { fmt.Println("explained", len(variable.Steps)) },
	"bad chart": func() { gonbext.ShowChart(chart.Chart{Kind: "pie"}) },
}

// variable is explained before main, as that of a cell is in all later cells.
var variable = func() *gonbext.Explanation {
	if os.Getenv("HEADWATER_TEST_CELL") != "variable" {
		return nil
	}
	gonbext.Explain("the keys")
	return gonbext.Explain("the keys")
}()

// sourcesWith asks a question with some settings.
func sourcesWith(settings ...gonbext.SourceSetting) {
	gonbext.Sources("why?", []string{"It rained. It was cold."}, settings...)
}

// TestMain makes the test's binary a cell when it is started as one.
func TestMain(m *testing.M) {
	if name := os.Getenv("HEADWATER_TEST_CELL"); name != "" {
		cells[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kernel acts as GoNB for cells, which are children of this process, and as the engine.
type kernel struct {
	t   *testing.T
	dir string
	// answer acts as the engine: it gets every request except those of [engine.KindInfo] and
	// [engine.KindPicture].
	answer func(conn *engineConn, r engine.Request)
	// drawn are what cells said that they drew, in the place of the engine, which answers only the
	// other requests.
	mu    sync.Mutex
	drawn []string
	// shown is called for each display while the cell runs.
	shown func(cell *os.Process, d protocol.DisplayData)
	// started is called beside the cell when it runs.
	started func(cell *os.Process)
}

// result is what a cell printed and displayed.
type result struct {
	stdout, stderr string
	status         int
	displays       []protocol.DisplayData
}

// newKernel makes an engine listen where cells look for it.
func newKernel(t *testing.T, answer func(*engineConn, engine.Request)) *kernel {
	t.Helper()
	dir := testhelp.ShortDir(t)
	t.Setenv("TMPDIR", dir)
	t.Setenv("CI", "")
	t.Setenv("JPY_SESSION_NAME", "")
	k := &kernel{t: t, dir: dir, answer: answer}
	socket, err := engine.SocketFor(os.Getpid())
	must(t, err)
	listener, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go k.serve(&engineConn{conn, gob.NewEncoder(conn)})
		}
	}()
	return k
}

// engineConn is the engine's end of a connection.
type engineConn struct {
	net.Conn
	events *gob.Encoder
}

func (c *engineConn) send(e engine.Event) { _ = c.events.Encode(e) }

func (k *kernel) serve(conn *engineConn) {
	defer conn.Close()
	r, err := engine.ReadRequest(conn)
	if err != nil {
		return
	}
	if r.Kind == engine.KindInfo {
		conn.send(engine.Event{Status: &engine.Status{}, Done: true})
		return
	}
	if r.Kind == engine.KindPicture {
		k.mu.Lock()
		k.drawn = append(k.drawn, sent(k.t, r))
		k.mu.Unlock()
		conn.send(engine.Event{Done: true})
		return
	}
	k.answer(conn, r)
}

// sent describes the picture of a request: the first values of its explanations, and what it shows.
func sent(t *testing.T, r engine.Request) string {
	t.Helper()
	if r.Picture == nil {
		return "the latest"
	}
	p, err := engine.ReadPicture(r.Picture)
	if err != nil {
		t.Error(err)
	}
	said := ""
	for _, e := range []*attribution.Explanation{p.Explanation, p.Against} {
		if e != nil && e.Methods["rollout"] != nil {
			said += fmt.Sprint(e.Methods["rollout"].Rows[0][0], " ")
		}
	}
	return said + string(p.Show) + p.Other
}

// run runs a cell to its end, in a notebook or not.
func (k *kernel) run(name string, notebook bool) result {
	k.t.Helper()
	var r result
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "HEADWATER_TEST_CELL="+name)
	done := make(chan struct{})
	if !notebook {
		close(done)
	} else {
		out, back := k.fifo("out"), k.fifo("back")
		cmd.Env = append(cmd.Env, protocol.GONB_PIPE_ENV+"="+out,
			protocol.GONB_PIPE_BACK_ENV+"="+back)
		started := make(chan *os.Process, 1)
		go func() {
			defer close(done)
			k.displays(out, back, started, &r)
		}()
		if err := cmd.Start(); err != nil {
			k.t.Fatal(err)
		}
		started <- cmd.Process
	}
	if cmd.Process == nil {
		if err := cmd.Start(); err != nil {
			k.t.Fatal(err)
		}
	}
	if k.started != nil {
		go k.started(cmd.Process)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.t.Fatal(err)
	}
	k.unblock("out", "back")
	<-done
	r.stdout, r.stderr, r.status = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	return r
}

func (k *kernel) fifo(name string) string {
	path := filepath.Join(k.dir, name)
	_ = os.Remove(path)
	if err := mkfifo(path); err != nil {
		k.t.Fatal(err)
	}
	return path
}

// unblock opens FIFOs for both directions, which never waits, so that an end that waits for a cell
// goes on.
func (k *kernel) unblock(names ...string) {
	for _, name := range names {
		if f, err := os.OpenFile(filepath.Join(k.dir, name), os.O_RDWR, 0); err == nil {
			defer f.Close()
		}
	}
}

// displays collects what a cell shows, until it closes its pipe, and acknowledges each sync.
func (k *kernel) displays(out, back string, started <-chan *os.Process, r *result) {
	cell := <-started
	from, err := os.Open(out)
	if err != nil {
		k.t.Error(err)
		return
	}
	defer from.Close()
	to, err := os.OpenFile(back, os.O_WRONLY, 0)
	if err != nil {
		k.t.Error(err)
		return
	}
	defer to.Close()
	decoder, encoder := gob.NewDecoder(from), gob.NewEncoder(to)
	for {
		var d protocol.DisplayData
		if err := decoder.Decode(&d); err != nil {
			if !errors.Is(err, io.EOF) {
				k.t.Error("display:", err)
			}
			return
		}
		if v, ok := d.Data[protocol.MIMECommValue].(protocol.CommValue); ok {
			ack := protocol.CommValue{Address: protocol.GonbuiSyncAckAddress, Value: v.Value}
			_ = encoder.Encode(&ack)
			continue
		}
		r.displays = append(r.displays, d)
		if k.shown != nil {
			k.shown(cell, d)
		}
	}
}

// saved returns what a notebook saves of the displays: the last one of each id, in the order of the
// first ones.
func saved(displays []protocol.DisplayData) []map[protocol.MIMEType]any {
	var ids []string
	last := map[string]map[protocol.MIMEType]any{}
	for _, d := range displays {
		if _, ok := last[d.DisplayID]; !ok {
			ids = append(ids, d.DisplayID)
		}
		last[d.DisplayID] = d.Data
	}
	var all []map[protocol.MIMEType]any
	for _, id := range ids {
		all = append(all, last[id])
	}
	return all
}

// begin sends an explanation of two prompt tokens, without rows.
func begin(conn *engineConn) {
	conn.send(engine.Event{Explanation: &attribution.Explanation{
		Model: trace.Info{Name: "tiny", Note: "toy grammar model", Layers: 1},
		Prompt: attribution.Prompt{
			Text: "the keys", Texts: []string{"the", " keys"}, IDs: []int{1, 2},
			Special: []bool{false, false}, Offsets: [][2]int{{0, 3}, {3, 8}},
		},
		Order: []string{"rollout"},
		Methods: map[string]*attribution.Result{
			"rollout": {Layers: []int{0}, Shape: [3]int{0, 2, 1}, Unit: "share of attention", Facts: attribution.Facts{Quantity: attribution.Share}},
		},
	}})
}

// step sends one more token.
func step(conn *engineConn, text string) { row(conn, text, 0.125, 0.25) }

// row sends one more token and its values. What is missing to 1 belongs to generated tokens.
func row(conn *engineConn, text string, values ...float64) {
	other := 1.0
	for _, x := range values {
		other -= x
	}
	conn.send(engine.Event{Step: true, Explanation: &attribution.Explanation{
		Steps:   []attribution.GeneratedToken{{ID: 3, Text: text, Probability: 0.5}},
		Methods: map[string]*attribution.Result{"rollout": {Shape: [3]int{1}, Rows: [][]float64{values}, OtherMass: []float64{other}}},
	}})
}

func failure(message string) engine.Event {
	return engine.Event{Failure: &engine.Error{Message: message}}
}

func TestExplainInNotebook(t *testing.T) {
	requests := make(chan engine.Request, 1)
	tokens := []string{" are", " here", " ."}
	next := make(chan struct{}, 10)
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		requests <- r
		progress := trace.Progress{Stage: "preparing prompt rows", Unit: "layer", Done: 1, Total: 6}
		conn.send(engine.Event{Progress: &progress})
		<-next // it is on the screen
		begin(conn)
		for i, text := range tokens {
			step(conn, text)
			if i == 0 {
				<-next // the first token is on the screen before the second one is made
			}
		}
		conn.send(engine.Event{Done: true})
	})
	k.shown = func(*os.Process, protocol.DisplayData) { next <- struct{}{} }
	r := k.run("explain", true)
	if r.status != 0 || r.stdout != "explained 3\n" || r.stderr != "" {
		t.Fatalf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	if got := <-requests; got.Model.Name != "tiny" || string(got.Text) != "the keys" ||
		!strings.Contains(string(got.Options), `"max_tokens":3`) {
		t.Errorf("request %+v", got)
	}
	if len(r.displays) < 3 ||
		!strings.Contains(fmt.Sprint(r.displays[0].Data), "preparing prompt rows, layer 1 of 6") {
		t.Fatalf("%d displays, the first: %v; want progress, a token, the result", len(r.displays),
			r.displays[:1])
	}
	if first := fmt.Sprint(r.displays[1].Data); !strings.Contains(first, ">are<") ||
		strings.Contains(first, ">here<") {
		t.Errorf("the second display is not the first token alone:\n%s", first)
	}
	left := saved(r.displays)
	if len(left) != 1 {
		t.Fatalf("a notebook saves %d displays, want 1", len(left))
	}
	for mime, want := range map[protocol.MIMEType]string{protocol.MIMETextHTML: ">here<", protocol.MIMETextPlain: "2  here  50.0 %"} {
		if s, _ := left[0][mime].(string); !strings.Contains(s, want) ||
			strings.Contains(s, "generating") || strings.Contains(s, "preparing") {
			t.Errorf("saved %s lacks %q or keeps progress:\n%s", mime, want, s)
		}
	}
}

// A picture that is drawn before main runs, as that of a variable at the top level is in every
// later cell, says so once, and only in a notebook.
func TestVariableAtTop(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		begin(conn)
		step(conn, " are")
		conn.send(engine.Event{Done: true})
	})
	r := k.run("variable", true)
	line, rest, _ := strings.Cut(r.stdout, "\n")
	if !strings.HasPrefix(line, "Every later cell draws this picture again") ||
		rest != "explained 1\n" || len(saved(r.displays)) != 2 {
		t.Errorf("%d displays and %q; want two pictures, one line and what main prints",
			len(saved(r.displays)), r.stdout)
	}
	if r := k.run("variable", false); strings.Contains(r.stdout, "later cell") {
		t.Errorf("a program without cells prints %q", r.stdout)
	}
	if r := k.run("explain", true); strings.Contains(r.stdout, "later cell") {
		t.Errorf("a picture of main prints %q", r.stdout)
	}
}

// TestSameOutputs runs a cell twice: what a notebook saves must not depend on time or chance.
func TestSameOutputs(t *testing.T) {
	k := newKernel(t, func(conn *engineConn, _ engine.Request) {
		begin(conn)
		step(conn, " are")
		conn.send(engine.Event{Done: true})
	})
	a, b := saved(k.run("explain", true).displays), saved(k.run("explain", true).displays)
	if len(a) != 1 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("saved outputs differ:\n%v\n%v", a, b)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, cell string
		events     []engine.Event
		stdout     string
		saved      []string
		status     int
	}{
		{
			"explain", "explain",
			[]engine.Event{{Progress: &trace.Progress{Stage: "x"}}, failure("no <b>model</b>\nits log")},
			"",
			[]string{`gonbext: no &lt;b&gt;model&lt;/b&gt;</div><pre>its log</pre>`},
			1,
		},
		{
			"a method of the cell's own", "own method",
			[]engine.Event{{Failure: &engine.Error{
				Message: "unknown mixing \"mine\"", Usage: true,
				Wrong: &trace.UsageError{Unknown: true, Reason: "unknown mixing \"mine\""},
			}}},
			"",
			[]string{"this program knows it and the engine does not, so import gonbext/local"},
			0,
		},
		{
			"another error about it", "own method",
			[]engine.Event{{Failure: &engine.Error{Message: "the prompt is empty", Usage: true}}},
			"",
			[]string{"the prompt is empty</div>"},
			0,
		},
		{"two options", "two options", nil, "", []string{"gonbext: two values of Options are given; put all of its fields into one"}, 0},
		{"unknown tap", "unknown tap", nil, "", []string{"unknown tap &#34;nonsense&#34;; known are scores, terms"}, 0},
		{"nothing to return to", "last", []engine.Event{{Failure: &engine.Error{Message: "there is no explanation yet", Usage: true}}}, "", []string{"there is no explanation yet</div>"}, 0},
		{
			"try", "try nothing",
			[]engine.Event{{Progress: &trace.Progress{Stage: "x"}}, failure("no model")},
			"<nil>, error gonbext: no model\n",
			[]string{"map[text/html:]"},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKernel(t, func(conn *engineConn, _ engine.Request) {
				for _, ev := range c.events {
					conn.send(ev)
				}
			})
			r := k.run(c.cell, true)
			left := saved(r.displays)
			if r.status != c.status || r.stdout != c.stdout || r.stderr != "" ||
				len(left) != len(c.saved) {
				t.Fatalf("status %d, stdout %q, stderr %q, saved %v", r.status, r.stdout, r.stderr,
					left)
			}
			for i, want := range c.saved {
				if got := fmt.Sprint(left[i]); !strings.Contains(got, want) {
					t.Errorf("saved %q, want %q", got, want)
				}
			}
		})
	}
}

// A cell whose chat template asks for the date is asked again with that of today.
func TestConversationWithDate(t *testing.T) {
	var asked []string
	k := newKernel(t, func(conn *engineConn, r engine.Request) {
		var o attribution.Options
		if err := json.Unmarshal(r.Options, &o); err != nil {
			t.Error(err)
		}
		if asked = append(asked, o.Conversation.Date); o.Conversation.Date == "" {
			conn.send(engine.Event{Failure: &engine.Error{
				Message: "which date?", Reason: errorkind.Date,
			}})
			return
		}
		if o.Conversation.System != "be kind" || o.Conversation.Messages[0].Content != "hi" {
			t.Errorf("conversation %+v", o.Conversation)
		}
		begin(conn)
		step(conn, "a")
		conn.send(engine.Event{Done: true})
	})
	got := k.run("conversation", false)
	if today := time.Now().Format(time.DateOnly); len(asked) != 2 || asked[1] != today ||
		!strings.HasSuffix(got.stdout, "steps 1, error <nil>\n") {
		t.Errorf("asked with the dates %q: %s%s", asked, got.stdout, got.stderr)
	}
}
