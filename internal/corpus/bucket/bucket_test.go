package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headwater-ml/headwater/internal/corpus/bucket"
	"github.com/headwater-ml/headwater/internal/corpus/bucket/buckettest"
	"github.com/headwater-ml/headwater/internal/testhelp"
)

var must = testhelp.Must // ends a test at an error

func open(t *testing.T, s *buckettest.Server) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(parse(t, s.Address("")))
	must(t, err)
	return b
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u
}

// noise returns so many bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // it never fails
	return b
}

// An object is what was written, whole or in several parts, and the server refuses another one
// under its key unless it is asked to replace it.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int
	}{{"empty", 0}, {"whole", 1000}, {"parts", 65<<20 + 1}} {
		s := buckettest.New(t)
		b := open(t, s)
		data := noise(c.bytes)
		write := func(data []byte, replace bool) error {
			return b.Write(t.Context(), "a/x", bytes.NewReader(data), int64(len(data)), replace)
		}
		if err := write(data, false); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !bytes.Equal(s.Object("a/x"), data) {
			t.Errorf("%s: the server has %d bytes, want %d", c.name, len(s.Object("a/x")), c.bytes)
		}
		other := append(noise(c.bytes), 1)
		if err := write(other, false); !errors.Is(err, bucket.ErrExists) {
			t.Errorf("%s: the second one: %v, want ErrExists", c.name, err)
		}
		if s.Parts() != 0 || !bytes.Equal(s.Object("a/x"), data) {
			t.Errorf("%s: a refused one left %d parts", c.name, s.Parts())
		}
		if err := write(other, true); err != nil || !bytes.Equal(s.Object("a/x"), other) {
			t.Errorf("%s: it was not replaced: %v", c.name, err)
		}
	}
}

// A part that fails once is sent again, and parts of an upload that fails for good are removed.
func TestWriteParts(t *testing.T) {
	const size = 65 << 20
	for _, c := range []struct {
		name      string
		failures  int
		interrupt bool
		want      string
	}{
		{"once", 1, false, ""},
		{"always", 1000, false, "the server answers SlowDown"},
		{"interrupted", 1000, true, "context canceled"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := buckettest.New(t)
		s.Refuse = func(r *http.Request) (int, string) {
			if r.URL.Query().Get("partNumber") == "3" && c.failures > 0 {
				c.failures--
				if c.interrupt {
					cancel()
				}
				return http.StatusServiceUnavailable, "SlowDown"
			}
			return 0, ""
		}
		data := noise(size)
		err := open(t, s).Write(ctx, "x", bytes.NewReader(data), size, false)
		cancel()
		if c.want == "" && (err != nil || !bytes.Equal(s.Object("x"), data)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want) ||
			s.Object("x") != nil) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
		if s.Parts() != 0 {
			t.Errorf("%s: %d parts are left", c.name, s.Parts())
		}
	}
}

func TestRead(t *testing.T) {
	s := buckettest.New(t)
	b := open(t, s)
	s.Set("x", []byte("0123456789"))
	for _, c := range []struct {
		offset, length int64
		want           string
	}{
		{0, -1, "0123456789"}, {0, 1, "0"}, {3, 4, "3456"}, {7, -1, "789"}, {8, 100, "89"},
	} {
		r, err := b.Read(t.Context(), "x", c.offset, c.length)
		must(t, err)
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(got) != c.want {
			t.Errorf("Read(%d, %d) = %q, %v, want %q", c.offset, c.length, got, err, c.want)
		}
	}
	if size, err := b.Size(t.Context(), "x"); err != nil || size != 10 {
		t.Errorf("Size = %d, %v, want 10", size, err)
	}
}

