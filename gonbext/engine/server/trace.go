package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/gonbext/engine"
)

// pieceValues is how many numbers of a tensor travel in one frame: 4 MiB.
const pieceValues = 1 << 20

// trace records tensors and sends them piece by piece.
func (s *server) trace(ctx context.Context, w io.Writer, r engine.Request) error {
	model, release, err := s.model(ctx, w, r.Model)
	if err != nil {
		return err
	}
	defer release()
	tracer, ok := model.(attribution.Tracer)
	if !ok {
		return fmt.Errorf("server: model %q returns no tensors", model.Info().Name)
	}
	ids := r.IDs
	if ids == nil {
		tokens, err := model.Encode(string(r.Text), r.Specials)
		if err != nil {
			return err
		}
		for _, t := range tokens {
			ids = append(ids, t.ID)
		}
		if err := s.send(w, engine.Event{Input: tokens}); err != nil {
			return err
		}
	}
	tensors, err := tracer.Trace(ctx, ids, r.Taps)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		if err := s.tensor(w, t); err != nil {
			return err
		}
	}
	return nil
}

// tensor sends one tensor.
func (s *server) tensor(w io.Writer, t trace.Tensor) error {
	if err := s.send(w, engine.Event{Tensor: &engine.TensorHead{Name: t.Name, Axes: t.Axes, Shape: t.Shape}}); err != nil {
		return err
	}
	for data := t.Data; len(data) > 0; {
		n := min(len(data), pieceValues)
		piece := make([]byte, 0, 4*n)
		for _, x := range data[:n] {
			piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(x))
		}
		if err := s.send(w, engine.Event{Piece: piece}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
