package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cell is a file as GoNB assembles it.
const cell = `package main

import "fmt"

var (
	_ = register()
	prompt = "the keys"
	weight = 0.5
)

const (
	first = iota
	second
)

type mine struct{ other }

type other struct{}

type Later struct{}

func (m *mine) Mix() float64 { return weight * second }

func (other) Check() error { return nil }

func (Later) String() string { return prompt }

func register() int { return 0 }

func init() { fmt.Println(mine{}) }

func show() { fmt.Println(prompt, Later{}) }

func main() {
	show()
}
`

func TestReachable(t *testing.T) {
	got, err := reachable([]byte(cell))
	must(t, err)
	want := []string{
		"_ = register()",
		"const (\n\tfirst = iota\n\tsecond\n)",
		"func (m *mine) Mix() float64 { return weight * second }",
		"func (other) Check() error { return nil }",
		"func init() { fmt.Println(mine{}) }",
		"func register() int { return 0 }",
		"mine struct{ other }",
		"other struct{}",
		"weight = 0.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declarations that plugins are made of (-want +got):\n%s", diff)
	}
}

// Each change of a cell either concerns its plugins or keeps the engine.
func TestReachableChanges(t *testing.T) {
	before, err := reachable([]byte(cell))
	must(t, err)
	for _, c := range []struct {
		name, old, new string
		same           bool
	}{
		{"body of main", "show()\n}", "show()\n\tshow()\n}", true},
		{"helper of main", "fmt.Println(prompt, ", "fmt.Println(", true},
		{"text", `"the keys"`, `"the lamp"`, true},
		{"type of main alone", "type Later struct{}", "type Later struct{ n int }", true},
		{"import", `import "fmt"`, `import ("fmt"; "os")`, true},
		{"method of a plugin", "weight * second", "weight * first", false},
		{"number in a plugin", "weight = 0.5", "weight = 0.25", false},
		{"constant before the one in a plugin", "first = iota", "zero = iota\n\tfirst", false},
		{"embedded type", "func (other) Check() error { return nil }", "func (other) Check() error { panic(1) }", false},
		{"registration", "mine{})", "&mine{})", false},
		{"function that gives a variable its value", "{ return 0 }", "{ return 1 }", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(cell, c.old, c.new, 1)
			after, err := reachable([]byte(changed))
			if err != nil || changed == cell {
				t.Fatalf("%v; changed: %v", err, changed != cell)
			}
			if same := slices.Equal(before, after); same != c.same {
				t.Errorf("plugins are the same: %v, want %v", same, c.same)
			}
		})
	}
	if _, err := reachable([]byte("package main; func {")); err == nil ||
		!strings.Contains(err.Error(), "local: the source of the cell") {
		t.Errorf("a broken file: error %v", err)
	}
}
