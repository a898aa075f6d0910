package hub_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/headwater-ml/headwater/internal/hub"
)

// A model that is complete in the cache is found without a request.
func ExampleResolve() {
	cache, err := os.MkdirTemp("", "hub")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(cache)
	const commit = "0123456789012345678901234567890123456789"
	for file, text := range map[string]string{
		"refs/main":                                  commit,
		"snapshots/" + commit + "/config.json":       "{}",
		"snapshots/" + commit + "/tokenizer.json":    "{}",
		"snapshots/" + commit + "/model.safetensors": "weights",
	} {
		path := filepath.Join(cache, "models--org--name", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			fmt.Println(err)
		}
	}
	opts := hub.Options{Cache: cache, Offline: true}
	dir, err := hub.Resolve(context.Background(), "org/name", opts)
	relative, _ := filepath.Rel(cache, dir)
	fmt.Println(filepath.ToSlash(relative), err)
	_, err = hub.Resolve(context.Background(), "org/other", opts)
	reason, _, _ := strings.Cut(err.Error(), ": set")
	fmt.Println(reason)
	// Output:
	// models--org--name/snapshots/0123456789012345678901234567890123456789 <nil>
	// hub: org/other: it is not in the cache, and HF_HUB_OFFLINE forbids downloading it
}

func ExampleParseRef() {
	ref, err := hub.ParseRef("openai-community/gpt2@main")
	fmt.Println(ref.Repo, ref.Revision, err)
	ref, err = hub.ParseRef("gpt2")
	fmt.Println(ref.Repo, ref.Revision, err)
	_, err = hub.ParseRef("../secret")
	reason, _, _ := strings.Cut(err.Error(), ",")
	fmt.Println(reason)
	// Output:
	// openai-community/gpt2 main <nil>
	// gpt2 main <nil>
	// hub: "../secret" is not the name of a model: want ORG/NAME or NAME
}
