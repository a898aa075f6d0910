// Package kubernetes checks the job file that headwater corpus template writes for Kubernetes with
// the types of its API. It is a module of its own, so that nobody who uses Headwater depends on
// Kubernetes. controlplane.sh runs the job on a real control plane.
package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

const (
	tasks = 6
	// The statuses of headwater corpus run that a scheduler has to tell apart.
	usage    = 2
	badShard = 42
	tryAgain = 75
	killed   = 137
)

// TestJobFile reads the file as the API server does that allows no unknown and no double fields,
// and follows what the job says of each way to end.
func TestJobFile(t *testing.T) {
	headwater(t)
	folder := makePlan(t)
	for _, c := range []struct {
		name  string
		args  []string
		queue string
	}{
		{"plain", nil, ""},
		{"Kueue", []string{"--queue", "researchers"}, "researchers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := onlyJob(t, template(t, folder, c.args...))
			checkJob(t, job)
			if got := job.Labels["kueue.x-k8s.io/queue-name"]; got != c.queue {
				t.Errorf("the label of Kueue names the queue %q, want %q", got, c.queue)
			}
			for _, container := range job.Spec.Template.Spec.Containers {
				requests := container.Resources.Requests
				if requests.Cpu().IsZero() || requests.Memory().IsZero() {
					t.Error("no processors or no memory are requested, by which jobs are queued")
				}
			}
		})
	}
}

// onlyJob decodes a file of one or several objects and returns the job.
func onlyJob(t *testing.T, file string) *batch.Job {
	t.Helper()
	var jobs []*batch.Job
	for document := range strings.SplitSeq("\n"+file, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		var object any
		switch kind.APIVersion + " " + kind.Kind {
		case "batch/v1 Job":
			jobs = append(jobs, new(batch.Job))
			object = jobs[len(jobs)-1]
		case "v1 PersistentVolumeClaim":
			object = new(core.PersistentVolumeClaim)
		case "v1 ConfigMap":
			object = new(core.ConfigMap)
		case "v1 Secret":
			object = new(core.Secret)
		default:
			t.Fatalf("the file has an object of kind %s %s", kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
	}
	if len(jobs) != 1 {
		t.Fatalf("the file has %d jobs, want 1:\n%s", len(jobs), file)
	}
	return jobs[0]
}

// checkJob checks that a job is one of numbered tasks, and what it does when a task fails.
func checkJob(t *testing.T, job *batch.Job) {
	t.Helper()
	spec, pod := job.Spec, job.Spec.Template.Spec
	if faults := validation.IsDNS1123Subdomain(job.Name); job.GenerateName == "" && faults != nil {
		t.Errorf("name %q: %v", job.Name, faults)
	}
	for key, value := range job.Labels {
		faults := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
		if faults != nil {
			t.Errorf("label %s=%s: %v", key, value, faults)
		}
	}
	if spec.CompletionMode == nil || *spec.CompletionMode != batch.IndexedCompletion {
		t.Error("the job is not one of numbered tasks: want completionMode: Indexed")
	}
	if spec.Completions == nil || *spec.Completions != tasks {
		t.Errorf("completions %v, want %d", spec.Completions, tasks)
	}
	if spec.Parallelism == nil || *spec.Parallelism < 1 || *spec.Parallelism > tasks {
		t.Errorf("parallelism %v, want 1 to %d", spec.Parallelism, tasks)
	}
	if spec.BackoffLimitPerIndex == nil || *spec.BackoffLimitPerIndex < 1 {
		t.Error("a task that fails is not tried again: want backoffLimitPerIndex")
	}
	// The API refuses a podFailurePolicy with any other policy.
	if pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("restartPolicy %q, want Never", pod.RestartPolicy)
	}
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers, want 1", len(pod.Containers))
	}
	container := pod.Containers[0]
	words := strings.Join(slices.Concat(container.Command, container.Args), " ")
	if !strings.Contains(words, "corpus run ") || container.Image == "" {
		t.Errorf("image %q runs %q", container.Image, words)
	}
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool {
			return v.Name == mount.Name
		}) {
			t.Errorf("volume %s is mounted, but the pod has none of that name", mount.Name)
		}
	}
	if spec.PodFailurePolicy == nil {
		t.Fatal("the job has no podFailurePolicy")
	}
	for code, want := range map[int32]batch.PodFailurePolicyAction{
		1: "", killed: "", usage: batch.PodFailurePolicyActionFailJob,
		badShard: batch.PodFailurePolicyActionFailIndex,
	} {
		if got := action(*spec.PodFailurePolicy, container.Name, code); got != want {
			t.Errorf("status %d: action %q, want %q (empty: it counts as a failure)", code, got,
				want)
		}
	}
	got := action(*spec.PodFailurePolicy, container.Name, tryAgain)
	if got != "" && got != batch.PodFailurePolicyActionIgnore &&
		got != batch.PodFailurePolicyActionCount {
		t.Errorf("status %d: action %q, want one that tries again", tryAgain, got)
	}
}

// action returns what the first rule that fits says of a container that ended with a status, or ""
// if no rule fits.
func action(
	policy batch.PodFailurePolicy, container string, code int32,
) batch.PodFailurePolicyAction {
	for _, rule := range policy.Rules {
		on := rule.OnExitCodes
		if on == nil || on.ContainerName != nil && *on.ContainerName != container {
			continue
		}
		in := on.Operator == batch.PodFailurePolicyOnExitCodesOpIn
		if slices.Contains(on.Values, code) == in {
			return rule.Action
		}
	}
	return ""
}

// headwater sets HEADWATER_BIN to a command that is built, if it is not set.
func headwater(t *testing.T) {
	t.Helper()
	if os.Getenv("HEADWATER_BIN") != "" {
		return
	}
	path := filepath.Join(t.TempDir(), "headwater")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/headwater")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	t.Setenv("HEADWATER_BIN", path)
}

// makePlan plans a corpus of some texts and returns its folder.
func makePlan(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, "texts.txt")
	text := strings.Repeat("mary has the red key . who has the key ?\n", 12)
	if err := os.WriteFile(input, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "corpus")
	corpus(t, "plan", input, folder, "--shards", "12", "--tasks", "6", "--backend", "go")
	return folder
}

// template returns the job file of a folder, which the pods see by its own path.
func template(t *testing.T, folder string, args ...string) string {
	t.Helper()
	return corpus(t, slices.Concat([]string{
		"template", "kubernetes", folder, "--image", "headwater:1", "--claim", "corpora",
		"--mount", filepath.Dir(folder),
	}, args)...)
}

// corpus runs headwater corpus with arguments and returns what it prints.
func corpus(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Getenv("HEADWATER_BIN"), append([]string{"corpus"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("headwater corpus %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
