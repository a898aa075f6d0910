package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/gonbext/render"
	"github.com/headwater-ml/headwater/internal/backends"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/hub"
	"github.com/headwater-ml/headwater/internal/kernel"
	"github.com/headwater-ml/headwater/internal/message"
	"github.com/headwater-ml/headwater/internal/xlaplugin"
	"github.com/headwater-ml/headwater/models"
)

// diagnosis is the report of headwater doctor.
type diagnosis struct {
	Version  string         `json:"version"`
	Build    buildFacts     `json:"build"`
	Machine  machineFacts   `json:"machine"`
	Backends []backendFacts `json:"backends"`
	// Known are the models of the Hub that have a short name.
	Known []knownFacts `json:"known"`
	// Notebooks is the kernel of Jupyter.
	Notebooks kernel.Status    `json:"notebooks"`
	Settings  []settingMeaning `json:"settings"`
	// Next is what to do, most useful first.
	Next []string `json:"next"`
}

// buildFacts are how the program was built.
type buildFacts struct {
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Cgo        bool   `json:"cgo"`
	Experiment string `json:"goexperiment"`
}

// backendFacts is what is known about one backend.
type backendFacts struct {
	Name string `json:"name"`
	// Problem says why it cannot be used; empty if it can.
	Problem string `json:"problem,omitempty"`
	// Default says that models other than the embedded one run on it unless asked otherwise.
	Default bool `json:"default"`
	// Plugin is its native library, for xla and cuda.
	Plugin *xlaplugin.Installed `json:"plugin,omitempty"`
	// Warning is what is unusual about the plugin.
	Warning string `json:"warning,omitempty"`
	// NotKept says why compiled graphs are not stored; empty if they are or need not be.
	NotKept string `json:"not_kept,omitempty"`
	// Measured is nil where nothing was computed.
	Measured *probeResult `json:"measured,omitempty"`
}

// probeResult is what a process of its own finds out by computing on a backend.
type probeResult struct {
	// Description is how the backend describes itself.
	Description string          `json:"description,omitempty"`
	Speed       *backends.Speed `json:"speed,omitempty"`
	// Check is what the embedded model says next after a prompt, with its probability.
	Check *checkResult `json:"check,omitempty"`
}

// checkResult is the outcome of the self-check.
type checkResult struct {
	Text        string  `json:"text"`
	Probability float64 `json:"probability"`
}

// doctorFlags are the flags of headwater doctor.
type doctorFlags struct {
	json, check, quick bool
	probe              string
	size               int
	timeout            time.Duration
}

func doctorCommand(k *cli.Kit) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "say what models can run on here, how fast, and what to do next",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			for _, name := range []string{"check", "size", "timeout"} {
				if f.quick && cli.Given(cmd, name) {
					return cli.Usagef("--%s does nothing with --quick, which loads no plugin "+
						"and measures nothing", name)
				}
			}
			if f.probe != "" {
				return probe(ctx, k, f)
			}
			return doctor(ctx, k, f)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON")
	cmd.Flags().BoolVar(&f.check, "check", false, "let the embedded model answer on "+
		"every backend and compare")
	cmd.Flags().BoolVar(&f.quick, "quick", false, "load no plugin and measure nothing")
	f.size, f.timeout = 1024, 2*time.Minute
	cli.WholeFlag(cmd.Flags(), &f.size, "size", 16, 16384, "rows and columns of the matrices "+
		"that are multiplied, `N`", "1024")
	cmd.Flags().Func("timeout", "give up on a backend after this `time`, from "+
		"1ms to 24h (default 2m)", func(s string) (err error) {
		f.timeout, err = time.ParseDuration(s)
		if err != nil || f.timeout < time.Millisecond || f.timeout > maxTimeout {
			return errors.New("want a time from 1ms to 24h, such as 90s or 2h")
		}
		return nil
	})
	cmd.Flags().StringVar(&f.probe, "probe", "", "compute on this `BACKEND` and say "+
		"how it went, as JSON")
	cmd.Flags().Lookup("probe").Hidden = true // what doctor calls in a process of its own
	return cmd
}

// maxTimeout is how long a backend may take to answer: compiling takes minutes at most.
const maxTimeout = 24 * time.Hour

// doctor examines the machine and writes its report.
func doctor(ctx context.Context, k *cli.Kit, f doctorFlags) error {
	d := diagnosis{
		Version: cli.Version(),
		Build: buildFacts{
			Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
			Cgo:        cli.BuildSetting("CGO_ENABLED") == "1",
			Experiment: cli.BuildSetting("GOEXPERIMENT"),
		},
		Machine: machine(), Settings: settings(os.LookupEnv),
	}
	d.Known = knownModels(ctx, hub.Known())
	d.Notebooks = kernel.Examine(kernel.FindPrograms(ctx, ""))
	line := k.Progress()
	defer line.Clear()
	for _, name := range backends.Names() {
		line.Show("looking at backend %s", name)
		b := lookAt(name)
		if b.Problem == "" && !f.quick {
			result, err := probeApart(ctx, name, f)
			if err != nil {
				b.Problem = cli.ErrorText(err)
			}
			b.Measured = result
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("doctor: %w", err)
		}
		d.Backends = append(d.Backends, b)
	}
	line.Clear()
	d.compare()
	d.advise()
	if f.json {
		return cli.WriteJSON(k.Stdout, d)
	}
	return d.write(k.Stdout)
}

