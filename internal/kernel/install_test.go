package kernel

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/internal/testhelp"
)

// programs are as if all were installed.
var programs = Programs{
	Go: "/usr/lib/go/bin/go", GoNB: "/opt/gonb/gonb", Goimports: "/opt/gonb/goimports",
}

func options(dataDir string) InstallOptions {
	return InstallOptions{DataDir: dataDir, Command: "/opt/headwater", Programs: programs}
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", dir)
	t.Setenv("KEPT", "/models")
	t.Setenv("DOLLAR", "a$b")
	t.Setenv("EMPTY", "")
	work := realDir(t)
	t.Chdir(work)
	t.Setenv("RELATIVE", "./xla.so")
	dataDir, err := UserDataDir()
	if err != nil || dataDir != dir {
		t.Fatalf("UserDataDir() = %q, %v; want JUPYTER_DATA_DIR %q", dataDir, err, dir)
	}
	o := options(dataDir)
	o.Keep = []string{"KEPT", "DOLLAR", "EMPTY", "RELATIVE"}
	for range 2 { // the second time it replaces the first
		path, err := Install(o)
		if want := filepath.Join(dir, "kernels", "headwater", "kernel.json"); err != nil ||
			path != want {
			t.Fatalf("Install() = %q, %v; want %q", path, err, want)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "kernels", "headwater", "kernel.json"))
	must(t, err)
	var got struct {
		Argv     []string
		Display  string `json:"display_name"`
		Language string
		Mode     string `json:"interrupt_mode"`
		Env      map[string]string
	}
	must(t, json.Unmarshal(data, &got))
	wantArgv := []string{
		"/opt/headwater", "kernel", "--connection", "{connection_file}", "--path",
		"/opt/gonb:/usr/lib/go/bin",
	}
	if !slices.Equal(got.Argv, wantArgv) || got.Display != "Go (Headwater)" ||
		got.Language != "go" || got.Mode != "message" || len(got.Env) != 2 ||
		got.Env["KEPT"] != "/models" || got.Env["RELATIVE"] != filepath.Join(work, "xla.so") {
		t.Errorf("kernel.json is %s", data)
	}
	if _, err := os.Stat(filepath.Join(dir, "kernels", "headwater", "logo-svg.svg")); err != nil {
		t.Error(err)
	}
	if removed, err := Uninstall(dataDir); err != nil ||
		removed != filepath.Join(dir, "kernels", "headwater") {
		t.Errorf("Uninstall() = %q, %v", removed, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "kernels")); err != nil || len(left) > 0 {
		t.Errorf("after Uninstall there is %v, %v", left, err)
	}
	if _, err := Uninstall(dataDir); err == nil ||
		!strings.Contains(err.Error(), "there is no kernel in "+dir) {
		t.Errorf("the second Uninstall: %v", err)
	}
}

// TestInstallKeepsWhatIsNotOurs checks that nothing of somebody else is replaced or removed.
func TestInstallKeepsWhatIsNotOurs(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const others = `{"argv": ["other"], "display_name": "Other", "language": "go"}`
	for name, c := range map[string]struct {
		make func(t *testing.T, kernel string)
		want string
	}{
		"a file in place of the directory": {func(t *testing.T, kernel string) { write(t, kernel, "mine") }, "is not a directory"},
		"a link in place of the directory": {
			func(t *testing.T, kernel string) {
				write(t, kernel+"-other/kernel.json", others)
				must(t, os.Symlink(kernel+"-other", kernel))
			},
			"is not a directory",
		},
		"a kernel of another program": {
			func(t *testing.T, kernel string) { write(t, kernel+"/kernel.json", others) },
			"was not written by headwater",
		},
		"no JSON": {func(t *testing.T, kernel string) { write(t, kernel+"/kernel.json", "{\x00") }, "was not written by headwater"},
		"a directory in place of the file": {
			func(t *testing.T, kernel string) { write(t, kernel+"/kernel.json/file", "mine") },
			"is not a file of a kernel",
		},
		"a link in place of the file": {
			func(t *testing.T, kernel string) {
				write(t, kernel+"/other.json", others)
				must(t, os.Symlink("other.json", kernel+"/kernel.json"))
			},
			"is not a file of a kernel",
		},
		"a large file": {
			func(t *testing.T, kernel string) {
				write(t, kernel+"/kernel.json", strings.Repeat(" ", 2<<20))
			},
			"is not a file of a kernel",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kernel := filepath.Join(dir, "kernels", "headwater")
			must(t, os.MkdirAll(filepath.Dir(kernel), 0o755))
			c.make(t, kernel)
			before := contents(t, dir)
			if _, err := Install(options(dir)); err == nil ||
				!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), kernel) {
				t.Errorf("Install: %v, want %q and the path", err, c.want)
			}
			if _, err := Uninstall(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Uninstall: %v, want %q", err, c.want)
			}
			if after := contents(t, dir); before != after {
				t.Errorf("the folder was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// contents returns the names and the beginnings of all files below a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.Mode().String() + "\n")
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			b.Write(data[:min(len(data), 200)])
			return err
		}
		return nil
	})
	must(t, err)
	return b.String()
}

