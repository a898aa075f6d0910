package kubernetes

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	token   = "loopback-only"
	jobs    = "/apis/batch/v1/namespaces/default/jobs"
	pods    = "/api/v1/namespaces/default/pods"
	indexed = "batch.kubernetes.io/job-completion-index"
	// patience is how long the job may take, most of it waits of the job controller.
	patience = 4 * time.Minute
)

// TestControlPlane gives the job to a real API server and a real job controller. What a kubelet
// does is done here: the command of each pod runs as a process, of which one is killed.
func TestControlPlane(t *testing.T) {
	programs := os.Getenv("HEADWATER_KUBERNETES")
	if programs == "" {
		t.Skip("needs the programs that internal/e2e/kubernetes/controlplane.sh builds in some " +
			"minutes; it sets HEADWATER_KUBERNETES to their folder")
	}
	headwater(t)
	folder := makePlan(t)
	alone := makePlan(t)
	corpus(t, "run", alone)

	p := startControlPlane(t, programs)
	queued := onlyJob(t, template(t, folder, "--queue", "researchers"))
	p.must("POST", jobs+"?fieldValidation=Strict&dryRun=All", queued, nil)
	job := onlyJob(t, template(t, folder))
	var created batch.Job
	p.must("POST", jobs+"?fieldValidation=Strict", job, &created)
	if created.Spec.PodFailurePolicy == nil {
		t.Error("the server has dropped the podFailurePolicy")
	}
	n := &node{p: p, running: make(map[string]*exec.Cmd), ended: make(chan ending, 100)}
	t.Cleanup(n.stop)
	job = n.serve(created.Name)
	t.Logf("the job ended after %d starts: %d tasks succeeded", n.starts, job.Status.Succeeded)
	if job.Status.Succeeded != tasks || job.Status.CompletedIndexes != "0-5" {
		t.Errorf("tasks %q succeeded, want 0-5", job.Status.CompletedIndexes)
	}
	if n.killed != 1 || n.starts <= tasks {
		t.Errorf("%d workers were killed and %d started, want 1 and more than %d", n.killed,
			n.starts, tasks)
	}
	if out := corpus(t, "missing", folder); strings.Contains(out, "--array") {
		t.Errorf("after the job: %s", out)
	}
	if got, want := merged(t, folder), merged(t, alone); got != want {
		t.Error("the merged file differs from that of one process")
	}
}

