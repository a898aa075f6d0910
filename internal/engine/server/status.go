package server

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/engine"
)

// status returns what the engine says about itself. number is how many requests it began before.
func (s *server) status(number int) *engine.Status {
	host, _ := os.Hostname()
	status := &engine.Status{
		Version: engine.Version, PID: os.Getpid(), Build: s.Build, Host: host, Watch: s.Watch,
		Notebook: os.Getenv("JPY_SESSION_NAME"), Open: s.models.opened(),
		Limit: s.Bytes, MaxModels: s.Models, Memory: residentBytes(), Requests: number,
	}
	for _, m := range status.Open {
		status.Models = append(status.Models, m.Name)
	}
	slices.Sort(status.Models)
	s.mu.Lock()
	defer s.mu.Unlock()
	status.Age = time.Since(s.began)
	if status.Running = s.working; s.working == 0 {
		status.Idle = time.Since(s.changed)
	}
	return status
}

// residentBytes returns how many bytes of memory the process holds: what Linux says, elsewhere what
// Go has got from the system.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys) //nolint:gosec // far below 2⁶³
}
