package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFromEnvironment(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".cache", "huggingface", "token"), "hf_home\n")
	write(t, filepath.Join(home, "hf", "token"), " hf_other ")
	write(t, filepath.Join(home, "mine"), "hf_mine")
	write(t, filepath.Join(home, "bad"), "two\nlines")
	write(t, filepath.Join(home, "long"), strings.Repeat("x", maxToken+1))
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	cases := []struct {
		name string
		env  map[string]string
		want Options
		err  string
	}{
		{"nothing", nil, Options{Cache: at(".cache", "huggingface", "hub"), Token: "hf_home"}, ""},
		{"XDG", map[string]string{"XDG_CACHE_HOME": "~/x"}, Options{Cache: at("x", "huggingface", "hub")}, ""},
		{
			"HF_HOME",
			map[string]string{"HF_HOME": "$HOME/hf", "XDG_CACHE_HOME": "/x"},
			Options{Cache: at("hf", "hub"), Token: "hf_other"},
			"",
		},
		{
			"old cache",
			map[string]string{"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": at("hf")},
			Options{Cache: "/old", Token: "hf_other"},
			"",
		},
		{"cache", map[string]string{"HF_HUB_CACHE": "/new", "HUGGINGFACE_HUB_CACHE": "/old"}, Options{Cache: "/new", Token: "hf_home"}, ""},
		{
			"short names",
			map[string]string{"HEADWATER_MODELS": "models"},
			Options{
				Cache: at(".cache", "huggingface", "hub"), Token: "hf_home", Models: "models",
			},
			"",
		},
		{"token", map[string]string{"HF_TOKEN": " hf_env\n"}, Options{Cache: at(".cache", "huggingface", "hub"), Token: "hf_env"}, ""},
		{
			"old token",
			map[string]string{"HUGGING_FACE_HUB_TOKEN": "hf_old"},
			Options{Cache: at(".cache", "huggingface", "hub"), Token: "hf_old"},
			"",
		},
		{
			"token file",
			map[string]string{"HF_TOKEN_PATH": "~/mine"},
			Options{Cache: at(".cache", "huggingface", "hub"), Token: "hf_mine"},
			"",
		},
		{"no token file", map[string]string{"HF_TOKEN_PATH": "~/none"}, Options{Cache: at(".cache", "huggingface", "hub")}, ""},
		{
			"no token", map[string]string{
				"HF_HUB_DISABLE_IMPLICIT_TOKEN": "yes",
				"HF_TOKEN":                      "hf_env",
			}, Options{Cache: at(".cache", "huggingface", "hub")}, "",
		},
		{
			"offline and slow",
			map[string]string{
				"HF_HUB_OFFLINE": "True", "HF_HUB_DOWNLOAD_TIMEOUT": "60",
				"HF_ENDPOINT": "https://mirror", "HF_HUB_CACHE": "/c", "HF_TOKEN": "t",
			},
			Options{
				Cache: "/c", Offline: true, Patience: time.Minute, Endpoint: "https://mirror",
				Token: "t",
			},
			"",
		},
		{
			"transformers offline",
			map[string]string{"TRANSFORMERS_OFFLINE": "1", "HF_HUB_CACHE": "/c", "HF_TOKEN": "t"},
			Options{Cache: "/c", Offline: true, Token: "t"},
			"",
		},
		{
			"not offline", map[string]string{
				"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "1",
				"HF_HUB_CACHE": "/c", "HF_TOKEN": "t",
			}, Options{Cache: "/c", Token: "t"}, "",
		},
		{
			"timeout no number",
			map[string]string{"HF_HUB_DOWNLOAD_TIMEOUT": "soon"},
			Options{},
			`HF_HUB_DOWNLOAD_TIMEOUT "soon" is not a number of seconds`,
		},
		{
			"lowest speed",
			map[string]string{"HEADWATER_MIN_SPEED": "500", "HF_HUB_CACHE": "/c", "HF_TOKEN": "t"},
			Options{Cache: "/c", MinSpeed: 500, Token: "t"},
			"",
		},
		{
			"no lowest speed",
			map[string]string{"HEADWATER_MIN_SPEED": "0", "HF_HUB_CACHE": "/c", "HF_TOKEN": "t"},
			Options{Cache: "/c", MinSpeed: -1, Token: "t"},
			"",
		},
		{
			"speed no number",
			map[string]string{"HEADWATER_MIN_SPEED": "fast"},
			Options{},
			`HEADWATER_MIN_SPEED "fast" is not a number of bytes a second`,
		},
		{"speed negative", map[string]string{"HEADWATER_MIN_SPEED": "-1"}, Options{}, `HEADWATER_MIN_SPEED "-1"`},
		{"timeout zero", map[string]string{"HF_HUB_DOWNLOAD_TIMEOUT": "0"}, Options{}, "from 1 to 86400"},
		{"token of two lines", map[string]string{"HF_TOKEN_PATH": "~/bad"}, Options{}, "has a character that no token has, at byte 3"},
		{
			"token with a space",
			map[string]string{"HF_TOKEN": "hf secret"},
			Options{},
			"the token of HF_TOKEN has a character that no token has, at byte 2",
		},
		{"token file too long", map[string]string{"HF_TOKEN_PATH": "~/long"}, Options{}, "it has more than 4096 bytes"},
		{"token a folder", map[string]string{"HF_TOKEN_PATH": "~"}, Options{}, "it is not a regular file"},
		{"no home", map[string]string{"HOME": ""}, Options{}, "there is no home folder for the cache: set HF_HOME"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := fromEnvironment(func(key string) string {
				if v, ok := c.env[key]; ok || key != "HOME" {
					return v
				}
				return home
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) ||
					strings.Contains(err.Error(), "secret") {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestFromEnvironmentReadsTheProcess(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("HF_HUB_CACHE", cache)
	t.Setenv("HF_TOKEN", "hf_process")
	t.Setenv(ModelsVariable, "")
	program, err := os.Executable()
	must(t, err)
	got, err := FromEnvironment()
	if err != nil || got.Cache != filepath.Clean(os.Getenv("HF_HUB_CACHE")) ||
		got.Token != "hf_process" ||
		got.Models != filepath.Join(filepath.Dir(program), "..", "models") {
		t.Errorf("%+v, %v, want what the process has", got, err)
	}
}
