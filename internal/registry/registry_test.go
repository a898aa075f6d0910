package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headwater-ml/headwater/internal/registry"
)

type plugin interface{ Name() string }

type named string

func (n *named) Name() string { return string(*n) }

// three returns a registry with three plugins, which were not registered in order.
func three() *registry.Registry[plugin] {
	r := &registry.Registry[plugin]{Kind: "method"}
	for _, name := range []string{"rollout", "flow", "value-zeroing"} {
		n := named(name)
		r.Register(name, &n)
	}
	return r
}

func TestLookup(t *testing.T) {
	r := three()
	for _, name := range []string{"flow", "rollout", "value-zeroing"} {
		p, err := r.Lookup(name)
		if err != nil || p.Name() != name {
			t.Errorf("Lookup(%q) = %v, error %v", name, p, err)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	for _, c := range []struct{ reason, name, want string }{
		{
			"one letter is missing", "rolout",
			`unknown method "rolout"; did you mean rollout? known are flow, rollout, value-zeroing`,
		},
		{"nothing is near", "x", `unknown method "x"; known are flow, rollout, value-zeroing`},
		{"empty", "", `unknown method ""; known are flow, rollout, value-zeroing`},
		{
			"case counts", "Flow",
			`unknown method "Flow"; did you mean flow? known are flow, rollout, value-zeroing`,
		},
		{"control characters are quoted", "a\x00\n", `unknown method "a\x00\n"; known`},
		{
			"long names are cut", strings.Repeat("y", 1000),
			`"` + strings.Repeat("y", 60) + `"…; known`,
		},
	} {
		p, err := three().Lookup(c.name)
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Lookup(%.20q) = %v, error %v, want %q", c.reason, c.name, p, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	r := three()
	want := []string{"flow", "rollout", "value-zeroing"}
	names := r.Names()
	if !slices.Equal(names, want) {
		t.Errorf("Names() = %q, want %q", names, want)
	}
	names[0] = "changed by the caller"
	if names := r.Names(); !slices.Equal(names, want) {
		t.Errorf("Names() = %q after its result was changed, want %q", names, want)
	}
	if names := new(registry.Registry[int]).Names(); len(names) != 0 {
		t.Errorf("Names() of an empty registry = %q", names)
	}
}

// panics returns what a call panics with; the empty text if it returns.
func panics(call func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	call()
	return ""
}

func TestRegisterPanics(t *testing.T) {
	n := named("n")
	var nilPointer *named
	for _, c := range []struct {
		name   string
		plugin plugin
		want   string
	}{
		{"flow", &n, `method "flow" is registered already`},
		{"new", nil, `method "new" is nil`},
		{"new", nilPointer, `method "new" is nil`},
		{"", &n, `method name "" is not lower-case words joined by hyphens`},
		{"Flow", &n, `method name "Flow" is not`},
		{"my flow", &n, `method name "my flow" is not`},
		{"my_flow", &n, `method name "my_flow" is not`},
		{"-flow", &n, `method name "-flow" is not`},
		{"flow-", &n, `method name "flow-" is not`},
		{"my--flow", &n, `method name "my--flow" is not`},
		{"flöw", &n, `method name "flöw" is not`},
	} {
		r := three()
		got := panics(func() { r.Register(c.name, c.plugin) })
		if !strings.Contains(got, c.want) {
			t.Errorf("Register(%q, %v) panics with %q, want %q", c.name, c.plugin, got, c.want)
		}
		if len(r.Names()) != 3 {
			t.Errorf("Register(%q, %v) panicked and left %q", c.name, c.plugin, r.Names())
		}
	}
}

// TestNilKinds: a nil of every kind that can be nil is refused, and other zero values are not.
func TestNilKinds(t *testing.T) {
	refuses := func(name string, register func()) {
		t.Helper()
		if got := panics(register); !strings.Contains(got, "is nil") {
			t.Errorf("a nil %s: panic %q", name, got)
		}
	}
	refuses("func", func() { new(registry.Registry[func()]).Register("a", nil) })
	refuses("map", func() { new(registry.Registry[map[int]int]).Register("a", nil) })
	refuses("slice", func() { new(registry.Registry[[]int]).Register("a", nil) })
	refuses("channel", func() { new(registry.Registry[chan int]).Register("a", nil) })
	if got := panics(func() { new(registry.Registry[int]).Register("a", 0) }); got != "" {
		t.Errorf("the number 0 is refused: %s", got)
	}
}

func TestUnderscores(t *testing.T) {
	r := registry.Registry[int]{Kind: "family", Underscores: true}
	r.Register("gpt_neox", 1)
	if n, err := r.Lookup("gpt_neox"); n != 1 || err != nil {
		t.Errorf("Lookup = %d, error %v", n, err)
	}
	if got := panics(func() { r.Register("gpt-neox", 2) }); !strings.Contains(got, "underscores") {
		t.Errorf("a name with a hyphen: panic %q", got)
	}
}

func TestRemove(t *testing.T) {
	r := three()
	r.Remove("flow")
	r.Remove("never registered")
	if want := []string{"rollout", "value-zeroing"}; !slices.Equal(r.Names(), want) {
		t.Errorf("Names() after Remove = %q, want %q", r.Names(), want)
	}
	n := named("flow")
	r.Register("flow", &n)
	if _, err := r.Lookup("flow"); err != nil {
		t.Errorf("a removed name cannot be registered again: %v", err)
	}
}

// TestConcurrent is for the race detector, too.
func TestConcurrent(t *testing.T) {
	r := registry.Registry[int]{Kind: "number"}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := fmt.Sprintf("n%d", i)
			r.Register(name, i)
			if got, err := r.Lookup(name); got != i || err != nil {
				t.Errorf("Lookup(%q) = %d, error %v", name, got, err)
			}
			r.Names()
		})
	}
	all.Wait()
	if n := len(r.Names()); n != 20 {
		t.Errorf("%d names are left of 20", n)
	}
}

func ExampleRegistry() {
	colors := registry.Registry[int]{Kind: "color"}
	colors.Register("red", 0xff0000)
	colors.Register("sky-blue", 0x87ceeb)
	_, err := colors.Lookup("sky-blu")
	fmt.Println(err)
	// Output: unknown color "sky-blu"; did you mean sky-blue? known are red, sky-blue
}
