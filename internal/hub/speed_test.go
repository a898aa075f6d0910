package hub

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// dripping makes the storage send n bytes of the weights at a time, each after a pause. If most is
// positive, it hangs up after that many pieces.
func dripping(content string, n int, pause time.Duration, most int) func(http.ResponseWriter,
	*http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/storage/") {
			return false
		}
		from := 0
		_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)-from))
		if from > 0 {
			w.Header().Set("Content-Range",
				fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		for i := from; i < len(content) && (most == 0 || i < from+most); i += n {
			if _, err := w.Write([]byte(content[i:min(i+n, len(content))])); err != nil {
				return true
			}
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			select {
			case <-r.Context().Done():
				return true
			case <-time.After(pause):
			}
		}
		return true
	}
}

// briefly makes the client look at the speed every 200 ms.
func briefly(c *client) { c.window = 200 * time.Millisecond }

// TestSlowServer: a download below the lowest speed ends with an error that tells what to do, and
// the next call continues where it stopped.
func TestSlowServer(t *testing.T) {
	h := newHub(t, model())
	content := h.commits[commitA]["model.safetensors"]
	h.intercept = dripping(content, 10, 10*time.Millisecond, 0) // about 1000 bytes a second
	opts := h.options(t)
	opts.MinSpeed = 50_000
	began := time.Now()
	_, err := resolve(t.Context(), "org/name", opts, briefly)
	if err == nil {
		t.Fatal("a model came")
	}
	for _, want := range []string{
		"hub: org/name model.safetensors: 127.0.0.1:", " is too slow: ",
		" bytes a second came in the last ",
		"the limit is 50000: ",
		fmt.Sprintf(" of %d bytes are kept; try again later to continue from there", len(content)),
		"set HEADWATER_MIN_SPEED",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	parts, _ := filepath.Glob(filepath.Join(opts.Cache, "models--org--name", "blobs",
		"*.incomplete"))
	if len(parts) != 1 {
		t.Fatalf("parts %v, want one", parts)
	}
	kept, err := os.Stat(parts[0])
	if err != nil || kept.Size() == 0 {
		t.Fatalf("nothing is kept: %v", err)
	}
	h.intercept = nil
	h.requests()
	dir, err := resolve(t.Context(), "org/name", opts, briefly)
	if err != nil || contents(t, dir)["model.safetensors"] != content {
		t.Errorf("the next call: %v", err)
	}
	if want := fmt.Sprintf("bytes=%d-", kept.Size()); !slices.ContainsFunc(h.requests(),
		func(s string) bool {
			return strings.HasSuffix(s, want)
		}) {
		t.Errorf("the next call did not ask for %s", want)
	}
}

// TestSlowIsAllowed: the limit can be lowered or switched off, and a download at the lowest speed
// is fast enough.
func TestSlowIsAllowed(t *testing.T) {
	for name, speed := range map[string]int64{"no limit": -1, "lower": 10} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, model())
			weights := strings.Repeat("w", 500)
			h.commits[commitA]["model.safetensors"] = weights
			h.intercept = dripping(weights, 10, 10*time.Millisecond, 0)
			opts := h.options(t)
			opts.MinSpeed = speed
			if _, err := resolve(t.Context(), "org/name", opts, briefly); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHangingUp: a server that sends a little and hangs up is not asked forever.
func TestHangingUp(t *testing.T) {
	h := newHub(t, model())
	h.intercept = dripping(h.commits[commitA]["model.safetensors"], 1, 0, 1)
	slowly := func(c *client) { c.wait = func(int) time.Duration { return 20 * time.Millisecond } }
	if _, err := resolve(t.Context(), "org/name", h.options(t), slowly); err == nil {
		t.Error("a model came")
	}
	n := 0
	for _, request := range h.requests() {
		if strings.HasPrefix(request, "GET /storage/") {
			n++
		}
	}
	if n > 2*maxAttempts {
		t.Errorf("the file was asked for %d times, want at most %d", n, 2*maxAttempts)
	}
}

// TestDrippingListing: the whole list of files has to come within a fixed time.
func TestDrippingListing(t *testing.T) {
	h := newHub(t, model())
	h.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		for range 1000 {
			if _, err := w.Write([]byte(" ")); err != nil {
				return true
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return true
			case <-time.After(10 * time.Millisecond):
			}
		}
		return true
	}
	opts := h.options(t)
	opts.Patience = 200 * time.Millisecond // a busy machine may pause for longer than 50 ms
	_, err := resolve(t.Context(), "org/name", opts)
	if want := "the whole answer takes longer than 2.2s: check the network"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if n := len(h.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestSilentHandshake connects to a server that never begins the TLS handshake.
func TestSilentHandshake(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close() // nothing accepts: the system completes the connection by itself
	before := runtime.NumGoroutine()
	began := time.Now()
	_, err = resolve(t.Context(), "org/name", Options{
		Cache: t.TempDir(), Endpoint: "https://" + listener.Addr().String(),
		Patience: 100 * time.Millisecond,
	})
	if err == nil || !strings.Contains(err.Error(), "check the network") ||
		time.Since(began) > 5*time.Second {
		t.Errorf("error %v after %v", err, time.Since(began))
	}
	deadline := time.Now().Add(5 * time.Second)
	for ; runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestBombs: answers that would need much more memory than they have bytes.
func TestBombs(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 24 { // 96 MB in 96 kB
		if _, err := z.Write(make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, z.Close())
	empty := `{"sha":"` + commitA + `","siblings":[` + strings.Repeat(`{},`, 1<<20) + `{}]}` // 3 MB
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"gzip": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, "does not answer as a Hub does: invalid character"},
		"files without names": {func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(empty))
		}, `a file named "", which would be outside the cache`},
		"depth": {func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(strings.Repeat("[", 1<<20)))
		}, "does not answer as a Hub does: invalid character '[' exceeded max depth"},
		"another form": {func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"sha":1}`))
		}, `does not answer as a Hub does: "sha" is a number, want a string`},
		"headers": {func(w http.ResponseWriter) {
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 8<<10))
			}
		}, "fails: what answers there breaks off or does not speak HTTP as a Hub does"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, model())
			h.intercept = func(w http.ResponseWriter, _ *http.Request) bool {
				c.answer(w)
				return true
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := resolve(t.Context(), "org/name", h.options(t))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "Go struct") {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 48<<20 {
				t.Errorf("it took %d MB", took>>20)
			}
		})
	}
}

// TestDownloadThatHangsElsewhere: another program holds the lock and does nothing.
func TestDownloadThatHangsElsewhere(t *testing.T) {
	h := newHub(t, model())
	opts := h.options(t)
	locks := filepath.Join(opts.Cache, ".locks", "models--org--name")
	must(t, os.MkdirAll(locks, 0o700))
	etag := h.etag("config.json", h.commits[commitA]["config.json"])
	lock := flock.New(filepath.Join(locks, etag+".lock"))
	if locked, err := lock.TryLock(); err != nil || !locked {
		t.Fatal(err)
	}
	defer lock.Close()
	short := func(c *client) { c.lockPatience = 200 * time.Millisecond }
	_, err := resolve(t.Context(), "org/name", opts, short)
	want := "hub: org/name: another program holds config.json and has downloaded nothing for " +
		"200ms: end it, and try again"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	p := pace{least: 100, window: 10 * time.Second, since: start}
	for _, c := range []struct {
		n     int
		at    float64
		wrong bool
	}{
		{0, 9.9, false},        // the window is not over
		{1000, 10, false},      // just enough
		{0, 15, false},         // a pause within the next window
		{2000, 19, false},      // made up for
		{0, 20, false},         // and looked at
		{999, 30, true},        // one byte too few
		{1_000_000, 31, false}, // a download that continues has a new average
	} {
		if err := p.add(c.n, at(c.at)); (err != nil) != c.wrong {
			t.Errorf("%d bytes at %v s: error %v, want one: %v", c.n, c.at, err, c.wrong)
		}
	}
	free := pace{least: -1, window: time.Second, since: start}
	if err := free.add(0, at(1e6)); err != nil {
		t.Errorf("no limit: %v", err)
	}
}
