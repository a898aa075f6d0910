//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parquet-go/parquet-go"
)

// interval is the time between two looks at the memory of a process.
const interval = 250 * time.Millisecond

// explain plans a corpus and measures one run of the command with as many workers as the part says.
func (b *bench) explain(ctx context.Context, input string, r *result) (err error) {
	folder := filepath.Join(b.folder, "workers-"+r.Part)
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	plan := exec.CommandContext(ctx, b.command, "corpus", "plan", input, folder,
		"--model", b.model, "--backend", b.backend, "--methods", b.methods,
		"--max-tokens", strconv.Itoa(b.tokens), "--shards", strconv.Itoa(b.shards))
	if out, err := plan.CombinedOutput(); err != nil {
		return fmt.Errorf("headwater corpus plan: %w: %s", err, out)
	}
	run := exec.CommandContext(ctx, b.command, "corpus", "run", folder, "--workers", r.Part)
	var problems bytes.Buffer
	run.Stderr = &problems
	began := time.Now()
	if err := run.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	memory, err := watch(run.Process.Pid, ended)
	if err != nil {
		return fmt.Errorf("headwater corpus run: %w: %s", err, problems.Bytes())
	}
	r.Seconds, r.Measured = time.Since(began).Seconds(), b.texts
	if usage, ok := run.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.PeakMB = float64(usage.Maxrss) / 1e3 // of KiB
	}
	r.MemoryMB, r.GrowthMB = tenths(memory), growth(memory)
	r.Generated, err = countTokens(folder, b.texts)
	return err
}

// watch returns the memory of a process in MB, at equal intervals until it has ended.
func watch(pid int, ended <-chan error) (memory []float64, err error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if now, ok := resident(pid); ok {
				memory = append(memory, now)
			}
		case err := <-ended:
			return memory, err
		}
	}
}

// resident returns the memory that a process holds at this moment, in MB.
func resident(pid int) (float64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false // it has ended
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.Atoi(fields[1])
	return float64(pages*os.Getpagesize()) / 1e6, err == nil && pages > 0
}

// countTokens returns the number of generated tokens of a corpus, each of whose texts must have
// been explained.
func countTokens(folder string, texts int) (tokens int, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "shards", "*.parquet"))
	if err != nil {
		return 0, err
	}
	seen := 0
	for _, path := range paths {
		rows, err := parquet.ReadFile[struct {
			Error *string `parquet:"error,optional"`
			IDs   []int32 `parquet:"ids,list"`
		}](path)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		for _, row := range rows {
			if row.Error != nil {
				return 0, fmt.Errorf("%s: a text has no scores: %s", path, *row.Error)
			}
			tokens += len(row.IDs)
		}
		seen += len(rows)
	}
	if seen != texts {
		return 0, fmt.Errorf("%s has %d records, want %d", folder, seen, texts)
	}
	return tokens, nil
}
