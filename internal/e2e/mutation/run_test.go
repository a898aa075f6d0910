package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a run. A toy model answers in a fraction of a second, so a command that takes
// longer hangs. The limit on processor time is the strict one, because a busy machine does not
// change it.
const (
	maxWall      = 90 * time.Second
	maxProcessor = 15 * time.Second
	// maxResident is the limit that the command is given, and what the program itself takes.
	maxResident = 300e6 + 120e6
	// maxMessage is how long the line of a refusal may be, in bytes.
	maxMessage = 6000
)

// Outcome is how a mutant ended.
type Outcome struct {
	Status    int
	Stderr    string
	Resident  int64 // bytes, at most
	Processor time.Duration
	// Faults are what is wrong with the program, in words; none is as it should be.
	Faults []string
}

// Run runs a mutant in a new folder dir, which it removes.
func Run(ctx context.Context, binary, dir string, m Mutant) (*Outcome, error) {
	if err := m.write(dir); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	before, err := listing(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxWall)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, m.Args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(m.Stdin), &stdout, &stderr
	// No name may reach a network or a cache of the user.
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+dir+"/no-cache",
		"GOMLX_NO_AUTO_INSTALL=1", "GOTRACEBACK=single")
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	state := cmd.ProcessState
	o := &Outcome{
		Status: state.ExitCode(), Stderr: stderr.String(), Resident: residentBytes(state),
		Processor: state.UserTime() + state.SystemTime(),
	}
	after, err := listing(dir)
	if err != nil {
		return nil, err
	}
	o.check(ctx, m, &stdout)
	o.checkFiles(m, before, after)
	return o, nil
}

// write makes the folder of a mutant.
func (m Mutant) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, text := range m.Files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	for name, size := range m.Sparse {
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			return err
		}
	}
	return nil
}

// listing returns the files below dir, in order.
func listing(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	return files, err
}

func (o *Outcome) fault(format string, args ...any) {
	o.Faults = append(o.Faults, fmt.Sprintf(format, args...))
}

// crash are the words of a program that did not end by itself.
var crash = regexp.MustCompile(
	`(?m)^(panic:|fatal error:|goroutine \d+|runtime error|SIG[A-Z]+:)|` +
		`runtime error:|\[recovered\]`)

// goTerms are words of the language that the program is written in; no user should meet them.
var goTerms = regexp.MustCompile(`Go struct|Go value|cannot unmarshal|(^|[^.])json: |strconv\.|` +
	`interface \{\}|map\[string|\[\]interface|%!|nil pointer|` +
	`unexpected EOF|slice bounds|\*[a-z]+\.[A-Z]|reflect\.`)

// check holds what a run printed and took against what is promised.
func (o *Outcome) check(ctx context.Context, m Mutant, stdout *bytes.Buffer) {
	switch {
	case ctx.Err() != nil:
		o.fault("it did not end within %v", maxWall)
		return
	case o.Processor > maxProcessor:
		o.fault("it took %v of processor time", o.Processor)
	}
	if o.Resident > maxResident {
		o.fault("it took %d MB of memory", o.Resident/1e6)
	}
	if crash.MatchString(o.Stderr) || o.Status < 0 || o.Status > 2 {
		o.fault("it crashed with status %d", o.Status)
		return
	}
	if !utf8.ValidString(o.Stderr) || strings.ContainsAny(o.Stderr, "\x1b\x00\u202e") {
		o.fault("standard error holds bytes that control a terminal, or no UTF-8")
	}
	if o.Status == 0 {
		if !utf8.Valid(stdout.Bytes()) {
			o.fault("standard output is not UTF-8")
		}
		return
	}
	o.checkRefusal(m)
}

// checkRefusal reads the message of a run that failed.
func (o *Outcome) checkRefusal(m Mutant) {
	lines := strings.Split(strings.TrimSuffix(o.Stderr, "\n"), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, "headwater: ") {
			o.fault("a line of standard error does not begin with the program's name: %.200q", line)
		}
	}
	last := lines[len(lines)-1]
	if len(last) > maxMessage {
		o.fault("the message has %d bytes", len(last))
	}
	plain := last
	for _, arg := range m.Args { // a file may be called json
		if _, value, _ := strings.Cut(arg, "="); value != "" {
			plain = strings.ReplaceAll(plain, " "+value+": ", " it: ")
		}
	}
	if term := goTerms.FindString(plain); term != "" {
		o.fault("the message has a term of Go: %q", term)
	}
	for _, names := range m.Names {
		if len(names) == 0 {
			continue
		}
		if !slices.ContainsFunc(names,
			func(name string) bool { return strings.Contains(last, name) }) {
			o.fault("the message names none of %.300q", names)
		}
	}
}

// checkFiles holds the folder after a run against the one before.
func (o *Outcome) checkFiles(m Mutant, before, after []string) {
	for _, name := range after {
		if slices.Contains(before, name) {
			continue
		}
		asked := o.Status == 0 && name == m.Output ||
			// Results that were complete before the fault stay, under a name that says so.
			o.Status != 0 && m.Output != "" && strings.HasPrefix(name, m.Output+".partial") ||
			m.Output == "*" &&
				slices.ContainsFunc(m.Args,
					func(arg string) bool {
						return arg == name ||
							strings.HasSuffix(arg, "="+name)
					})
		if !asked {
			o.fault("it left the file %q", name)
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			o.fault("it removed the file %q", name)
		}
	}
	if o.Status == 0 && m.Output != "" && m.Output != "*" && !slices.Contains(after, m.Output) {
		o.fault("it succeeded without writing %q", m.Output)
	}
}
