package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution"
	"github.com/headwater-ml/headwater/internal/cli"
	"github.com/headwater-ml/headwater/internal/cli/clitest"
	"github.com/headwater-ml/headwater/internal/engine"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

// shortTemp makes a short folder for sockets, whose paths have a limit, and puts engines there.
func shortTemp(t *testing.T) {
	t.Setenv("TMPDIR", testhelp.ShortDir(t))
}

// startEngine serves in this process, as the engine of a kernel.
func startEngine(t *testing.T, kernel int) engine.Client {
	t.Helper()
	socket, err := engine.SocketFor(kernel)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, headwater, []string{"serve", "--socket", socket, "--backend", "go"}, nil, nil, io.Discard)
	}()
	t.Cleanup(func() {
		cancel()
		if status := <-done; status != cli.StatusOK {
			t.Errorf("serve ended with status %d", status)
		}
	})
	client := engine.Client{Socket: socket}
	for {
		if _, err := client.Info(ctx); err == nil {
			return client
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestEngineList(t *testing.T) {
	shortTemp(t)
	if out := headwater.Output(t, "engine", "list"); out != "no engine runs\n" {
		t.Errorf("list without engines: %q", out)
	}
	if out := headwater.Output(t, "engine", "list", "--json"); out != "[]\n" {
		t.Errorf("JSON without engines: %q", out)
	}
	if out := headwater.Output(t, "engine", "stop", "--all"); out != "no engine runs\n" {
		t.Errorf("stop without engines: %q", out)
	}
	t.Setenv("JPY_SESSION_NAME", "work/a.ipynb")
	client := startEngine(t, os.Getpid())
	_, err := client.Explain(t.Context(), engine.Model{}, clitest.Prompt,
		attribution.Options{MaxTokens: 1})
	must(t, err)
	pid := os.Getpid()
	want := regexp.MustCompile(fmt.Sprintf(`(?m)^PROCESS +KERNEL +NOTEBOOK +MEMORY +RUNNING +`+
		`IDLE +MODELS$\n^%d +%d +work/a\.ipynb +[0-9.]+ [MG]B +[0-9]+s +[0-9]+s +`+
		`tiny \(go, [0-9.]+ MB\)$`, pid, pid))
	out := ""
	for deadline := time.Now().Add(10 * time.Second); !want.MatchString(out); {
		if time.Now().After(deadline) {
			t.Fatalf("list says\n%swant %s", out, want)
		}
		// the request may not have ended completely
		out = headwater.Output(t, "engine", "list")
	}
	var facts []engineFacts
	err = json.Unmarshal([]byte(headwater.Output(t, "engine", "list", "--json")), &facts)
	if err != nil || len(facts) != 1 || facts[0].Process != pid || facts[0].Kernel != pid ||
		len(facts[0].Models) != 1 || facts[0].Models[0].Name != "tiny" ||
		facts[0].Protocol != engine.Version {
		t.Errorf("JSON says %+v, %v", facts, err)
	}
	out = headwater.Output(t, "engine", "stop", fmt.Sprint(pid))
	if want := fmt.Sprintf("engine %d ended\n", pid); out != want {
		t.Errorf("stop says %q, want %q", out, want)
	}
	if out := headwater.Output(t, "engine", "list"); out != "no engine runs\n" {
		t.Errorf("list after stop: %q", out)
	}
}

// TestEngineOfEndedKernel says that the kernel is gone.
func TestEngineOfEndedKernel(t *testing.T) {
	shortTemp(t)
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Skip("no sleep command:", err)
	}
	startEngine(t, sleep.Process.Pid) // it watches nothing
	_ = sleep.Process.Kill()
	_ = sleep.Wait()
	out := headwater.Output(t, "engine", "list")
	if want := fmt.Sprintf("%d (ended)", sleep.Process.Pid); !strings.Contains(out, want) {
		t.Errorf("list says\n%swant %q", out, want)
	}
}

func TestEngineRefusals(t *testing.T) {
	shortTemp(t)
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"nothing to do", []string{"engine"}, "", 2, "known are list and stop"},
		{"unknown", []string{"engine", "lst"}, "", 2, `unknown command "lst"`},
		{"stop what", []string{"engine", "stop"}, "", 2, "engine stop needs the process numbers"},
		{"stop all and one", []string{"engine", "stop", "--all", "1"}, "", 2, "engine stop needs"},
		{"no number", []string{"engine", "stop", "tiny"}, "", 2, `engine stop "tiny": want the number`},
		{"none runs", []string{"engine", "stop", "1"}, "", 1, "engine stop 1: no engine runs"},
		{"list what", []string{"engine", "list", "tiny"}, "", 2, `list takes no argument, got "tiny"`},
	})
	startEngine(t, os.Getpid())
	headwater.CheckRefusals(t, []clitest.Refusal{
		{"another one runs", []string{"engine", "stop", "1"}, "", 1, fmt.Sprintf(
			"engine stop 1: no engine has this process; running are %d", os.Getpid())},
	})
}
