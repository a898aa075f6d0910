package attribution

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// registry is a set of named plugins of one kind. It is safe for concurrent use.
type registry[P any] struct {
	kind    string
	mu      sync.RWMutex
	plugins map[string]P
}

// register adds a plugin. It panics if the name is taken or not made of lower-case words joined by
// hyphens.
func (r *registry[P]) register(name string, p P) {
	if !validName(name) {
		panic(fmt.Sprintf("attribution: %s name %q is not lower-case words joined by hyphens",
			r.kind, name))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.plugins[name]; taken {
		panic(fmt.Sprintf("attribution: %s %q is registered already", r.kind, name))
	}
	if r.plugins == nil {
		r.plugins = map[string]P{}
	}
	r.plugins[name] = p
}

// lookup returns the plugin of that name, or a usage error that proposes similar names and lists
// the known ones.
func (r *registry[P]) lookup(name string) (P, error) {
	r.mu.RLock()
	p, ok := r.plugins[name]
	r.mu.RUnlock()
	if !ok {
		return p, usagef("unknown %s %s; %s", r.kind, quote(name), trace.KnownAre(name, r.names()))
	}
	return p, nil
}

// names returns the known names, sorted.
func (r *registry[P]) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.plugins))
	for name := range r.plugins {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// validName reports whether a name is made of lower-case letters, digits and single inner hyphens.
func validName(name string) bool {
	for word := range strings.SplitSeq(name, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
