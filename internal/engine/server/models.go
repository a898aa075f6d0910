package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/errorkind"
)

// limitable and watchable are the optional methods of a model; see [Opener].
type (
	limitable interface {
		Within(maxMemory int64) (trace.Model, error)
	}
	watchable interface {
		Watched(progress func(trace.Progress)) (watched trace.Model, stop func())
	}
)

// ErrMemory says that a model would fit into memory after others have been closed; see [Opener].
var ErrMemory = pkg.Errorf("not enough memory is left")

// models are the open models. If they are too many, or their weights too large together, the least
// recently used one that no request uses is closed. Models that requests use stay open, at most
// maxRunning. It is safe for concurrent use.
type models struct {
	open  Opener
	name  func(engine.Model) engine.Model // see [Config.Name]
	most  int
	bytes int64 // 0: no limit
	// memory is what weights and runs may take together, 0 if only the machine limits them.
	memory int64
	// release returns memory to the system; see [Config.Release].
	release func()

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
	key := m.key(which)
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
		if err := m.openInto(ctx, key, e, which, progress); err != nil {
			return nil, nil, m.limited(err, key, which)
		}
	}
	model := e.model
	if l, ok := model.(limitable); ok {
		err = m.leaving(key, which, func(maxMemory int64) error {
			model, err = l.Within(maxMemory)
			return err
		})
		if err != nil {
			return nil, nil, m.limited(err, key, which)
		}
	}
	return model, leave, nil
}

// leaving calls use with the memory that a model may take beside the others, as [models.allowed]
// says. If that is too little, it closes the least recently used of the others and tries again, at
// most once for each.
func (m *models) leaving(
	key, which engine.Model, use func(maxMemory int64) error,
) error {
	err := use(m.allowed(key, which))
	for m.helps(err, key, which) && m.evict(&key) {
		err = use(m.allowed(key, which))
	}
	return err
}

// allowed returns how many bytes the model of key and its runs may take: what the request says, at
// most what the other models leave of the engine's memory. 0 is what the machine has left.
func (m *models) allowed(key, which engine.Model) int64 {
	if m.memory == 0 {
		return which.MaxMemory
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.memory
	for k, e := range m.all {
		if k != key && e.model != nil {
			left -= e.bytes
		}
	}
	if which.MaxMemory > 0 {
		left = min(left, which.MaxMemory)
	}
	return max(1, left)
}

// helps reports whether an error might not come again with less in memory.
func (m *models) helps(err error, key, which engine.Model) bool {
	return errors.Is(err, ErrMemory) ||
		ofMemory(err) && (which.MaxMemory == 0 || m.limits(key, which))
}

// makeRoom closes the least recently used of the other models if the run of a request, which ended
// with an error, might succeed then. It reports whether it closed one.
func (m *models) makeRoom(err error, which engine.Model) bool {
	key := m.key(which)
	return err != nil && m.helps(err, key, which) && m.evict(&key)
}

// limits reports whether the memory of the engine, and not the request, limits the model of a key.
func (m *models) limits(key, which engine.Model) bool {
	return m.memory > 0 && m.allowed(key, which) != which.MaxMemory
}

// ofMemory reports whether an error says that a limit of memory was too low.
func ofMemory(err error) bool {
	if err == nil {
		return false
	}
	kind := errorkind.Of(err)
	return kind == errorkind.Memory || kind == errorkind.DType
}

// limited says about an error of memory that it is the engine's limit that is too low. It hides the
// kind of the error, because nothing that a request says would help.
func (m *models) limited(err error, key, which engine.Model) error {
	if !ofMemory(err) || !m.limits(key, which) {
		return err
	}
	return fmt.Errorf("%v; this is the limit of all models of the engine together, which "+
		"HEADWATER_ENGINE_MEMORY sets", err)
}

// key returns what identifies a model: one value for all ways to name it, whatever the limit.
func (m *models) key(which engine.Model) engine.Model {
	if m.name != nil {
		which = m.name(which)
	}
	which.MaxMemory = 0
	return which
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
	ctx context.Context, key engine.Model, e *entry, which engine.Model,
	progress func(trace.Progress),
) error {
	var model trace.Model
	err := m.leaving(key, which, func(maxMemory int64) (err error) {
		limited := which
		limited.MaxMemory = maxMemory
		model, err = m.open(ctx, limited, progress)
		return err
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	e.model = model // written with turn and mu, read with either
	if b, ok := model.(trace.Budgeted); ok {
		e.bytes = b.Memory().Weights
	}
	m.mu.Unlock()
	m.trim()
	return nil
}

// trim closes unused models until the rest are within the limits.
func (m *models) trim() {
	for m.tooMany() && m.evict(nil) {
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

// evict closes the least recently used model that no request uses, but not that of except if it is
// not nil, and reports whether there was one.
func (m *models) evict(except *engine.Model) bool {
	if !m.forget(except) {
		return false
	}
	m.release() // so that the system counts the memory as free
	return true
}

// forget is evict without returning the memory to the system.
func (m *models) forget(except *engine.Model) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var oldest *entry
	var key engine.Model
	for k, e := range m.all {
		if e.model == nil || e.users > 0 || except != nil && k == *except {
			continue
		}
		if oldest == nil || e.used < oldest.used {
			oldest, key = e, k
		}
	}
	if oldest == nil {
		return false
	}
	delete(m.all, key)
	return true
}

// opened returns the open models, the latest used one first.
func (m *models) opened() []engine.OpenModel {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*entry
	byEntry := map[*entry]engine.Model{}
	for k, e := range m.all {
		if e.model != nil {
			all, byEntry[e] = append(all, e), k
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		if (a.users > 0) != (b.users > 0) {
			return cmp.Compare(min(b.users, 1), min(a.users, 1))
		}
		return cmp.Compare(b.used, a.used)
	})
	open := make([]engine.OpenModel, len(all))
	for i, e := range all {
		info := e.model.Info()
		open[i] = engine.OpenModel{
			Name: cmp.Or(byEntry[e].Name, info.Name), Backend: info.Backend,
			DType: byEntry[e].DType, Bytes: e.bytes, Used: e.users > 0,
		}
	}
	return open
}
