package server

import (
	"context"
	"errors"
	"runtime/debug"
	"sort"
	"sync"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// Weighted is a model that knows how many bytes its weights take.
type Weighted interface {
	WeightBytes() int64
}

// Limitable is a model whose limit of memory belongs to a request and not to the weights.
type Limitable interface {
	// Within returns the model as a request with that [engine.Model.MaxMemory] may use it, on the same
	// weights. It returns an error if the weights alone take more.
	Within(maxMemory int64) (attribution.Model, error)
}

// ErrMemory is what errors.Is finds in the error of an [Opener] if the model would fit once others have
// left.
var ErrMemory = errors.New("server: not enough memory is left")

// models are the models that are open: at most so many, and the weights together at most so many bytes,
// if more than one is open. The least recently used one that no request uses leaves; what requests use
// stays until they end, and there are at most maxRunning of them. It is safe for concurrent use.
type models struct {
	open  Opener
	name  func(engine.Model) engine.Model // the same for every way to name one model
	most  int
	bytes int64 // 0: no limit

	mu    sync.Mutex
	all   map[engine.Model]*entry
	clock int // counts uses
}

// entry is a model that is open, or that requests wait for; without either it leaves the map. turn
// holds one token for whoever may open it.
type entry struct {
	turn  chan struct{}
	model attribution.Model // nil until it is open
	bytes int64             // of its weights, 0 if it does not say
	users int               // requests that use it or wait for it
	used  int               // the clock at its latest use
}

// get returns a model, opened at its first use, of which progress is told, held to the memory that which
// allows. Others who want it meanwhile wait; if opening fails or is cancelled, the next of them tries
// again, and nothing is kept. The caller calls release when it no longer uses the model.
func (m *models) get(
	ctx context.Context, which engine.Model, progress func(trace.Progress),
) (_ attribution.Model, release func(), err error) {
	key := which
	if m.name != nil {
		key = m.name(which)
	}
	key.MaxMemory = 0 // one model, whatever the limit
	e := m.enter(key)
	leave := func() { m.leave(key, e) }
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
		if err := m.fill(ctx, e, which, progress); err != nil {
			return nil, nil, err
		}
	}
	model := e.model
	if l, ok := model.(Limitable); ok {
		if model, err = l.Within(which.MaxMemory); err != nil {
			return nil, nil, err
		}
	}
	return model, leave, nil
}

// enter counts a user of a model.
func (m *models) enter(key engine.Model) *entry {
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

// leave takes a user away.
func (m *models) leave(key engine.Model, e *entry) {
	m.mu.Lock()
	e.users--
	m.clock++
	e.used = m.clock
	if e.users == 0 && e.model == nil {
		delete(m.all, key)
	}
	m.mu.Unlock()
	m.trim() // one that is too many may have been in use until now
}

// fill opens a model. Others leave when it is there, so that a name that is no model costs nothing; if
// there is no memory for it, they leave before.
func (m *models) fill(
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
	e.model = model // written under both locks, read under either
	if w, ok := model.(Weighted); ok {
		e.bytes = w.WeightBytes()
	}
	m.mu.Unlock()
	m.trim()
	return nil
}

// trim lets models go until the rest are within the limits.
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

// evict lets the least recently used model go that no request uses. It reports whether there was one.
func (m *models) evict() bool {
	if !m.forget() {
		return false
	}
	debug.FreeOSMemory() // what asks how much memory is left sees it
	return true
}

// forget is evict without waiting for the memory.
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