// merged checks a finished corpus and returns the hash of its merged file.
func merged(t *testing.T, folder string) [sha256.Size]byte {
	t.Helper()
	corpus(t, "verify", folder)
	path := filepath.Join(t.TempDir(), "merged.parquet")
	corpus(t, "merge", folder, "-o", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}

// controlPlane is etcd, an API server and the job controller, on loopback and for one test.
type controlPlane struct {
	t      *testing.T
	dir    string
	url    string
	client *http.Client
}

func startControlPlane(t *testing.T, programs string) *controlPlane {
	t.Helper()
	p := &controlPlane{t: t, dir: t.TempDir(), client: &http.Client{
		// The server makes a certificate for itself.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}}
	ports := freePorts(t, 3)
	p.url = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peers := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	p.start(programs, "etcd", "--data-dir", p.path("etcd"), "--listen-client-urls", etcd,
		"--advertise-client-urls", etcd, "--listen-peer-urls", peers,
		"--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers,
		"--unsafe-no-fsync")
	p.write("tokens", []byte(token+",tester,1,system:masters\n"))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.write("key", pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key),
	}))
	p.start(programs, "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(ports[2]), "--cert-dir", p.path("certificates"),
		"--token-auth-file", p.path("tokens"), "--authorization-mode", "AlwaysAllow",
		"--service-account-issuer", "https://localhost", "--service-account-key-file",
		p.path("key"), "--service-account-signing-key-file", p.path("key"),
		"--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none",
		"--disable-admission-plugins", "ServiceAccount", "--profiling=false")
	p.eventually("the API server is ready", func() bool {
		return p.ask("GET", "/readyz", nil, nil) == nil
	})
	p.write("kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %q}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, p.url, token))
	p.start(programs, "kube-controller-manager", "--kubeconfig", p.path("kubeconfig"),
		"--controllers", "job-controller", "--leader-elect=false", "--secure-port", "0")
	return p
}

func (p *controlPlane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *controlPlane) write(name string, text []byte) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// start starts a program, which is ended after the test.
func (p *controlPlane) start(programs, name string, args ...string) {
	p.t.Helper()
	log, err := os.Create(p.path(name + ".log"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(programs, name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()         // it was killed
		if p.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			lines := strings.Split(string(text), "\n")
			p.t.Logf("%s:\n%s", name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

// must asks the server, which has to agree.
func (p *controlPlane) must(method, path string, body, answer any) {
	p.t.Helper()
	if err := p.ask(method, path, body, answer); err != nil {
		p.t.Fatal(err)
	}
}

// ask sends an object and reads one, if they are not nil.
func (p *controlPlane) ask(method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	reply, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err = io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, reply.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (p *controlPlane) eventually(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// node does what a scheduler and a kubelet do: it gives itself every pod, runs its command as a
// process and reports how it ended. It kills the first worker that it starts.
type node struct {
	p       *controlPlane
	running map[string]*exec.Cmd // by the name of the pod
	ended   chan ending
	starts  int
	killed  int
}

// ending is how the command of a pod ended.
type ending struct {
	pod, container string
	code           int32
}

// serve runs pods until the job has ended.
func (n *node) serve(name string) *batch.Job {
	n.p.t.Helper()
	var job batch.Job
	n.p.eventually("the job ends", func() bool {
		var list core.PodList
		n.p.must("GET", pods, nil, &list)
		for _, pod := range list.Items {
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
				n.run(pod)
			}
		}
		for len(n.running) > 0 {
			select {
			case e := <-n.ended:
				n.report(e)
				continue
			default:
			}
			break
		}
		n.p.must("GET", jobs+"/"+name, nil, &job)
		return slices.ContainsFunc(job.Status.Conditions, func(c batch.JobCondition) bool {
			return c.Status == core.ConditionTrue &&
				(c.Type == batch.JobComplete || c.Type == batch.JobFailed)
		})
	})
	return &job
}

// run binds a pod to this node and starts its command. Volumes are not mounted: their paths are
// those of this machine.
func (n *node) run(pod core.Pod) {
	n.p.t.Helper()
	n.p.must("POST", pods+"/"+pod.Name+"/binding", core.Binding{
		TypeMeta:   meta.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: meta.ObjectMeta{Name: pod.Name},
		Target:     core.ObjectReference{Kind: "Node", Name: "n1"},
	}, nil)
	container := pod.Spec.Containers[0]
	words := slices.Concat(container.Command, container.Args)
	if words[0] == "headwater" {
		words[0] = os.Getenv("HEADWATER_BIN")
	} else if len(container.Command) == 0 { // the entry point of the image
		words = append([]string{os.Getenv("HEADWATER_BIN")}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = os.Environ()
	for _, v := range container.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil && from.FieldRef != nil &&
			strings.Contains(from.FieldRef.FieldPath, indexed) {
			value = pod.Annotations[indexed]
		}
		cmd.Env = append(cmd.Env, v.Name+"="+value)
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		n.p.t.Fatal(err)
	}
	n.running[pod.Name] = cmd
	if n.starts++; n.starts == 1 {
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			n.p.t.Fatal(err)
		}
		n.killed++
	}
	go func() {
		err := cmd.Wait()
		code := cmd.ProcessState.ExitCode()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		} else if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			n.p.t.Logf("%s: %v: %s", pod.Name, err, log.Bytes())
		}
		n.ended <- ending{pod.Name, container.Name, int32(code)}
	}()
}

// stop ends the commands that a failed test leaves.
func (n *node) stop() {
	for range n.running {
		for _, cmd := range n.running {
			_ = cmd.Process.Kill() // it may have ended by itself
		}
		<-n.ended
	}
}

// report is how the command of a pod ended.
func (n *node) report(e ending) {
	n.p.t.Helper()
	delete(n.running, e.pod)
	phase := core.PodSucceeded
	if e.code != 0 {
		phase = core.PodFailed
	}
	n.p.must("PATCH", pods+"/"+e.pod+"/status", map[string]any{"status": map[string]any{
		"phase": phase,
		"containerStatuses": []core.ContainerStatus{{
			Name: e.container,
			State: core.ContainerState{
				Terminated: &core.ContainerStateTerminated{ExitCode: e.code, Reason: "Ended"},
			},
		}},
	}}, nil)
}

// freePorts returns ports of loopback that nothing listens on.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all of them are chosen, so that they differ
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}
