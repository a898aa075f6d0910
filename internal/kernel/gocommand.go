package kernel

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// goCommandMark is in the second line of every script of [writeGoCommand].
const goCommandMark = "# headwater: the go command of notebooks"

// goScript is the go command of a notebook. GoNB runs "go get" before every cell. That takes half a
// second, asks the network about packages that the workspace has, and may choose other versions of
// them. So the script skips it if the workspace has all that the cell imports. If not, it first
// requires this module, so that "go get" keeps to the versions that this module requires. All other
// commands are those of Go.
const goScript = `#!/bin/sh
` + goCommandMark + `
go=%s
if [ "${PWD-}" = "${GONB_TMP_DIR-none}" ] && { [ "$*" = get ] || [ "$*" = 'get -t' ]; }; then
	imports=$({ cat go.work go.mod; sed -n '/^import/,/^)/p' main.go main_test.go; } 2>/dev/null)
	if [ "$imports" = "$(cat .headwater-imports 2>/dev/null)" ]; then exit 0; fi
	test=; if [ "$2" = -t ]; then test=-test; fi
	missing=$("$go" list -e -deps $test -f '{{if .Error}}{{.ImportPath}}{{end}}' . 2>&1)
	if [ -z "$missing" ]; then
		printf '%%s\n' "$imports" >.headwater-imports
		exit 0
	fi
	if grep -q '^replace ` + modulePath + ` ' go.mod; then
		"$go" mod edit -require=` + modulePath + `@v0.0.0-00010101000000-000000000000
	fi
fi
exec "$go" "$@"
`

// writeGoCommand writes [goScript], as a program named go, and returns its directory. It changes
// nothing if the program is there.
func writeGoCommand(goCommand string) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", pkg.Errorf("no directory for the go command of notebooks: %w", err)
	}
	h := fnv.New32a()
	h.Write([]byte(goCommand))
	dir = filepath.Join(cache, "headwater", fmt.Sprintf("kernel-%08x", h.Sum32()))
	text := fmt.Sprintf(goScript, "'"+strings.ReplaceAll(goCommand, "'", `'\''`)+"'")
	path := filepath.Join(dir, "go")
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", pkg.Errorf("the go command of notebooks: %w", err)
	}
	if err := writeFile(path, []byte(text), 0o700); err != nil {
		return "", err
	}
	if err := exec.Command(path, "env", "GOVERSION").Run(); err != nil { // no programs run there
		_ = os.Remove(path)
		return "", pkg.Errorf("the go command of notebooks, %s: %w", path, err)
	}
	return dir, nil
}

// isGoCommand reports whether a file is one that [writeGoCommand] wrote. In a kernel that another
// kernel starts it is in PATH.
func isGoCommand(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 100)
	n, _ := f.Read(begin)
	return bytes.Contains(begin[:n], []byte(goCommandMark))
}

// writeFile writes a file, whole or not at all.
func writeFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return pkg.Errorf("%w", err)
	}
	defer os.Remove(f.Name()) // fails once the file has its name
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return pkg.Errorf("writing %s: %w", path, err)
	}
	return nil
}
