package server

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
)

// pieceValues is how many numbers of a tensor one event has, 4 MiB. In one event a tensor would
// take twice its memory.
const pieceValues = 1 << 20

// trace records tensors and sends them.
func (s *server) trace(ctx context.Context, c *connection, r engine.Request) error {
	var tensors []trace.Tensor
	err := s.use(ctx, c, r.Model, func(model trace.Model) (again bool, err error) {
		tensors, err = record(ctx, c, r, model)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, t := range tensors {
		if err := sendTensor(c, t); err != nil {
			return err
		}
	}
	return nil
}

// record records the tensors with a model and sends the tokens of a text.
func record(ctx context.Context, c *connection, r engine.Request, model trace.Model) (
	[]trace.Tensor, error,
) {
	tracer, ok := model.(trace.Tracer)
	if !ok {
		return nil, pkg.Errorf("model %q cannot record tensors", model.Info().Name)
	}
	ids := r.IDs
	if ids == nil {
		tokens, err := model.Encode(string(r.Text), r.Specials)
		if err != nil {
			return nil, err
		}
		ids = trace.IDs(tokens)
		if err := c.send(engine.Event{Input: tokens}); err != nil {
			return nil, err
		}
	}
	if len(r.Edits) == 0 {
		return tracer.Trace(ctx, ids, r.Taps)
	}
	editable, ok := model.(trace.EditTracer)
	if !ok {
		return nil, pkg.Errorf("model %q does not run under edits", model.Info().Name)
	}
	return editable.Run(ctx, ids, r.Taps, r.Edits)
}

// sendTensor sends one tensor in pieces.
func sendTensor(c *connection, t trace.Tensor) error {
	head := t
	head.Data = nil
	if err := c.send(engine.Event{Tensor: &head}); err != nil {
		return err
	}
	for data := t.Data; len(data) > 0; {
		n := min(len(data), pieceValues)
		piece := make([]byte, 0, 4*n)
		for _, x := range data[:n] {
			piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(x))
		}
		if err := c.send(engine.Event{Piece: piece}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
