package server

import (
	"context"
	"sort"
	"sync"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// models are the models that have been asked for. It is safe for concurrent use.
type models struct {
	open Opener
	mu   sync.Mutex
	all  map[engine.Model]*entry
}

// entry is a model; turn holds one token for whoever may open it.
type entry struct {
	turn  chan struct{}
	model attribution.Model
}

// get returns a model, opened at its first use, of which progress is told. Others who want it meanwhile wait; if opening fails or is cancelled,
// the next of them tries again.
func (m *models) get(ctx context.Context, which engine.Model, progress func(trace.Progress)) (attribution.Model, error) {
	e := m.entry(which)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if e.model != nil {
		return e.model, nil
	}
	model, err := m.open(ctx, which, progress)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	e.model = model // written under both locks, read under either
	m.mu.Unlock()
	return model, nil
}

func (m *models) entry(k engine.Model) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[engine.Model]*entry{}
	}
	e := m.all[k]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		m.all[k] = e
	}
	return e
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
