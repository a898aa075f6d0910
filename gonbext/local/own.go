package local

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/engine"
)

func init() {
	usage := "be the engine of a notebook: `PID,TIME,SOCKET` (gonbext sets it)"
	flag.Func(engineFlag, usage, func(value string) error {
		serveAndExit(value)
		return nil
	})
	engine.SetOwn(engine.Own{Divert: Main, Key: cellKey, Arguments: engineArguments})
}

// engineFlag makes the process an engine when package flag parses it: after every init function and
// before the body of a cell.
const engineFlag = "headwater-engine"

// engineArguments returns the command line that makes this program an engine.
func engineArguments(socket string, pid int, idle time.Duration) []string {
	return []string{fmt.Sprintf("-%s=%d,%v,%s", engineFlag, pid, idle, socket)}
}

// Main serves and ends the process if it was started as an engine; otherwise it returns at once. A
// main function that does not begin with flag.Parse or a call of gonbext calls Main first.
func Main() {
	if len(os.Args) != 2 {
		return
	}
	if value, ok := strings.CutPrefix(os.Args[1], "-"+engineFlag+"="); ok {
		serveAndExit(value)
	}
}

// serveAndExit serves as the value of the flag says, and ends the process.
func serveAndExit(value string) {
	c, err := parseEngine(value)
	if err == nil {
		err = c.FromEnvironment()
	}
	if err == nil {
		c.Log = os.Stderr
		err = Serve(context.Background(), c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// parseEngine reads the value of the flag.
func parseEngine(value string) (c Config, err error) {
	parts := strings.SplitN(value, ",", 3)
	if len(parts) != 3 || parts[2] == "" {
		return c, pkg.Errorf("-%s=%s: want PID,TIME,SOCKET", engineFlag, value)
	}
	c.Socket = parts[2]
	if c.Watch, err = strconv.Atoi(parts[0]); err != nil || c.Watch < 0 {
		return c, pkg.Errorf("-%s=%s: %q is not the number of a process",
			engineFlag, value, parts[0])
	}
	if c.Idle, err = time.ParseDuration(parts[1]); err != nil || c.Idle < 0 {
		return c, pkg.Errorf("-%s=%s: %q is not a time of 0 or more", engineFlag, value, parts[1])
	}
	return c, nil
}
