package server

import (
	"context"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/sources"
)

// sources runs [sources.Ask.Explain] and sends the result.
func (s *server) sources(ctx context.Context, c *connection, r engine.Request) error {
	ask, err := r.Ask()
	if err != nil {
		return err
	}
	ask.Options.OnProgress = c.progress
	var result *sources.Result
	err = s.use(ctx, c, r.Model, func(model trace.Model) (again bool, err error) {
		result, err = ask.Explain(ctx, model)
		return true, err
	})
	if err != nil {
		return err
	}
	return c.send(engine.Event{Sources: result})
}
