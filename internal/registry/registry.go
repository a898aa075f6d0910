// Package registry keeps named plugins of one kind: model families, mixings, aggregations,
// scorers, methods. A package that accepts plugins holds one [Registry] in a variable:
//
//	var mixings = registry.Registry[Mixing]{Kind: "transformer: mixing"}
//
// and exports two or three functions that call it. Built-in plugins register from init, so a name
// that is wrong or taken is a mistake in a program and panics; a name that a user asks for comes
// from outside and is an error.
package registry

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/headwater-ml/headwater/internal/message"
)

// Registry is a set of plugins by name. Kind must be set before the first call. A Registry is safe
// for concurrent use and must not be copied after the first call.
type Registry[T any] struct {
	// Kind names what is registered, for messages: "method", or "transformer: mixing".
	Kind string
	// Underscores reports whether words in names are joined by underscores instead of hyphens, as
	// in the model_type of a config.json.
	Underscores bool

	mu      sync.RWMutex
	plugins map[string]T
}

// Register adds a plugin. It panics if the plugin is nil, if the name is already taken, or if it
// does not consist of words of lower-case letters and digits, joined by hyphens.
func (r *Registry[T]) Register(name string, plugin T) {
	if !r.valid(name) {
		_, joints := r.joint()
		panic(fmt.Sprintf("%s name %s is not lower-case words joined by %s",
			r.Kind, message.Quote(name), joints))
	}
	if isNil(plugin) {
		panic(fmt.Sprintf("%s %s is nil", r.Kind, message.Quote(name)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.plugins[name]; taken {
		panic(fmt.Sprintf("%s %s is registered already", r.Kind, message.Quote(name)))
	}
	if r.plugins == nil {
		r.plugins = map[string]T{}
	}
	r.plugins[name] = plugin
	registries.Store(r.Kind, r)
}

// Lookup returns the plugin with that name. If there is none, the error proposes the known names
// that are nearest ([message.Nearest]) and lists all of them.
func (r *Registry[T]) Lookup(name string) (T, error) {
	r.mu.RLock()
	plugin, ok := r.plugins[name]
	r.mu.RUnlock()
	if !ok {
		return plugin, fmt.Errorf("unknown %s %s; %s", r.Kind, message.Quote(name),
			message.KnownAre(name, r.Names()))
	}
	return plugin, nil
}

// Names returns the names of all plugins, sorted.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.plugins))
}

// Remove takes a plugin out again. It is for tests, which must leave the registry as it was.
func (r *Registry[T]) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.plugins, name)
}

// registries are all registries with a plugin, by kind: [Registry.Kind] to *Registry.
var registries sync.Map

// Remove takes a plugin out of the registry of a kind. It is for tests of packages that cannot see
// the registry. It panics if there is no registry of that kind.
func Remove(kind, name string) {
	r, ok := registries.Load(kind)
	if !ok {
		panic("no registry of kind " + message.Quote(kind))
	}
	r.(interface{ Remove(name string) }).Remove(name)
}

// valid returns whether a name consists of words of lower-case letters and digits, joined by
// single hyphens or underscores.
func (r *Registry[T]) valid(name string) bool {
	joint, _ := r.joint()
	for word := range strings.SplitSeq(name, joint) {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}

// joint returns the character between the words of a name, and what it is called.
func (r *Registry[T]) joint() (character, plural string) {
	if r.Underscores {
		return "_", "underscores"
	}
	return "-", "hyphens"
}

// isNil returns whether a plugin is a nil interface, pointer, function, map, slice or channel.
func isNil(plugin any) bool {
	if plugin == nil {
		return true
	}
	switch v := reflect.ValueOf(plugin); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
