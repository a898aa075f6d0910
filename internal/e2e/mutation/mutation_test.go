package mutation

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headwater-ml/headwater/internal/e2e/command"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

// fewest is how many mutants of a kind say something about the kind as a whole.
const fewest = 100

// TestMutations runs 2,000 mutants, about a minute on two cores, or as many as
// HEADWATER_MUTATIONS says, from the seed HEADWATER_MUTATION_SEED, or the single one that
// HEADWATER_MUTANT names. make fuzz runs many more.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the command hundreds of times")
	}
	count := variable(t, "HEADWATER_MUTATIONS", 2000)
	seed := variable(t, "HEADWATER_MUTATION_SEED", 1)
	binary := command.Path(t)
	seeds, err := ReadSeeds("../../..")
	must(t, err)
	must(t, seeds.ReadFlags(t.Context(), binary))
	if text := os.Getenv("HEADWATER_MUTANT"); text != "" {
		n := variable(t, "HEADWATER_MUTANT", 0)
		m := Make(seed, n, seeds)
		o := run(t, binary, seed, n, m)
		t.Logf("%s: headwater %.400q\nstatus %d, %d MB, %v\n%.4000s", m.Kind, m.Args, o.Status,
			o.Resident/1e6, o.Processor, o.Stderr)
		return
	}
	var next atomic.Uint64
	var mu sync.Mutex
	statuses := map[string]*[3]int{} // by kind
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for n := next.Add(1) - 1; n < count && t.Context().Err() == nil; n = next.Add(1) - 1 {
				m := Make(seed, n, seeds)
				o := run(t, binary, seed, n, m)
				if o == nil || o.Status < 0 || o.Status > 2 {
					continue
				}
				mu.Lock()
				if statuses[m.Kind] == nil {
					statuses[m.Kind] = new([3]int)
				}
				statuses[m.Kind][o.Status]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	for _, kind := range kinds {
		s := statuses[kind.name]
		if s == nil {
			continue
		}
		t.Logf("%-10s %6d succeeded, %6d errors, %6d wrong usage", kind.name, s[0], s[1], s[2])
		// Damage that is always refused at the door, or never noticed, tests nothing.
		if total := s[0] + s[1] + s[2]; total >= fewest && (s[0] == 0 || s[0] == total) {
			t.Errorf("%s: %d of %d mutants succeeded", kind.name, s[0], total)
		}
	}
}

// run runs a mutant and reports its faults.
func run(t *testing.T, binary string, seed, n uint64, m Mutant) *Outcome {
	o, err := Run(t.Context(), binary, filepath.Join(t.TempDir(), fmt.Sprint(n)), m)
	if err != nil {
		t.Errorf("mutant %d of seed %d (%s): %v", n, seed, m.Kind, err)
		return nil
	}
	if len(o.Faults) > 0 {
		t.Errorf("mutant %d of seed %d (%s): %s\nheadwater %.300q\n%.1000s", n, seed, m.Kind,
			strings.Join(o.Faults, "; "), m.Args, o.Stderr)
	}
	return o
}

// variable returns a number of the environment.
func variable(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is no whole number from 0", name, text)
	}
	return n
}

// TestMutantsRepeat makes mutants twice: a number must always stand for the same mutant.
func TestMutantsRepeat(t *testing.T) {
	seeds, err := ReadSeeds("../../..")
	must(t, err)
	for n := range uint64(200) {
		a, b := Make(5, n, seeds), Make(5, n, seeds)
		if a.Kind != b.Kind || fmt.Sprint(a.Args) != fmt.Sprint(b.Args) ||
			!bytes.Equal(a.Stdin, b.Stdin) {
			t.Fatalf("mutant %d is not the same twice: %q and %q", n, a.Args, b.Args)
		}
		for name, text := range a.Files {
			if !bytes.Equal(text, b.Files[name]) {
				t.Fatalf("mutant %d: file %s is not the same twice", n, name)
			}
		}
	}
}

// TestFaultsAreSeen gives the checks a program that does what is forbidden.
func TestFaultsAreSeen(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to write such a program in")
	}
	for name, c := range map[string]struct{ script, fault string }{
		"panic":        {"echo 'panic: x' >&2; exit 2", "crashed"},
		"signal":       {"kill -9 $$", "crashed"},
		"go terms":     {"echo 'headwater: in.json: json: cannot unmarshal' >&2; exit 1", "term of Go"},
		"several":      {"echo 'headwater: in.json: a'; echo more >&2; exit 1", "does not begin"},
		"names no key": {"echo 'headwater: bad' >&2; exit 1", "names none of"},
		"leftover":     {"touch .x.tmp; exit 0", "left the file"},
		"removed":      {"rm in.json; exit 0", "removed the file"},
		"no output":    {"exit 0", "without writing"},
		"terminal":     {"printf 'headwater: in.json \\033[31m' >&2; exit 1", "control a terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			m := Mutant{
				Args: []string{"-c", c.script}, Files: map[string][]byte{"in.json": []byte("{}")},
				Output: "out", Names: [][]string{{"in.json"}},
			}
			o, err := Run(t.Context(), "sh", filepath.Join(t.TempDir(), "x"), m)
			must(t, err)
			if !strings.Contains(strings.Join(o.Faults, "; "), c.fault) {
				t.Errorf("faults %q, want one with %q", o.Faults, c.fault)
			}
		})
	}
}
