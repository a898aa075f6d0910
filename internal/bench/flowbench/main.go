// Command flowbench is our side of internal/bench/flowbench/bench.py: a process that computes
// attention flow on one core and prints how long it took.
//
//	flowbench -write DIR   writes DIR/maps.json and every map as DIR/NAME.f64, [L,T,T] in
//	                       little-endian float64
//	flowbench              answers requests, one JSON object a line, until the input ends
//
// A request names a map and a task:
//
//	row     the flow from the last token after the last layer to every token
//	levels  the same after every layer
//	extend  one more token in the network, the mean of the last few
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/headwater-ml/headwater/internal/bench/flowmaps"
	"github.com/headwater-ml/headwater/internal/bench/meter"
	"github.com/headwater-ml/headwater/internal/maxflow"
)

type request struct {
	Task, Map string
	// Repeat is how often the task runs.
	Repeat int
}

type reply struct {
	// MS is the processor time of one task in milliseconds, the mean of the repetitions. Other
	// programs do not count.
	MS float64 `json:"ms"`
	// Flows are the last row, [T]; of row and levels.
	Flows []float64 `json:"flows,omitempty"`
	Error string    `json:"error,omitempty"`
}

func main() {
	write := flag.String("write", "", "write the maps into this `folder`")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	maps, err := benchMaps(context.Background())
	if err == nil && *write != "" {
		err = writeMaps(*write, maps)
	} else if err == nil {
		err = serve(context.Background(), maps, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "flowbench:", err)
		os.Exit(1)
	}
}

// benchMaps returns the maps that are measured, causal ones: five kinds and the embedded model's
// own.
func benchMaps(ctx context.Context) ([]flowmaps.Maps, error) {
	var all []flowmaps.Maps
	for _, T := range []int{64, 128, 256} {
		for _, kind := range []string{"gamma0.1", "gamma0.4", "gamma2.0", "previous", "sink90"} {
			m := flowmaps.New(kind, 12, T, false, uint64(T))
			m.Name = fmt.Sprintf("%s-%d", kind, T)
			all = append(all, m)
		}
		own, err := embedded(ctx, T)
		if err != nil {
			return nil, err
		}
		all = append(all, own)
	}
	return all, nil
}

// writeMaps writes all maps and what there is.
func writeMaps(folder string, maps []flowmaps.Maps) error {
	type entry struct {
		Name string `json:"name"`
		L    int    `json:"l"`
		T    int    `json:"t"`
	}
	var list []entry
	for _, m := range maps {
		list = append(list, entry{m.Name, m.L, m.T})
		var buf bytes.Buffer
		if err := binary.Write(&buf, binary.LittleEndian, m.Data); err != nil {
			return err
		}
		path := filepath.Join(folder, m.Name+".f64")
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			return err
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "maps.json"), text, 0o644)
}

// serve answers requests until the input ends.
func serve(ctx context.Context, maps []flowmaps.Maps, in io.Reader, out io.Writer) error {
	graphs := map[string]*maxflow.Graph{}
	byName := map[string]flowmaps.Maps{}
	for _, m := range maps {
		byName[m.Name] = m
		graphs[m.Name] = graphOf(m, m.T)
	}
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		m, ok := byName[r.Map]
		if !ok || r.Repeat < 1 {
			return fmt.Errorf("request: map %q, %d times", r.Map, r.Repeat)
		}
		answer, err := measure(ctx, graphs[r.Map], m, r)
		if err != nil {
			answer = reply{Error: err.Error()}
		}
		if err := replies.Encode(answer); err != nil {
			return err
		}
	}
}

// graphOf returns the network of the first T tokens.
func graphOf(m flowmaps.Maps, T int) *maxflow.Graph {
	g := maxflow.New(m.L, m.Prefix)
	g.Extend(rowsOf(m, 0, T), T)
	return g
}

// rowsOf returns rows first..end-1 over the tokens before end, [L,N,end].
func rowsOf(m flowmaps.Maps, first, end int) []float64 {
	var rows []float64
	for l := range m.L {
		for i := first; i < end; i++ {
			rows = append(rows, m.Data[(l*m.T+i)*m.T:][:end]...)
		}
	}
	return rows
}

// growth is how many tokens are added to a network, one after another, to say what one costs.
const growth = 16

// measure runs one task.
func measure(
	ctx context.Context, g *maxflow.Graph, m flowmaps.Maps, r request,
) (answer reply, err error) {
	spent := 0.0
	for range r.Repeat {
		processor := meter.Processor()
		switch r.Task {
		case "row":
			answer.Flows, err = g.Row(ctx, answer.Flows[:0], m.L-1, m.T-1, nil)
		case "levels":
			answer.Flows, err = g.Levels(ctx, answer.Flows[:0], m.T-1)
		case "extend":
			spent += grow(m) / growth
			continue
		default:
			err = fmt.Errorf("task %q", r.Task)
		}
		if err != nil {
			return answer, err
		}
		spent += processor().Seconds()
	}
	answer.MS = 1e3 * spent / float64(r.Repeat)
	if n := len(answer.Flows); n > m.T {
		answer.Flows = answer.Flows[n-m.T:]
	}
	return answer, nil
}

// grow adds the last tokens one by one and returns how long that took, in seconds.
func grow(m flowmaps.Maps) float64 {
	g := graphOf(m, m.T-growth)
	var rows [growth][]float64
	for n := range rows {
		rows[n] = rowsOf(m, m.T-growth+n, m.T-growth+n+1)
	}
	runtime.GC() // what building left behind is not of these tokens
	processor := meter.Processor()
	for _, row := range rows {
		g.Extend(row, 1)
	}
	return processor().Seconds()
}