// A list has every page, and ends with the error of its context in the middle.
func TestList(t *testing.T) {
	s := buckettest.New(t)
	b := open(t, s)
	var want []string
	for _, name := range strings.Fields("a b+c d e/f g%20h i j ü") {
		s.Set("in/"+name, []byte(name))
		want = append(want, "in/"+name)
	}
	s.Set("other", nil)
	slices.Sort(want)
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	err := b.List(ctx, "in/", func(key string, bytes int64) {
		got = append(got, key)
		if bytes != int64(len(key)-len("in/")) {
			t.Errorf("%s has %d bytes", key, bytes)
		}
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, keys (-want +got):\n%s", err, diff)
	}
	err = b.List(ctx, "in/", func(string, int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the context ended", err)
	}
}

// The keys come from a profile of a file as well, and a request without any is not sent.
func TestAccount(t *testing.T) {
	s := buckettest.New(t)
	var signed string
	s.Refuse = func(r *http.Request) (int, string) {
		signed = r.Header.Get("Authorization")
		return 0, ""
	}
	s.Set("x", []byte("1"))
	dir := t.TempDir()
	accounts, config := filepath.Join(dir, "credentials"), filepath.Join(dir, "config")
	write := func(path, text string) {
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const keys = "]\naws_access_key_id = %\naws_secret_access_key = s\n"
	write(accounts, "[default"+strings.Replace(keys, "%", "standard", 1)+
		"[lab"+strings.Replace(keys, "%", "lab", 1))
	write(config, "[profile work"+strings.Replace(keys, "%", "work", 1))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", accounts)
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, c := range []struct{ key, variable, settings, want string }{
		{"reader", "lab", "", "Credential=reader/"},
		{"reader", "", "&profile=lab", "Credential=lab/"},
		{"", "", "", "Credential=standard/"},
		{"", "lab", "", "Credential=lab/"},
		{"", "work", "", "Credential=work/"},
		{"", "none", "", "no account"},
		{"", "", "&anonymous=true", ""},
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", c.key)
		t.Setenv("AWS_PROFILE", c.variable)
		b, err := bucket.Open(parse(t, s.Address("")+c.settings))
		must(t, err)
		signed = "no request"
		_, err = b.Size(t.Context(), "x")
		switch {
		case c.want == "no account":
			if !errors.Is(err, bucket.ErrNoAccount) || signed != "no request" {
				t.Errorf("%+v: %v, want ErrNoAccount and no request", c, err)
			}
		case err != nil || !strings.Contains(signed, c.want) || c.want == "" && signed != "":
			t.Errorf("%+v: signed by %q, %v", c, signed, err)
		}
	}
}

// The address and the environment say where the server is, and what they get wrong is named.
func TestOpen(t *testing.T) {
	for _, c := range []struct{ address, variable, value, want string }{
		{"s3://bucket?region=eu-west-1", "", "", ""},
		{"s3://bucket?endpoint=storage.googleapis.com", "", "", ""},
		{"s3://bucket?endpoint=https://host:9000/&use_path_style=false", "", "", ""},
		{"s3://bucket", "AWS_ENDPOINT_URL", "http://host", ""},
		{"s3://", "", "", "bucket: Bucket name cannot be"},
		{"s3://bucket?bogus=1", "", "", "bogus=\"1\": there is no such setting; known are anonymous"},
		{"s3://bucket?use_path_style=2", "", "", `use_path_style="2": `},
		{"s3://bucket?endpoint=ftp://host", "", "", "want https://host:port"},
		{"s3://bucket?endpoint=https://host/path", "", "", "cannot have fully qualified paths"},
		{"s3://bucket?region=%zz", "", "", "invalid URL escape"},
		{"s3://bucket", "AWS_CA_BUNDLE", "/nope", "AWS_CA_BUNDLE: open /nope"},
		{"s3://bucket", "AWS_CA_BUNDLE", "/dev/null", "/dev/null has no certificates"},
	} {
		if c.variable != "" {
			t.Setenv(c.variable, c.value)
		}
		_, err := bucket.Open(parse(t, c.address))
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.address, err, c.want)
		}
		if c.variable != "" {
			t.Setenv(c.variable, "")
		}
	}
}

// Requests go to the server, and have the name of the bucket where the address says.
func TestRequests(t *testing.T) {
	s := buckettest.New(t)
	var asked []string
	s.Refuse = func(r *http.Request) (int, string) {
		asked = append(asked, r.Host+r.URL.Path)
		return http.StatusForbidden, "AccessDenied"
	}
	host := strings.TrimPrefix(s.Address("")[strings.Index(s.Address(""), "http://"):], "http://")
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://"+host)
	b, err := bucket.Open(parse(t, "s3://corpora?region=us-east-1"))
	must(t, err)
	_, err = b.Size(t.Context(), "x")
	if a := (*bucket.Answer)(nil); !errors.As(err, &a) || a.Status != http.StatusForbidden ||
		len(asked) != 1 || asked[0] != host+"/corpora/x" {
		t.Errorf("error %v of requests to %q", err, asked)
	}
}