// lookAt finds a backend without loading it.
func lookAt(name string) backendFacts {
	b := backendFacts{Name: name}
	path, err := backends.PluginPath(name)
	if err != nil {
		b.Problem = cli.ErrorText(err)
		return b
	}
	// An empty name is the default: the best there is.
	if best, err := backends.PluginPath(""); err == nil && name != "cuda" {
		b.Default = best == path
	}
	if path == "" {
		return b
	}
	record, err := xlaplugin.Record(path)
	if err != nil {
		b.Warning = cli.ErrorText(err)
	}
	b.Plugin = &record
	if _, err := backends.KeptGraphs(); err != nil && name == "xla" {
		b.NotKept = message.Words(err, nil)
	}
	return b
}

// probeApart computes on a backend in a process of its own: a bad plugin ends the process that
// loads it.
func probeApart(ctx context.Context, name string, f doctorFlags) (*probeResult, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	args := []string{
		"doctor", "--probe", name, fmt.Sprintf("--size=%d", f.size),
		fmt.Sprintf("--check=%v", f.check),
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // this program itself
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), cudaSettings(name)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fmt.Errorf("it has not answered within %v", f.timeout)
	}
	if err != nil {
		return nil, fmt.Errorf("it ends the program that uses it (%w): %s", err,
			lastLine(stderr.String()))
	}
	var result struct {
		probeResult
		Error string
	}
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		return nil, fmt.Errorf("the answer of the program that tries it is no JSON: %w", err)
	}
	if result.Error != "" {
		return nil, errors.New(result.Error)
	}
	return &result.probeResult, nil
}

// lastLine is the last line that a program wrote before it ended.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return render.Visible(lines[len(lines)-1], 300)
}

// probe computes on a backend and writes how it went.
func probe(ctx context.Context, k *cli.Kit, f doctorFlags) error {
	var answer struct {
		probeResult
		Error string `json:",omitempty"`
	}
	err := func() error {
		b, err := backends.Open(f.probe)
		if err != nil {
			return err
		}
		answer.Description = b.Description()
		speed, err := backends.MeasureSpeed(ctx, f.probe, f.size)
		if err != nil {
			return err
		}
		answer.Speed = &speed
		if f.check {
			answer.Check, err = selfCheck(ctx, f.probe)
		}
		return err
	}()
	if err != nil {
		answer.Error = cli.ErrorText(err)
	}
	return json.NewEncoder(k.Stdout).Encode(answer)
}

// selfCheckPrompt has one right answer, john.
const selfCheckPrompt = "mary has the red key . john has the blue lamp . who has the lamp ?"

// selfCheck lets the embedded model answer.
func selfCheck(ctx context.Context, backend string) (*checkResult, error) {
	m, err := models.Open(models.Default, models.Options{Backend: backend})
	if err != nil {
		return nil, err
	}
	e, err := attribution.Explain(ctx, m, selfCheckPrompt,
		attribution.Options{MaxTokens: 1, Methods: []string{"rollout"}})
	if err != nil {
		return nil, err
	}
	if len(e.Steps) == 0 {
		return nil, errors.New("doctor: the embedded model says nothing")
	}
	return &checkResult{Text: e.Steps[0].Text, Probability: e.Steps[0].Probability}, nil
}

// maxCheckDifference is how far two backends' probabilities of the same token may be apart:
// rounding makes them differ by less than 1e-5.
const maxCheckDifference = 1e-4

// compare marks backends whose self-check differs from that of the first one, pure Go.
func (d *diagnosis) compare() {
	var first *checkResult
	for i := range d.Backends {
		b := &d.Backends[i]
		if b.Measured == nil || b.Measured.Check == nil {
			continue
		}
		check := b.Measured.Check
		if first == nil {
			first = check
		}
		if off := check.Probability - first.Probability; check.Text != first.Text ||
			off > maxCheckDifference || off < -maxCheckDifference {
			b.Problem = fmt.Sprintf("it answers %q with probability %.6g, pure Go %q with %.6g: "+
				"its numbers are wrong",
				check.Text, check.Probability, first.Text, first.Probability)
		}
	}
}