// TestUninstallKeepsOtherFiles checks that a file that the user put beside the kernel stays.
func TestUninstallKeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path, err := Install(options(dir))
	must(t, err)
	notes := filepath.Join(filepath.Dir(path), "notes.txt")
	must(t, os.WriteFile(notes, []byte("mine"), 0o600))
	if _, err := Uninstall(dir); err == nil ||
		!strings.Contains(err.Error(), "its directory has other files") {
		t.Errorf("Uninstall: %v", err)
	}
	if _, err := os.Stat(notes); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("kernel.json is still there")
	}
}

func TestInstallRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		change func(*InstallOptions)
		want   string
	}{
		"no GoNB": {
			func(o *InstallOptions) { o.Programs.GoNB = "" },
			"kernel: GoNB is missing, which runs the cells of notebooks; " +
				"install it with: go install github.com/janpfeifer/gonb@v0.11.4",
		},
		"no goimports": {
			func(o *InstallOptions) { o.Programs.Goimports = "" },
			"kernel: goimports is missing, which runs the cells of notebooks; " +
				"install it with: go install golang.org/x/tools/cmd/goimports@v0.44.0",
		},
		"no Go":                                 {func(o *InstallOptions) { o.Programs.Go = "" }, "kernel: the command go is missing"},
		"go run":                                {func(o *InstallOptions) { o.Command = "/tmp/go-build1/b001/exe/headwater" }, "is there only while go run runs it"},
		"a file in place of the data directory": {func(o *InstallOptions) { o.DataDir = file }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t.TempDir())
			c.change(&o)
			if path, err := Install(o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Install() = %q, %v; want %q", path, err, c.want)
			}
		})
	}
}

// TestUserDataDir compares with the directories that Jupyter's documentation names.
func TestUserDataDir(t *testing.T) {
	t.Setenv("JUPYTER_DATA_DIR", "")
	t.Setenv("HOME", "/home/ada")
	for xdg, want := range map[string]string{
		"":      "/home/ada/.local/share/jupyter",
		"/data": "/data/jupyter",
	} {
		t.Setenv("XDG_DATA_HOME", xdg)
		if got, err := UserDataDir(); err != nil ||
			got != want && got != "/home/ada/Library/Jupyter" { // macOS
			t.Errorf("XDG_DATA_HOME=%q: UserDataDir() = %q, %v; want %q", xdg, got, err, want)
		}
	}
}

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("JUPYTER_DATA_DIR", dir)
	t.Setenv("JUPYTER_PATH", "")
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	if got := Examine(programs); got.Spec != "" && strings.HasPrefix(got.Spec, dir) ||
		got.Problem != "" {
		t.Errorf("Examine() without a kernel = %+v", got)
	}
	self, err := os.Executable()
	must(t, err)
	for command, want := range map[string]string{
		self:        "",
		dir + "/no": "it starts " + dir + "/no, which is no program any more",
	} {
		o := options(dir)
		o.Command = filepath.Join(dir, "headwater")
		must(t, os.RemoveAll(o.Command))
		must(t, os.Symlink(command, o.Command))
		o.Command = command
		if strings.Contains(command, "go-build") { // as the program of a test is
			o.Command = filepath.Join(dir, "headwater")
		}
		path, err := Install(o)
		must(t, err)
		if got := Examine(programs); got.Spec != path || got.Problem != want {
			t.Errorf("Examine() = %+v, want %s and problem %q", got, path, want)
		}
	}
	lacking := programs
	lacking.GoNB = ""
	if got := Examine(lacking); !strings.Contains(got.Problem, "GoNB is missing") &&
		!strings.Contains(got.Problem, "no program any more") {
		t.Errorf("Examine() without GoNB = %+v", got)
	}
}

var must = testhelp.Must // ends a test at an error

// TestVersions: the programs to install are those that this module is tested with.
func TestVersions(t *testing.T) {
	for file, want := range map[string][]string{
		"../tools/go.mod":       {gonbPackage, strings.Replace(goimportsPackage, "/cmd/goimports", "", 1)},
		"../tools/gopls/go.mod": {goplsPackage},
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, name := range want {
			if line := strings.Replace(name, "@", " ", 1); !strings.Contains(string(text), line) {
				t.Errorf("%s lacks %q", file, line)
			}
		}
	}
}
