package hub

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/headwater-ml/headwater/internal/atomicfile"
)

// FromEnvironment returns the options that the Python tools would use. The cache is the first that
// is set of HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub and
// ~/.cache/huggingface/hub. The endpoint is HF_ENDPOINT. The token is HF_TOKEN, or the content of
// the file HF_TOKEN_PATH or HF_HOME/token; there is none if HF_HUB_DISABLE_IMPLICIT_TOKEN is true.
// Offline is true if HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is true (1, ON, YES, TRUE). The
// patience is HF_HUB_DOWNLOAD_TIMEOUT in seconds. The lowest speed, which those tools do not have,
// is HEADWATER_MIN_SPEED in bytes a second; 0 means no limit. The folder of short names is
// HEADWATER_MODELS, or else ../models beside the running program. A variable that is empty counts
// as not set. It returns an error if a value cannot be used. Nothing else in this package reads the
// environment, but Go's HTTP client reads HTTPS_PROXY and similar variables.
func FromEnvironment() (Options, error) {
	opts, err := fromEnvironment(os.Getenv)
	if program, failed := os.Executable(); opts.Models == "" && failed == nil {
		opts.Models = filepath.Join(filepath.Dir(filepath.Dir(program)), "models")
	}
	return opts, err
}

// speedVariable is the environment variable that sets [Options.MinSpeed].
const speedVariable = "HEADWATER_MIN_SPEED"

// maxToken is the length of the longest token in bytes.
const maxToken = 4096

func fromEnvironment(getenv func(string) string) (Options, error) {
	home, err := huggingFaceHome(getenv)
	if err != nil {
		return Options{}, err
	}
	opts := Options{Endpoint: getenv("HF_ENDPOINT"), Models: getenv(ModelsVariable)}
	cache := cmp.Or(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"))
	if cache == "" {
		cache = filepath.Join(home, "hub")
	}
	if opts.Cache, err = expand(cache, getenv); err != nil {
		return Options{}, err
	}
	opts.Offline = isTrue(cmp.Or(getenv("HF_HUB_OFFLINE"), getenv("TRANSFORMERS_OFFLINE")))
	if s := getenv("HF_HUB_DOWNLOAD_TIMEOUT"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 86400 {
			return Options{}, pkg.Errorf("HF_HUB_DOWNLOAD_TIMEOUT %q is not a number of "+
				"seconds from 1 to 86400", shortened(s))
		}
		opts.Patience = time.Duration(n) * time.Second
	}
	if s := getenv(speedVariable); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return Options{}, pkg.Errorf("%s %q is not a number of bytes a second, 0 for no limit",
				speedVariable, shortened(s))
		}
		opts.MinSpeed = n
		if n == 0 {
			opts.MinSpeed = -1
		}
	}
	if !isTrue(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		opts.Token, err = token(getenv, home)
	}
	return opts, err
}

func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}

func huggingFaceHome(getenv func(string) string) (string, error) {
	if home := getenv("HF_HOME"); home != "" {
		return expand(home, getenv)
	}
	if cache := getenv("XDG_CACHE_HOME"); cache != "" {
		return expand(filepath.Join(cache, "huggingface"), getenv)
	}
	return expand("~/.cache/huggingface", getenv)
}

// expand replaces ~ at the start of a path, and $NAME.
func expand(path string, getenv func(string) string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
		if home == "" {
			return "", pkg.Errorf("there is no home folder for the cache: set HF_HOME")
		}
		path = home + path[1:]
	}
	return filepath.Clean(os.Expand(path, getenv)), nil
}

// token returns the token of the user. It is empty if there is none.
func token(getenv func(string) string, home string) (string, error) {
	if t := strings.TrimSpace(cmp.Or(getenv("HF_TOKEN"),
		getenv("HUGGING_FACE_HUB_TOKEN"))); t != "" {
		return checkedToken("HF_TOKEN", t)
	}
	path := filepath.Join(home, "token")
	if p := getenv("HF_TOKEN_PATH"); p != "" {
		var err error
		if path, err = expand(p, getenv); err != nil {
			return "", err
		}
	}
	b, err := atomicfile.ReadRegular(path, maxToken)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", pkg.Errorf("the token file %s: %w; look at HF_TOKEN_PATH", path,
			atomicfile.Cause(err))
	}
	return checkedToken(path, strings.TrimSpace(string(b)))
}

// checkedToken returns an error if a token cannot be sent in a header. The error does not show the
// token.
func checkedToken(source, t string) (string, error) {
	for i := range len(t) {
		if t[i] <= ' ' || t[i] >= 0x7f {
			return "", pkg.Errorf("the token of %s has a character that no token has, at "+
				"byte %d", source, i)
		}
	}
	if len(t) > maxToken {
		return "", pkg.Errorf("the token of %s has %d bytes, the limit is %d", source, len(t),
			maxToken)
	}
	return t, nil
}
