package models

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// maxCompileTimes is how many times a file keeps, the latest ones.
const maxCompileTimes = 1000

// compileTimes are how long graphs took to compile, by graph. They are kept in a file, so that a
// later program can say what to expect; no result depends on them. It is safe for concurrent use,
// and nil knows nothing and learns nothing.
type compileTimes struct {
	path string

	mu    sync.Mutex
	times []compileTime // the latest one last
}

// compileTime is how long one graph took.
type compileTime struct {
	Graph   string  `json:"graph"` // a short form of its key
	Seconds float64 `json:"seconds"`
}

// openCompileTimes reads the file at a path. A file that is missing or cannot be read is empty: it
// only serves messages.
func openCompileTimes(path string) *compileTimes {
	t := &compileTimes{path: path}
	t.times = readCompileTimes(path)
	return t
}

// userCompileTimes has the file in the user's cache; nil if the user has none.
var userCompileTimes = sync.OnceValue(func() *compileTimes {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return openCompileTimes(filepath.Join(cache, "headwater", "compile-times.json"))
})

// readCompileTimes returns what a file has, and nothing if it is not such a file.
func readCompileTimes(path string) []compileTime {
	data, err := atomicfile.ReadRegular(path, 1<<20)
	if err != nil {
		return nil
	}
	var times []compileTime
	if json.Unmarshal(data, &times) != nil {
		return nil
	}
	return times
}

// Took returns how long the graph with that key took the last time.
func (t *compileTimes) Took(key string) (took time.Duration, known bool) {
	if t == nil {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name := shortKey(key)
	for _, c := range t.times {
		if c.Graph == name {
			return time.Duration(c.Seconds * float64(time.Second)), true
		}
	}
	return 0, false
}

// Add keeps how long a graph took. It does nothing if the file cannot be written.
func (t *compileTimes) Add(key string, took time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Another program may have written in the meantime.
	if now := readCompileTimes(t.path); now != nil {
		t.times = now
	}
	name := shortKey(key)
	t.times = slices.DeleteFunc(t.times, func(c compileTime) bool { return c.Graph == name })
	t.times = append(t.times, compileTime{name, took.Seconds()})
	t.times = t.times[max(0, len(t.times)-maxCompileTimes):]
	data, err := json.Marshal(t.times)
	if err != nil || os.MkdirAll(filepath.Dir(t.path), 0o700) != nil {
		return
	}
	_ = atomicfile.Write(t.path, data) // the times are only shown
}

// shortKey returns a short form of the key of a graph.
func shortKey(key string) string {
	h := fnv.New64a()
	h.Write([]byte(key))
	return fmt.Sprintf("%016x", h.Sum64())
}
