package server

import (
	"context"
	"errors"
	"runtime/debug"
	"sort"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// weighted, limitable and watchable are the optional methods of a model; see [Opener].
type (
	weighted interface {
		WeightBytes() int64
	}
	limitable interface {
		Within(maxMemory int64) (trace.Model, error)
	}
	watchable interface {
		Watched(progress func(trace.Progress)) (watched trace.Model, stop func())
	}
)

// ErrMemory says that a model would fit into memory after others have been closed; see [Opener].
var ErrMemory = errors.New("server: not enough memory is left")

// models are the open models. If they are too many, or their weights too large together, the least
// recently used one that no request uses is closed. Models that requests use stay open, at most
// maxRunning. It is safe for concurrent use.
type models struct {
	open  Opener
	name  func(engine.Model) engine.Model // see [Config.Name]
	most  int
	bytes int64 // 0: no limit

	mu    sync.Mutex
	all   map[engine.Model]*entry
	clock int // counts uses
}

// entry is a model that is open, or that requests wait for. Otherwise it is not in the map. The one
// value in turn belongs to the request that may open the model.
type entry struct {
	turn  chan struct{}
	model trace.Model // nil until it is open
	bytes int64       // of its weights, 0 if the model does not say
	users int         // requests that use it or wait for it
	used  int         // clock at the latest use
}

// get returns a model within the memory that which allows. It opens the model at its first use, and
// calls progress meanwhile; other requests for the model wait. If opening fails or is cancelled,
// the next of them tries, and no entry stays. The caller calls release when it no longer uses the
// model.
func (m *models) get(
	ctx context.Context, which engine.Model, progress func(trace.Progress),
) (_ trace.Model, release func(), err error) {
	key := which
	if m.name != nil {
		key = m.name(which)
	}
	key.MaxMemory = 0 // one model, whatever the limit
	e := m.addUser(key)
	leave := func() { m.removeUser(key, e) }
	defer func() {
		if release == nil { // an error, or a panic of the opener
			leave()
		}
	}()
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if e.model == nil {
		if err := m.openInto(ctx, e, which, progress); err != nil {
			return nil, nil, err
		}
	}
	model := e.model
	if l, ok := model.(limitable); ok {
		if model, err = l.Within(which.MaxMemory); err != nil {
			return nil, nil, err
		}
	}
	return model, leave, nil
}

// addUser counts one more user of a model.
func (m *models) addUser(key engine.Model) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[engine.Model]*entry{}
	}
	e := m.all[key]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		m.all[key] = e
	}
	e.users++
	return e
}

// removeUser counts one user less.
func (m *models) removeUser(key engine.Model, e *entry) {
	m.mu.Lock()
	e.users--
	m.clock++
	e.used = m.clock
	if e.users == 0 && e.model == nil {
		delete(m.all, key)
	}
	m.mu.Unlock()
	m.trim() // the model may have been in use although it is one too many
}

// openInto opens a model. It closes others only afterwards, so that a misspelt name closes none,
// unless there is no memory for the model.
func (m *models) openInto(
	ctx context.Context, e *entry, which engine.Model, progress func(trace.Progress),
) error {
	model, err := m.open(ctx, which, progress)
	for errors.Is(err, ErrMemory) && m.evict() { // at most once for each model
		model, err = m.open(ctx, which, progress)
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	e.model = model // written with turn and mu, read with either
	if w, ok := model.(weighted); ok {
		e.bytes = w.WeightBytes()
	}
	m.mu.Unlock()
	m.trim()
	return nil
}

// trim closes unused models until the rest are within the limits.
func (m *models) trim() {
	for m.tooMany() && m.evict() {
	}
}

// tooMany reports whether the models that are open exceed a limit.
func (m *models) tooMany() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, bytes := 0, int64(0)
	for _, e := range m.all {
		if e.model != nil {
			n++
			bytes += e.bytes
		}
	}
	return n > m.most || m.bytes > 0 && n > 1 && bytes > m.bytes
}

// evict closes the least recently used model that no request uses, and reports whether there was
// one.
func (m *models) evict() bool {
	if !m.forget() {
		return false
	}
	debug.FreeOSMemory() // so that the system counts the memory as free
	return true
}

// forget is evict without returning the memory to the system.
func (m *models) forget() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var oldest *entry
	var key engine.Model
	for k, e := range m.all {
		if e.model != nil && e.users == 0 && (oldest == nil || e.used < oldest.used) {
			oldest, key = e, k
		}
	}
	if oldest == nil {
		return false
	}
	delete(m.all, key)
	return true
}

// names returns the names of the open models, sorted.
func (m *models) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for k, e := range m.all {
		if e.model == nil {
			continue
		}
		name := k.Name
		if name == "" {
			name = e.model.Info().Name
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
