// Package engine has the commands that serve notebooks and look after what serves them.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/message"
)

// Commands are the commands that serve notebooks and that look after what serves them.
var Commands = cli.Family{engineCommand, serveCommand}

func engineCommand(k *cli.Kit) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "list and stop the engines, which keep models open for notebooks",
		Args:  cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("engine needs what to do; known are list and stop, as in headwater " +
				"engine list")
		},
	}
	cmd.AddCommand(engineListCommand(k), engineStopCommand(k))
	return cmd
}

// engineFacts is an engine in the output of headwater engine list.
type engineFacts struct {
	// Process listens on the socket.
	Process int    `json:"process"`
	Socket  string `json:"socket"`
	// Host is the machine on which the models run.
	Host string `json:"host,omitempty"`
	// Kernel is the process for which it was started, and KernelRuns whether that still runs.
	Kernel     int    `json:"kernel,omitempty"`
	KernelRuns bool   `json:"kernel_runs,omitempty"`
	Notebook   string `json:"notebook,omitempty"`
	// Version is that of its program, Protocol that of its requests.
	Version  string             `json:"version,omitempty"`
	Protocol int                `json:"protocol,omitempty"`
	Models   []engine.OpenModel `json:"models"`
	// MemoryBytes is what the process holds, LimitBytes what models may take together.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	LimitBytes  int64 `json:"limit_bytes,omitempty"`
	Running     int   `json:"running"`
	AgeSeconds  int64 `json:"age_seconds"`
	IdleSeconds int64 `json:"idle_seconds"`
	// Problem says why it tells nothing about itself.
	Problem string `json:"problem,omitempty"`
}

// newEngineFacts describes an engine.
func newEngineFacts(f engine.Found) engineFacts {
	e := engineFacts{
		Process: f.PID, Socket: f.Socket, Kernel: f.Owner, KernelRuns: f.OwnerAlive,
		Models: []engine.OpenModel{},
	}
	if f.Status == nil {
		e.Problem = f.Err.Error()
		return e
	}
	s := f.Status
	e.Host, e.Notebook, e.Version, e.Protocol = s.Host, s.Notebook, s.Build, s.Version
	e.MemoryBytes, e.LimitBytes, e.Running = s.Memory, s.Limit, s.Running
	e.AgeSeconds, e.IdleSeconds = int64(s.Age.Seconds()), int64(s.Idle.Seconds())
	e.Models = append(e.Models, s.Open...)
	return e
}

func engineListCommand(k *cli.Kit) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the engines of this user",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := engine.List(cmd.Context())
			if err != nil {
				return err
			}
			facts := []engineFacts{}
			for _, f := range found {
				facts = append(facts, newEngineFacts(f))
			}
			if asJSON {
				return cli.WriteJSON(k.Stdout, facts)
			}
			return listEngines(k, facts)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// listEngines prints a table.
func listEngines(k *cli.Kit, all []engineFacts) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(k.Stdout, "no engine runs")
		return err
	}
	w := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tKERNEL\tNOTEBOOK\tMEMORY\tRUNNING\tIDLE\tMODELS")
	for _, e := range all {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Process, e.kernel(),
			render.Visible(cmp.Or(e.Notebook, "-"), 40), e.memory(), e.time(e.AgeSeconds),
			e.idle(), e.models())
	}
	return w.Flush()
}

// kernel returns the process for which an engine was started.
func (e engineFacts) kernel() string {
	switch {
	case e.Kernel == 0:
		return "-"
	case !e.KernelRuns:
		return fmt.Sprintf("%d (ended)", e.Kernel)
	}
	return strconv.Itoa(e.Kernel)
}

// memory returns what the process holds.
func (e engineFacts) memory() string {
	if e.Problem != "" {
		return "-"
	}
	return message.FormatBytes(e.MemoryBytes)
}

// time returns seconds as people read them: 45s, 12m, 3h20m.
func (e engineFacts) time(seconds int64) string {
	if e.Problem != "" {
		return "-"
	}
	d := time.Duration(seconds) * time.Second
	if d >= time.Minute {
		return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
	}
	return d.String()
}

// idle returns how long an engine has had nothing to do, or that it works.
func (e engineFacts) idle() string {
	if e.Running > 0 {
		return "works"
	}
	return e.time(e.IdleSeconds)
}

// models lists the open models, the latest used one first, or reports the problem.
func (e engineFacts) models() string {
	if e.Problem != "" {
		return render.Visible(e.Problem, 200)
	}
	var all []string
	for _, m := range e.Models {
		text := fmt.Sprintf("%s (%s, %s)", render.Visible(m.Name, 60), m.Backend,
			message.FormatBytes(m.Bytes))
		if m.Used {
			text += " in use"
		}
		all = append(all, text)
	}
	if all == nil {
		all = []string{"none"}
	}
	return strings.Join(all, ", ")
}

func engineStopCommand(k *cli.Kit) *cobra.Command {
	var all, force bool
	cmd := &cobra.Command{
		Use:   "stop PROCESS... | --all",
		Short: "end engines; the next cell of their notebooks starts another one",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usagef("engine stop needs the process numbers of engines, or --all; " +
					"see headwater engine list")
			}
			pids, err := processes(args)
			if err != nil {
				return err
			}
			return stopEngines(cmd.Context(), k, pids, force)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "end all engines of this user")
	cmd.Flags().BoolVar(&force, "force", false,
		"kill an engine that does not answer, and a process that listens in its place")
	return cmd
}

// processes reads process numbers.
func processes(args []string) ([]int, error) {
	var pids []int
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil || pid < 1 {
			return nil, cli.Usagef("engine stop %.60q: want the number of a process, which "+
				"headwater engine list shows", a)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// stopEngines ends the engines with those process numbers, all if there are none.
func stopEngines(ctx context.Context, k *cli.Kit, pids []int, force bool) error {
	found, err := engine.List(ctx)
	if err != nil {
		return err
	}
	if len(pids) == 0 && len(found) == 0 {
		_, err := fmt.Fprintln(k.Stdout, "no engine runs")
		return err
	}
	var known []string
	for _, f := range found {
		known = append(known, strconv.Itoa(f.PID))
	}
	for _, pid := range pids {
		if !slices.ContainsFunc(found, func(f engine.Found) bool { return f.PID == pid }) {
			if known == nil {
				return fmt.Errorf("engine stop %d: no engine runs", pid)
			}
			return fmt.Errorf("engine stop %d: no engine has this process; running are %s", pid,
				message.List(known))
		}
	}
	var wrong []error
	for _, f := range found {
		if len(pids) > 0 && !slices.Contains(pids, f.PID) {
			continue
		}
		err := f.Stop(ctx, force)
		var silent *engine.SilentError
		if errors.As(err, &silent) {
			err = fmt.Errorf("engine stop %d: it does not answer; --force kills it", f.PID)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if _, err := fmt.Fprintf(k.Stdout, "engine %d ended\n", f.PID); err != nil {
			return err
		}
	}
	return errors.Join(wrong...)
}
