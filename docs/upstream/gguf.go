// The GGUF reader of gomlx/go-huggingface v0.4.0 believes a count before it compares it with the
// file: this file has 62 bytes, and the reader reserves 256 MB for an array of 2^24 texts.
//
// In an empty folder with this file: go mod init example.com/gguf &&
// go mod edit -require=github.com/gomlx/go-huggingface@v0.4.0 && go mod tidy && go run gguf.go
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gomlx/go-huggingface/models/gguf"
)

func main() {
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // to memory
	b.WriteString("GGUF")
	put(uint32(3)) // version
	put(uint64(0)) // tensors
	put(uint64(1)) // settings
	const key = "tokenizer.ggml"
	put(uint64(len(key)))
	b.WriteString(key)
	put(uint32(9))       // an array
	put(uint32(8))       // of texts,
	put(uint64(1 << 24)) // none of which is there
	path := filepath.Join(os.TempDir(), "counts.gguf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer os.Remove(path)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := gguf.Open(path)
	runtime.ReadMemStats(&after)
	fmt.Printf("a file of %d bytes took %d MB; error: %v\n", b.Len(),
		(after.TotalAlloc-before.TotalAlloc)>>20, err)
}
