package xlaplugin

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxPlugin is how many bytes a plugin, or what it is packed in, may have; those for CPUs have
// about 260 million.
const maxPlugin = 2 << 30

// fromWheel has pip fetch the wheel.
func fromWheel(ctx context.Context, opts InstallOptions, work string) (Installed, error) {
	what := "fetching the wheel of " + Wheel
	opts.OnProgress(what, 0, 0)
	file, err := pipDownload(ctx, Wheel, WheelSHA256, work, func(done int64) {
		opts.OnProgress(what, done, 0)
	})
	if err != nil {
		return Installed{}, err
	}
	return unpack(ctx, opts, file, work)
}

// fromUser takes a file or an address that the user names.
func fromUser(ctx context.Context, opts InstallOptions, work string) (Installed, error) {
	file, shown := opts.From, opts.From
	if isAddress(opts.From) {
		u, err := url.Parse(opts.From)
		if err != nil {
			return Installed{}, fmt.Errorf("plugin: %w", err)
		}
		file, shown = filepath.Join(work, "download"), u.Redacted()
		if err := download(ctx, opts, file); err != nil {
			return Installed{}, fmt.Errorf("plugin: %s: %w", shown, err)
		}
	}
	got, err := unpack(ctx, opts, file, work)
	if err != nil {
		return Installed{}, fmt.Errorf("plugin: %s: %w", shown, err)
	}
	return got, nil
}

// isAddress reports whether what the user names is to be fetched.
func isAddress(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}

// download writes what an address has into a file.
func download(ctx context.Context, opts InstallOptions, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, opts.From, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server says %s", response.Status)
	}
	what := "fetching " + path.Base(request.URL.Path)
	return save(ctx, file, response.Body,
		func(done int64) { opts.OnProgress(what, done, max(response.ContentLength, 0)) })
}

// save writes a stream into a new file.
func save(ctx context.Context, file string, from io.Reader, progress func(done int64)) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := os.OpenFile(file, flags, 0o644) //nolint:gosec // not secret
	if err != nil {
		return err
	}
	defer f.Close()
	var done int64
	buffer := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(buffer)
		if _, failed := f.Write(buffer[:n]); failed != nil {
			return failed
		}
		if done += int64(n); done > maxPlugin {
			return fmt.Errorf("it has more than %d bytes", int64(maxPlugin))
		}
		progress(done)
		if errors.Is(err, io.EOF) {
			return f.Close()
		}
		if err != nil {
			return fmt.Errorf("it ends after %d bytes: %w", done, err)
		}
	}
}

// unpack checks the hash of a file and takes the plugin out of it, by what its first bytes say it
// is.
func unpack(ctx context.Context, opts InstallOptions, file, work string) (Installed, error) {
	opts.OnProgress("checking "+filepath.Base(file), 0, 0)
	sum, size, err := hashFile(file)
	if err != nil {
		return Installed{}, err
	}
	if !allowed(sum, opts) {
		return Installed{}, hashError(sum, opts)
	}
	f, err := os.Open(file)
	if err != nil {
		return Installed{}, err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return Installed{}, fmt.Errorf("it has %d bytes", size)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Installed{}, err
	}
	got := Installed{Path: filepath.Join(work, File), Source: "file", Checked: true}
	if sum == WheelSHA256 || sum == PluginSHA256 {
		got.Source, got.Version = SourceWheel, Wheel
	}
	write := func(from io.Reader) error {
		return save(ctx, got.Path, from, func(done int64) { opts.OnProgress("unpacking", done, 0) })
	}
	switch {
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		err = fromZip(f, size, write)
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")):
		err = fromTar(f, write)
	case bytes.HasPrefix(magic, []byte("\x7fELF")):
		err = write(f)
	default:
		err = errors.New("it is neither a wheel, nor a .tar.gz, nor a shared library")
	}
	return got, err
}

// ErrUnknownHash is the error of [Install] for a file whose hash is not known. One that is trusted
// can be named by [InstallOptions.SHA256].
var ErrUnknownHash = errors.New("if you trust it, give its hash from where it comes from")

// hashError returns the error for a file with a hash that is not allowed.
func hashError(sum string, opts InstallOptions) error {
	if opts.SHA256 != "" {
		return fmt.Errorf("its SHA-256 is %s, want %s", sum, strings.ToLower(opts.SHA256))
	}
	return fmt.Errorf("its SHA-256 is %s, which is not that of %s (%s); %w",
		sum, Wheel, WheelSHA256, ErrUnknownHash)
}

// isPlugin reports whether an entry of an archive is the plugin. Its name alone counts, so no entry
// can be written elsewhere.
func isPlugin(name string) bool {
	base := path.Base(name)
	return base == File || strings.HasPrefix(base, "pjrt_c_api_cpu_") &&
		strings.HasSuffix(base, "_plugin.so")
}

func fromZip(f *os.File, size int64, write func(io.Reader) error) error {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		if !isPlugin(entry.Name) || !entry.Mode().IsRegular() {
			continue
		}
		from, err := entry.Open()
		if err != nil {
			return err
		}
		return errors.Join(write(from), from.Close())
	}
	return fmt.Errorf("it holds no %s", File)
}

func fromTar(f io.Reader, write func(io.Reader) error) error {
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	archive := tar.NewReader(unzipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it holds no %s", File)
		}
		if err != nil {
			return err
		}
		if isPlugin(header.Name) && header.Typeflag == tar.TypeReg {
			return write(archive)
		}
	}
}
