package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/local"
	"github.com/headwater-ml/headwater/internal/engine"
)

// An engine with the embedded model, and a client that asks it twice: the model is opened once.
func ExampleServe() {
	dir, err := os.MkdirTemp("", "hw")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	socket := filepath.Join(dir, "engine.sock")
	ended := make(chan error)
	go func() { ended <- local.Serve(ctx, local.Config{Socket: socket, Backend: "go"}) }()

	client := engine.Client{Socket: socket}
	for _, err := client.Info(ctx); err != nil; _, err = client.Info(ctx) {
		time.Sleep(time.Millisecond) // it does not listen yet
	}
	for _, prompt := range []string{"the keys to the cabinet", "the key to the cabinets"} {
		e, err := client.Explain(ctx, engine.Model{}, prompt, attribution.Options{MaxTokens: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s%s\n", prompt, e.Steps[0].Text)
	}
	status, _ := client.Info(ctx)
	fmt.Println(status.Models)
	cancel()
	fmt.Println(<-ended)
	// Output:
	// the keys to the cabinet are
	// the key to the cabinets is
	// [tiny]
	// <nil>
}

// A program that imports package local is its own engine: Connect starts it a second time.
func Example() {
	local.Main() // the second process serves here
	ctx := context.Background()
	client, err := engine.Start{}.Connect(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Stop(ctx) }()
	e, err := client.Explain(ctx, engine.Model{}, "the keys to the cabinet", attribution.Options{
		Methods: []string{"rollout"}, MaxTokens: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rollout := e.Methods["rollout"]
	fmt.Printf("%d tokens of the prompt, %d layers\n", rollout.Shape[1], rollout.Shape[2])
	fmt.Printf("next token:%s\n", e.Steps[0].Text)
	// Output:
	// 6 tokens of the prompt, 6 layers
	// next token: are
}