// advise returns what to do next.
func (d *diagnosis) advise() {
	by := map[string]backendFacts{}
	for _, b := range d.Backends {
		by[b.Name] = b
	}
	if d.Build.Platform == "linux/amd64" && !d.Build.Cgo {
		d.Next = append(d.Next, "build headwater with cgo (CGO_ENABLED=1 and a C compiler): "+
			"without it there is no XLA")
	} else if d.Build.Platform == "linux/amd64" && by["xla"].Problem != "" {
		d.Next = append(d.Next, "headwater setup xla installs the plugin for XLA, which "+
			"computes several times faster than pure Go")
	}
	if d.Build.Experiment == "" && runtime.GOARCH == "amd64" {
		d.Next = append(d.Next, "build headwater with GOEXPERIMENT=simd: pure Go becomes "+
			"5 to 10 times faster")
	}
	if xlaplugin.HasGPU() && by["cuda"].Plugin == nil {
		d.Next = append(d.Next, "this machine has a GPU: pip install "+
			"\"jax[cuda13]\" brings the plugin that --backend cuda needs")
	}
	if by["cuda"].Problem == "" {
		d.Next = append(d.Next, "add --backend cuda to a command to compute on the GPU")
	}
	for _, k := range d.Known {
		if k.Path == "" {
			d.Next = append(d.Next, "headwater download "+k.Name+" brings a language model, "+
				k.Repo)
		}
	}
	if d.Notebooks.Spec == "" {
		d.Next = append(d.Next, "headwater install makes Jupyter run Go notebooks that "+
			"know Headwater")
	}
	d.Next = append(d.Next, "headwater certify --model REF shows that a checkpoint's "+
		"numbers are right here",
		`headwater explain "the keys to the cabinet" shows what it is for`)
}

// write writes a diagnosis for people.
func (d diagnosis) write(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n\nbuild\t%s, %s, cgo %s, GOEXPERIMENT=%s\n", d.Version, d.Build.Go,
		d.Build.Platform, yes(d.Build.Cgo), d.Build.Experiment)
	fmt.Fprintf(t, "machine\t%s\n\nbackends\n", d.Machine)
	for _, f := range d.Backends {
		fmt.Fprintf(t, "  %s\t%s\n", f.Name, f.summary())
		for _, detail := range f.details() {
			fmt.Fprintf(t, "  \t%s\n", detail)
		}
	}
	fmt.Fprint(t, "\nmodels\n")
	for _, k := range d.Known {
		fmt.Fprintf(t, "  %s\t%v\n", k.Name, k)
	}
	fmt.Fprint(t, "\nnotebooks\n")
	for _, line := range notebookLines(d.Notebooks) {
		fmt.Fprintf(t, "  %s\t%s\n", line[0], render.Visible(line[1], cli.MaxMessage))
	}
	fmt.Fprint(t, "\nsettings\n")
	for _, s := range d.Settings {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", s.Name, s.Shown, s.Meaning)
	}
	fmt.Fprint(t, "\nnext\n")
	for _, n := range d.Next {
		fmt.Fprintf(t, "  %s\n", n)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notebookLines are the lines on the kernel: what it is about, and what is known.
func notebookLines(s kernel.Status) [][2]string {
	installed := "not installed"
	if s.Spec != "" {
		installed = "yes, " + s.Spec
	}
	if s.Problem != "" {
		installed += ", but notebooks do not run: " + s.Problem
	}
	lines := [][2]string{{"kernel", installed}}
	for _, program := range [][2]string{
		{"go", s.Programs.Go},
		{"gonb", s.Programs.GoNB},
		{"goimports", s.Programs.Goimports},
		{"gopls", s.Programs.Gopls},
	} {
		if program[1] == "" {
			program[1] = "not found"
		}
		lines = append(lines, program)
	}
	return lines
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// summary is one line on a backend.
func (b backendFacts) summary() string {
	parts := []string{"yes"}
	if b.Problem != "" {
		parts[0] = "no: " + b.Problem
	}
	if b.Measured != nil && b.Measured.Speed != nil {
		speed := b.Measured.Speed
		parts = append(parts, fmt.Sprintf("%.0f GFLOP/s (matrices of %d × %d)", speed.GFLOPS,
			speed.Size, speed.Size))
	}
	switch {
	case b.Default && b.Name != "go":
		parts = append(parts, "used unless asked otherwise, except for the embedded models")
	case b.Default:
		parts = append(parts, "used unless asked otherwise")
	}
	return render.Visible(strings.Join(parts, ", "), cli.MaxMessage)
}

// details are more lines on a backend.
func (b backendFacts) details() []string {
	var lines []string
	if b.Plugin != nil {
		lines = append(lines, "plugin "+b.Plugin.Path,
			fmt.Sprintf("from %s, %d MB, SHA-256 %.12s…", sourceName(*b.Plugin), b.Plugin.Bytes/1e6,
				b.Plugin.SHA256))
	}
	if b.Warning != "" {
		lines = append(lines, "warning: "+b.Warning)
	}
	if b.NotKept != "" {
		lines = append(lines, "warning: "+b.NotKept)
	}
	if b.Measured != nil {
		if _, api, ok := strings.Cut(b.Measured.Description, ") v"); ok {
			lines = append(lines, "PJRT API "+api)
		}
		if check := b.Measured.Check; check != nil {
			lines = append(lines, fmt.Sprintf("self-check: answers %q with probability %.4f",
				check.Text, check.Probability))
		}
	}
	for i := range lines {
		lines[i] = render.Visible(lines[i], cli.MaxMessage)
	}
	return lines
}
