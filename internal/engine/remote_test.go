package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headwater-ml/headwater/attribution/trace"
)

// TestParseRemote reads what HEADWATER_ENGINE may say about another machine. Nothing of it can
// become an option of ssh or a word of a shell.
func TestParseRemote(t *testing.T) {
	for text, want := range map[string]remote{
		"ssh://gpu":                    {host: "gpu", command: "headwater"},
		"ssh://gpu/":                   {host: "gpu", command: "headwater"},
		"ssh://me@gpu.lab.org:2222":    {user: "me", host: "gpu.lab.org", port: "2222", command: "headwater"},
		"ssh://[::1]/opt/hw/headwater": {host: "::1", command: "/opt/hw/headwater"},
		"ssh://gpu/~/go/bin/headwater": {host: "gpu", command: "~/go/bin/headwater"},
	} {
		got, err := parseRemote(text)
		want.url = text
		if err != nil || *got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"ssh://":                      "want ssh://[USER@]HOST[:PORT][/PATH]",
		"ssh://-oProxyCommand=x":      "want ssh://",
		"ssh://-x@gpu":                "want ssh://",
		"ssh://a b":                   "want ssh://",
		"ssh://gpu?x=1":               "want ssh://",
		"ssh://gpu:70000":             `port "70000" is not a number from 1 to 65535`,
		"ssh://me:secret@gpu":         "has a password: leave it out",
		"ssh://gpu/opt/head water":    "is not the path of a program without spaces",
		"ssh://gpu/bin/sh%20-c%20x":   "is not the path of a program without spaces",
		"ssh://gpu/opt/$(rm)":         "is not the path of a program without spaces",
		"ssh://gpu/opt/headwater;id/": "is not the path of a program without spaces",
		"ssh://gpu/opt/":              "is not the path of a program without spaces",
	} {
		got, err := parseRemote(text)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "engine: HEADWATER_ENGINE") ||
			strings.Contains(err.Error(), "secret") || trace.KindOf(err) != "" {
			t.Errorf("%s is %+v, error %v; want %q", text, got, err, want)
		}
	}
}

// TestRemoteKeys gives each machine a socket of its own, whose name says that it is forwarded.
func TestRemoteKeys(t *testing.T) {
	t.Setenv("TMPDIR", ShortDir(t))
	var sockets []string
	for _, text := range []string{"ssh://gpu", "ssh://gpu2", "ssh://gpu:23"} {
		r, err := parseRemote(text)
		must(t, err)
		socket, err := socketFor(12, r.key())
		if err != nil || !isRemote(socket) || slices.Contains(sockets, socket) {
			t.Errorf("%s has the socket %s, %v", text, socket, err)
		}
		sockets = append(sockets, socket)
	}
	for _, socket := range []string{"/t/12-00ff.sock", "/t/12-00ff-abcd1234.sock", "/t/odd.sock"} {
		if isRemote(socket) {
			t.Errorf("%s is taken for one of another machine", socket)
		}
	}
}

// TestSSHArguments has every option before the host, and no forwarding but that of the socket.
func TestSSHArguments(t *testing.T) {
	r, err := parseRemote("ssh://me@gpu:2222/~/headwater")
	must(t, err)
	got := r.arguments("/t/l.sock", "/tmp/x/s", 2*time.Hour)
	n := len(got)
	want := []string{
		"-p", "2222", "-l", "me", "--", "gpu",
		"exec ~/headwater serve --remote --socket /tmp/x/s --idle 2h0m0s",
	}
	if !slices.Equal(got[n-len(want):], want) || !slices.Contains(got, "/t/l.sock:/tmp/x/s") ||
		slices.Contains(got, "-R") || slices.Contains(got, "-D") {
		t.Errorf("arguments %q, want them to end with %q", got, want)
	}
}

// TestRemoteVersions accepts a program of the same protocol and release, and one whose release is
// not known.
func TestRemoteVersions(t *testing.T) {
	r := &remote{host: "gpu"}
	if ready := readyLine.FindStringSubmatch("a\n" + ReadyLine("v1.2.3") + "\r\nb"); ready == nil ||
		r.checkVersions(ready[1], ready[2]) != nil {
		t.Errorf("the line of the same version is read as %q", ready)
	}
	if err := r.checkVersions("6", "(devel)"); err == nil ||
		!strings.HasPrefix(err.Error(), "engine: headwater on gpu speaks protocol 6 and this") {
		t.Errorf("protocol 6: %v", err)
	}
	for version, want := range map[string]bool{
		"v1.2.3": true, "v0.0.0-20260102030405-0123456789ab": true, "v1.2.3+dirty": false,
		"(devel)": false, "": false,
	} {
		if isRelease(version) != want {
			t.Errorf("%q is a release: %v", version, !want)
		}
	}
}
