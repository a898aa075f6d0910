//go:build cgo && linux && amd64

package xla

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// TestFewArenas counts the arenas of the C library beside the main one. There are more arenas than
// processors only if threads took memory before the number of arenas was limited.
func TestFewArenas(t *testing.T) {
	if runtime.NumCPU() > 4 {
		t.Skip("with more than 4 processors the number of arenas is not limited")
	}
	for _, v := range os.Environ() { // any of them leaves all to the user
		if strings.HasPrefix(v, "GLIBC_TUNABLES=") || strings.HasPrefix(v, "MALLOC_") {
			t.Skipf("%s is set", v)
		}
	}
	maps, err := os.Open("/proc/self/maps")
	must(t, err)
	defer maps.Close()
	// An arena is a range of 64 MB, of which a first part can be read and written and the rest
	// cannot: two lines. Go's own memory may look the same.
	const arena = 64 << 20
	own := uint64(reflect.ValueOf(new([1 << 16]byte)).Pointer())
	var before memoryRange
	var arenas []uint64
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		now, ok := parseRange(lines.Text())
		if !ok {
			t.Fatalf("%q is not a range of memory", lines.Text())
		}
		if before.from%arena == 0 && before.to == now.from && now.to-before.from == arena &&
			strings.HasPrefix(before.access, "rw") && strings.HasPrefix(now.access, "---") &&
			(own < before.from || own >= now.to) {
			arenas = append(arenas, before.from)
		}
		before = now
	}
	must(t, lines.Err())
	if most := runtime.NumCPU() - 1; len(arenas) > most {
		t.Errorf("there are arenas at %x beside the main one, want at most %d", arenas, most)
	}
}

// memoryRange is a line of /proc/self/maps.
type memoryRange struct {
	from, to uint64
	access   string
}

func parseRange(line string) (r memoryRange, ok bool) {
	n, _ := fmt.Sscanf(line, "%x-%x %s", &r.from, &r.to, &r.access)
	return r, n == 3
}
