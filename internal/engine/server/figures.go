package server

import (
	"context"
	"sync"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// maxFigures is how many figures the engine keeps: more than the documents have, on two models.
const maxFigures = 200

// madeFigures are figures that were made, so that a second request costs nothing. It is safe for
// concurrent use.
type madeFigures struct {
	mu  sync.Mutex
	all map[figureKey][]byte
}

// figureKey is a figure and the model that it was made with.
type figureKey struct {
	id    string
	model engine.Model
}

func (m *madeFigures) get(key figureKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key]
}

func (m *madeFigures) keep(key figureKey, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) >= maxFigures {
		m.all = map[figureKey][]byte{}
	}
	m.all[key] = data
}

// makeFigures sends figures of documents, each as soon as it is made.
func (s *server) makeFigures(ctx context.Context, c *connection, r engine.Request) error {
	if s.Figures.Find == nil {
		return usagef("an engine of a notebook's own plugins makes no figures of documents: " +
			"use the command headwater figures")
	}
	some, err := s.Figures.Find(r.Figures)
	if err != nil {
		return err
	}
	for i, f := range some {
		which := r.Model
		if which.Name == "" {
			which.Name = f.Model
		}
		data, err := s.makeFigure(ctx, c, f, which)
		if err != nil {
			return err
		}
		if err := sendFile(c, data); err != nil {
			return err
		}
		c.progress(trace.Progress{
			Stage: "making figures", Unit: "figure", Done: i + 1, Total: len(some),
		})
	}
	return nil
}

// makeFigure returns a figure, which may have been made before.
func (s *server) makeFigure(
	ctx context.Context, c *connection, f Figure, which engine.Model,
) ([]byte, error) {
	key := figureKey{f.ID, which}
	if s.Name != nil {
		key.model = s.Name(which)
	}
	if data := s.figures.get(key); data != nil {
		return data, nil
	}
	model, release, err := s.model(ctx, c, which)
	if err != nil {
		return nil, err
	}
	defer release()
	data, err := f.Make(ctx, model, c.progress)
	if err != nil {
		return nil, err
	}
	s.figures.keep(key, data)
	return data, nil
}

// draw sends a picture.
func (s *server) draw(c *connection, r engine.Request) error {
	if s.Figures.Draw == nil {
		return usagef("an engine of a notebook's own plugins draws no pictures")
	}
	data, notes, err := s.Figures.Draw(r.Options, r.File, r.Show)
	if err != nil {
		return err
	}
	if err := sendFile(c, data); err != nil {
		return err
	}
	return c.send(engine.Event{Notes: notes})
}
