package kernel

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shortFrames returns parts as frames with sizes of one byte, as libzmq writes small ones.
func shortFrames(parts ...string) (all []byte) {
	for i, part := range parts {
		flags := byte(1)
		if i == len(parts)-1 {
			flags = 0
		}
		all = append(append(all, flags, byte(len(part))), part...)
	}
	return all
}

// partsOf returns the parts of frames with sizes of eight bytes.
func partsOf(t *testing.T, all []byte) (parts []string) {
	t.Helper()
	for len(all) > 0 {
		size := 9 + binary.BigEndian.Uint64(all[1:])
		parts = append(parts, string(all[9:size]))
		all = all[size:]
	}
	return parts
}

// TestReadConnection refuses files that are no connection.
func TestReadConnection(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"null": "null", "list": "[]", "half": `{"ip":`, "empty": "{}"})
	for _, name := range []string{"null", "list", "half", "empty", "missing"} {
		o := StartOptions{Connection: filepath.Join(dir, name)}
		if _, err := startBetween(o, nil); err == nil {
			t.Errorf("a connection is read from %s", name)
		}
	}
}

// TestRelay passes on a greeting, a command and messages. What is signed is changed and signed
// again; what is not, as that of somebody without the key, stays.
func TestRelay(t *testing.T) {
	r := relay{key: []byte("secret"), change: func(kind, id, parent string, content []byte) []byte {
		if kind != "error" || id != "1" || parent != "0" {
			return nil
		}
		return append(content, " changed"...)
	}}
	header, parent := `{"msg_id":"1","msg_type":"error"}`, `{"msg_id":"0"}`
	sign := func(parts ...string) string {
		all := make([][]byte, len(parts))
		for i, part := range parts {
			all[i] = []byte(part)
		}
		return r.sign(all)
	}
	// printf '%s' with the four parts, in openssl dgst -sha256 -hmac secret.
	const known = "095463f2cd197302b92d8b628da12984224db3bc04c6e98e3789364900013171"
	if got := sign(header, parent, "{}", "text"); got != known {
		t.Errorf("the signature is %s, want %s", got, known)
	}
	greeting := strings.Repeat("g", 64)
	for _, c := range []struct {
		name string
		in   []byte
		want []string
	}{
		{"command", append([]byte{4, 5}, "READY"...), []string{"READY"}},
		{"subscription", shortFrames("\x01"), []string{"\x01"}},
		{
			"signed", shortFrames("a", "b", "<IDS|MSG>", sign(header, parent, "{}", "text"), header,
				parent, "{}", "text", "buffer"),
			[]string{
				"a", "b", "<IDS|MSG>", sign(header, parent, "{}", "text changed"), header, parent,
				"{}", "text changed", "buffer",
			},
		},
		{
			"not signed", shortFrames("<IDS|MSG>", "0123", header, parent, "{}", "text"),
			[]string{"<IDS|MSG>", "0123", header, parent, "{}", "text"},
		},
		{"part of a message", shortFrames("<IDS|MSG>", "0123"), []string{"<IDS|MSG>", "0123"}},
		{"large", frames([][]byte{make([]byte, 1<<20)}, 2), []string{string(make([]byte, 1<<20))}},
	} {
		var out bytes.Buffer
		err := r.pass(&out, strings.NewReader(greeting+string(c.in)))
		text := out.String()
		if err == nil || !strings.HasPrefix(text, greeting) {
			t.Fatalf("%s: %v, %d bytes go out", c.name, err, len(text))
		}
		if d := cmp.Diff(c.want, partsOf(t, []byte(text[64:]))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if c.name == "command" && text[64] != 4|2 {
			t.Errorf("the flags of a command are %d", text[64])
		}
	}
	frame := append([]byte{2}, binary.BigEndian.AppendUint64(nil, 1<<40)...)
	err := r.pass(&bytes.Buffer{}, strings.NewReader(greeting+string(frame)))
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a frame of 1 TiB: %v", err)
	}
}
