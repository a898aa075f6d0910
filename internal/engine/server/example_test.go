package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/attribution/trace"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/engine/server"
)

// An engine for models of one's own, and a client that sees an explanation grow and then ends the
// engine. The model attends uniformly: to 2 tokens for the first prediction, to 3 for the second.
func ExampleServe() {
	dir, err := os.MkdirTemp("", "hw")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "engine.sock")
	ctx := context.Background()
	ended := make(chan error)
	go func() {
		ended <- server.Serve(ctx, server.Config{
			Socket: socket, Models: 1,
			Open: func(
				_ context.Context, which engine.Model, progress func(trace.Progress),
			) (trace.Model, error) {
				stage := "opening " + which.Name
				progress(trace.Progress{Stage: stage, Unit: "file", Done: 1, Total: 1})
				return &wordModel{}, nil
			},
		})
	}()

	client := engine.Client{Socket: socket}
	for _, err := client.Info(ctx); err != nil; _, err = client.Info(ctx) {
		time.Sleep(time.Millisecond) // it does not listen yet
	}
	_, err = client.Explain(ctx, engine.Model{Name: "words"}, "a b", attribution.Options{
		Methods: []string{"raw"}, MaxTokens: 2,
		OnProgress: func(p trace.Progress) { fmt.Println(p) },
		OnStep: func(e *attribution.Explanation) {
			raw := e.Methods["raw"]
			fmt.Printf("%s: %.2f\n", e.Made(), raw.Row(len(e.Steps)-1, raw.Top()))
		},
	})
	fmt.Println(err)
	fmt.Println(client.Stop(ctx), <-ended)
	// Output:
	// opening words, file 1 of 1
	// preparing prompt rows, layer 1 of 1
	// 1 token: [0.50 0.50]
	// 2 tokens: [0.33 0.33 0.33]
	// <nil>
	// <nil> <nil>
}
