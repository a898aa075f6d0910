package kernel

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

// between are the two sockets of a kernel that [Between] stands at: cells and answers, and what
// cells show. On the others, Jupyter and GoNB speak to each other.
var between = []string{"shell_port", "iopub_port"}

// connection has the fields of the file by which Jupyter says how to reach a kernel.
type connection map[string]any

func readConnection(path string) (c connection, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && c["ip"] == nil {
		err = fmt.Errorf("%s does not name the ip of the kernel", path)
	}
	return c, err
}

// address returns where the socket with that port is.
func (c connection) address(port string) string {
	return net.JoinHostPort(fmt.Sprint(c["ip"]), fmt.Sprint(c[port]))
}

// startBetween starts a program that runs [Between], and returns the file of the connection to give
// to GoNB. Its name is that of Jupyter's file, from which GoNB takes the kernel's id.
func startBetween(o StartOptions, env []string) (path string, err error) {
	c, err := readConnection(o.Connection)
	if err != nil {
		return "", err
	}
	for _, port := range between {
		c[port] = 0
		l, err := net.Listen("tcp", c.address(port))
		if err != nil {
			return "", err
		}
		defer l.Close() // at the end, so that the ports differ
		c[port] = l.Addr().(*net.TCPAddr).Port
	}
	data, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "headwater-kernel-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(o.Connection))
	self, err := os.Executable()
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err == nil {
		cmd := exec.Command(self, "kernel", "--connection", o.Connection, "--gonb", path,
			"--source", o.Source)
		cmd.Env, cmd.Stderr = env, os.Stderr
		err = cmd.Start()
	}
	return path, err
}

// Between stands between Jupyter and GoNB, the process that started this one, until GoNB ends. It
// passes on all that they send each other, and changes what [cells] does.
func Between(o StartOptions) error {
	signal.Ignore(os.Interrupt) // which is for the cell
	parent := os.Getppid()
	defer os.RemoveAll(filepath.Dir(o.GoNB))
	jupyter, err := readConnection(o.Connection)
	gonb, wrong := readConnection(o.GoNB)
	err = errors.Join(err, wrong)
	r := relay{fmt.Append(nil, gonb["key"]), (&cells{StartOptions: o}).change, o.GoNB}
	for _, port := range between {
		l, wrong := soon(func() (net.Listener, error) { // when a kernel before it has ended
			return net.Listen("tcp", jupyter.address(port))
		})
		if err = errors.Join(err, wrong); err != nil {
			return pkg.Errorf("the sockets of Jupyter: %w", err)
		}
		go func() {
			for {
				client, err := l.Accept()
				if err != nil {
					return
				}
				go r.join(client, gonb.address(port))
			}
		}()
	}
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

// join passes on what a client of Jupyter and GoNB send each other, until one of them ends.
func (r relay) join(client net.Conn, address string) {
	defer client.Close()
	gonb, err := soon(func() (net.Conn, error) { return net.Dial("tcp", address) })
	if err != nil {
		return
	}
	defer gonb.Close()
	_ = os.RemoveAll(filepath.Dir(r.file)) // GoNB has read it
	ended := make(chan error, 2)
	go func() { ended <- r.pass(gonb, client) }()
	go func() { ended <- r.pass(client, gonb) }()
	<-ended
}

// soon tries something for 30 seconds, until there is no error.
func soon[T any](try func() (T, error)) (t T, err error) {
	for range 300 {
		if t, err = try(); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return t, err
}

// relay passes on messages of Jupyter in frames of ZMTP 3 (rfc.zeromq.org/spec/23).
type relay struct {
	key []byte
	// change returns other content of a message that answers parent, or nil.
	change func(kind, id, parent string, content []byte) []byte
	// file is that of the connection to GoNB, alone in its directory.
	file string
}

// The size of ZMTP's greeting, and of the largest message, which GoNB has in memory too.
const (
	greetingBytes = 64
	maxMessage    = 1 << 30
)

// The bits of the first byte of a frame.
const (
	frameMore = 1 << iota
	frameLong
	frameCommand
)

// pass passes on the messages of one direction, each when its last frame has come.
func (r relay) pass(to io.Writer, from io.Reader) error {
	in := bufio.NewReader(from)
	if _, err := io.CopyN(to, in, greetingBytes); err != nil {
		return err
	}
	var parts [][]byte
	for sum := uint64(0); ; {
		flags, err := in.ReadByte()
		if err != nil {
			return err
		}
		var number [8]byte
		short := number[7:]
		if flags&frameLong != 0 {
			short = number[:]
		}
		if _, err := io.ReadFull(in, short); err != nil {
			return err
		}
		size := binary.BigEndian.Uint64(number[:])
		if sum += size; size > maxMessage || sum > maxMessage {
			return pkg.Errorf("the message is too large")
		}
		var part bytes.Buffer // which grows with what comes
		if _, err := io.CopyN(&part, in, int64(size)); err != nil {
			return err
		}
		if parts = append(parts, part.Bytes()); flags&frameMore != 0 {
			continue
		}
		if flags&frameCommand == 0 {
			r.edit(parts)
		}
		if _, err := to.Write(frames(parts, flags&frameCommand|frameLong)); err != nil {
			return err
		}
		parts, sum = nil, 0
	}
}

// frames returns the parts of one message as frames.
func frames(parts [][]byte, flags byte) (all []byte) {
	for i, part := range parts {
		if all = append(all, flags); i < len(parts)-1 {
			all[len(all)-1] |= frameMore
		}
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	return all
}

// edit changes the content of a message that is signed, and signs it again. The parts are those of
// Jupyter: identities, a delimiter, the signature, header, parent header, metadata, content.
func (r relay) edit(parts [][]byte) {
	i := slices.IndexFunc(parts, func(p []byte) bool { return string(p) == "<IDS|MSG>" })
	if i < 0 || len(parts) < i+6 || string(parts[i+1]) != r.sign(parts[i+2:i+6]) {
		return
	}
	var header, parent struct {
		ID   string `json:"msg_id"`
		Kind string `json:"msg_type"`
	}
	if json.Unmarshal(parts[i+2], &header) != nil || json.Unmarshal(parts[i+3], &parent) != nil {
		return
	}
	if content := r.change(header.Kind, header.ID, parent.ID, parts[i+5]); content != nil {
		parts[i+5] = content
		parts[i+1] = []byte(r.sign(parts[i+2 : i+6]))
	}
}

// sign returns the signature of four parts.
func (r relay) sign(parts [][]byte) string {
	mac := hmac.New(sha256.New, r.key)
	for _, part := range parts {
		mac.Write(part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}
