package modeltest_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headwater-ml/headwater/internal/checkpoint"
	"github.com/headwater-ml/headwater/models/family"
)

// How many changed configurations TestMutants reads, and from which seed.
var (
	mutants = flag.Int("mutants", 2000, "configurations that TestMutants reads")
	seed    = flag.Uint64("mutant-seed", 1, "seed of TestMutants")
)

// entry is a key of an object with its value as text, or an entry of a list, where the key is
// empty.
type entry struct {
	key   string
	value *tree
}

// tree is a JSON value. It keeps the order of keys, and keys that come twice.
type tree struct {
	open    byte // '{', '[' or 0
	text    string
	entries []entry
}

func parseTree(t testing.TB, d *json.Decoder) *tree {
	t.Helper()
	token, err := d.Token()
	must(t, err)
	delim, ok := token.(json.Delim)
	if !ok {
		text, err := json.Marshal(token)
		must(t, err)
		return &tree{text: string(text)}
	}
	n := &tree{open: byte(delim)}
	for d.More() {
		var e entry
		if n.open == '{' {
			key, err := d.Token()
			must(t, err)
			e.key = key.(string)
		}
		e.value = parseTree(t, d)
		n.entries = append(n.entries, e)
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *tree) write(b *bytes.Buffer) {
	if n.open == 0 {
		b.WriteString(n.text)
		return
	}
	b.WriteByte(n.open)
	for i, e := range n.entries {
		if i > 0 {
			b.WriteString(",\n")
		}
		if n.open == '{' {
			key, _ := json.Marshal(e.key)
			b.Write(key)
			b.WriteByte(':')
		}
		e.value.write(b)
	}
	b.WriteByte(map[byte]byte{'{': '}', '[': ']'}[n.open])
}

func (n *tree) String() string {
	var b bytes.Buffer
	n.write(&b)
	return b.String()
}

func (n *tree) clone() *tree {
	c := &tree{open: n.open, text: n.text}
	for _, e := range n.entries {
		c.entries = append(c.entries, entry{e.key, e.value.clone()})
	}
	return c
}

// keys adds the keys of all objects to a set.
func (n *tree) keys(to map[string]bool) {
	for _, e := range n.entries {
		if n.open == '{' {
			to[e.key] = true
		}
		e.value.keys(to)
	}
}

// hostileValues are put in the place of another value.
var hostileValues = []string{
	"null", "true", "false", "0", "1", "-1", "2", "3", "5", "-2147483648", "2147483647",
	"2147483648", "4294967296",
	"9223372036854775808", "-0", "0.0", "0.5", "1.5", "1e2", "32.0", "1e-400", "1e999", "1e300",
	"-1e300",
	`""`, `"3"`, `"text"`, `"gelu"`, `"null"`, `"NaN"`, `"\u0000"`, `"\ud800"`,
	`"` + strings.Repeat("long ", 2000) + `"`,
	"[]", "[1]", "[null]", "[[1]]", `["a"]`, `["sliding_attention"]`, "{}", `{"a":1}`,
	`{"0":"a","1":"b"}`, `{"rope_type":"yarn"}`,
	"NaN", "Infinity", "-Infinity", strings.Repeat("9", 400),
	strings.Repeat("[", 60) + strings.Repeat("]", 60),
	"[" + strings.Repeat("0,", 3000) + "0]",
}

// mutation changes configurations.
type mutation struct {
	random *rand.Rand
	pool   []string // keys of all configurations
}

func (m mutation) pick(from []string) string { return from[m.random.IntN(len(from))] }

// object returns a random object of the tree; most often it is the outermost one.
func (m mutation) object(n *tree) *tree {
	at := n
	for {
		var inside []*tree
		for _, e := range at.entries {
			if e.value.open != 0 && len(e.value.entries) > 0 {
				inside = append(inside, e.value)
			}
		}
		if len(inside) == 0 || m.random.IntN(3) > 0 {
			return at
		}
		at = inside[m.random.IntN(len(inside))]
	}
}

// change changes one place.
func (m mutation) change(n *tree) {
	at := m.object(n)
	add := func(key, value string) {
		at.entries = slices.Insert(at.entries, m.random.IntN(len(at.entries)+1),
			entry{key, &tree{text: value}})
	}
	if len(at.entries) == 0 {
		add(m.pick(m.pool), m.pick(hostileValues))
		return
	}
	e := &at.entries[m.random.IntN(len(at.entries))]
	switch m.random.IntN(12) {
	default:
		e.value = &tree{text: m.pick(hostileValues)}
	case 4:
		at.entries = slices.DeleteFunc(at.entries, func(x entry) bool { return x == *e })
	case 5:
		add(e.key, m.pick([]string{e.value.String(), m.pick(hostileValues)}))
	case 6:
		e.key = m.pick([]string{strings.ToUpper(e.key), "_" + e.key, strings.Title(e.key), e.key + strings.Repeat("x", 3000), ""}) //nolint:staticcheck // ASCII
	case 7, 8:
		add(m.pick(m.pool), m.pick(hostileValues))
	case 9:
		text := e.value.String()
		quoted, _ := json.Marshal(text)
		e.value = &tree{text: m.pick([]string{
			"[" + text + "]", `{"k":` + text + "}",
			string(quoted), "[" + text + "," + text + "]",
		})}
	case 10:
		if text := e.value.text; text != "" && strings.ContainsAny(text[:1], "-0123456789") {
			e.value = &tree{text: m.pick([]string{
				"-" + text, text + "0", text + "1", text + ".0",
				text + "e1", "1" + text, text + "e-3",
			})}
			return
		}
		e.value = &tree{text: m.pick(hostileValues)}
	case 11:
		other := n.entries[m.random.IntN(len(n.entries))]
		e.value = other.value.clone()
	}
}

// mutant returns a changed configuration, sometimes with a wrong byte.
func (m mutation) mutant(from *tree) string {
	n := from.clone()
	for range 1 + m.random.IntN(3)*m.random.IntN(2) {
		m.change(n)
	}
	text := n.String()
	switch at := m.random.IntN(len(text)); m.random.IntN(40) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + m.pick([]string{"{", "}", "\"", ",", ":", "\x00", "\xff", "]"}) +
			text[at:]
	}
	return text
}

// goTerms are words of the implementation that a message must not have.
var goTerms = regexp.MustCompile(`unmarshal|\bstruct\b|json:|json\.|strconv|<nil>|map\[|` +
	`interface|%!|float64|int64|runtime error|reflect|invalid character|\bEOF\b|goroutine|\bnil\b`)

// refusal returns what is wrong with an error message about a configuration file with these keys.
func refusal(message, file string, keys map[string]bool) string {
	const most = 1200
	said := regexp.MustCompile(`[a-z_.]+\.json\b`).ReplaceAllString(message, "FILE")
	switch {
	case !strings.Contains(message, file):
		return "does not name the file"
	case len(message) > most:
		return fmt.Sprintf("has %d bytes", len(message))
	case goTerms.MatchString(said):
		return "has a term of the implementation: " + goTerms.FindString(said)
	case strings.Contains(message, "not valid JSON"), strings.Contains(message,
		"not a JSON object"), strings.Contains(message, "not valid UTF-8"),
		strings.Contains(message, "the header, which has no tensors"), strings.Contains(message,
			" is missing"):
		return ""
	}
	if keys[""] && strings.Contains(message, `""`) {
		return ""
	}
	for key := range keys {
		if key != "" && strings.Contains(message, key[:min(len(key), 60)]) {
			return ""
		}
	}
	return "names no key of the file"
}

// sources returns the configurations of all goldens in both styles and the published ones, by name.
func sources(t *testing.T) map[string]*tree {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"config.json", "config.v4.json"} {
		paths, err := filepath.Glob("../testdata/goldens/*/" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("there are no goldens: %v", err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			must(t, err)
			texts[path] = string(data)
		}
	}
	data, err := os.ReadFile("../testdata/published_configs.json")
	must(t, err)
	var file struct {
		Checkpoints []struct {
			Name   string
			Config json.RawMessage
		}
	}
	must(t, json.Unmarshal(data, &file))
	for _, c := range file.Checkpoints {
		texts[c.Name] = string(c.Config)
	}
	trees := map[string]*tree{}
	for name, text := range texts {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		trees[name] = parseTree(t, d)
	}
	return trees
}

// TestMutants changes every known configuration in many ways, as a careless or hostile writer
// would, and reads it. The result is an error or a valid spec. An error names the file and the key,
// is short, and uses no terms of the implementation.
func TestMutants(t *testing.T) {
	trees := sources(t)
	names := slices.Sorted(maps.Keys(trees))
	pool := map[string]bool{
		"sliding_window": true, "head_dim": true, "rope_scaling": true,
		"rope_theta": true, "layer_types": true,
	}
	for _, n := range trees {
		n.keys(pool)
	}
	m := mutation{random: rand.New(rand.NewPCG(*seed, 0)), pool: slices.Sorted(maps.Keys(pool))}
	weights, err := os.ReadFile("../testdata/goldens/gpt2/model.safetensors")
	must(t, err)
	seen := map[string]bool{} // problems told
	refused := 0
	for i := range *mutants {
		name := names[m.random.IntN(len(names))]
		text := m.mutant(trees[name])
		problem, isRefused := readMutant(text, weights)
		if isRefused {
			refused++
		}
		if problem != "" && !seen[problem] && len(seen) < 30 {
			seen[problem] = true
			t.Errorf("mutant %d of seed %d, of %s: %s\n%.600s", i, *seed, name, problem, text)
		}
	}
	if refused == 0 || refused == *mutants {
		t.Errorf("%d of %d mutants are refused, want some", refused, *mutants)
	}
}

// readMutant reads a configuration and weights, and returns what is wrong with the result.
func readMutant(text string, weights []byte) (problem string, refused bool) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	d, err := checkpoint.FromFS(fstest.MapFS{
		"config.json":       {Data: []byte(text)},
		"model.safetensors": {Data: weights},
	}, "m")
	if err == nil {
		defer d.Close()
		var keys map[string]bool
		if keys, err = readDir(d); err == nil {
			return "", false
		}
		problem = refusal(err.Error(), "m/config.json", keys)
	} else {
		problem = refusal(err.Error(), "m/config.json", keysOf(text, nil))
	}
	if problem != "" {
		problem += ": " + err.Error()
	}
	return problem, true
}

// readDir reads the configuration of a directory, and its keys.
func readDir(d *checkpoint.Dir) (keys map[string]bool, err error) {
	keys = map[string]bool{}
	addKeys(keys, d.Config)
	if _, err := d.EOS(); err != nil {
		return keys, err
	}
	_, spec, err := family.Read(family.NewConfig("m/config.json", d.Config))
	if err != nil {
		return keys, err
	}
	if err := spec.Check(); err != nil {
		return keys, fmt.Errorf("Read returns a spec that does not hold together: %w", err)
	}
	return keys, nil
}

func addKeys(to map[string]bool, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			to[key] = true
			addKeys(to, value)
		}
	case []any:
		for _, value := range v {
			addKeys(to, value)
		}
	}
}

// keysOf returns what looks like a key in a text, and further keys.
func keysOf(text string, more map[string]bool) map[string]bool {
	keys := map[string]bool{}
	maps.Copy(keys, more)
	for _, found := range regexp.MustCompile(`"([^"]*)"\s*:`).FindAllStringSubmatch(text, -1) {
		keys[found[1]] = true
	}
	return keys
}

// otherFiles are small versions of the other files of a directory.
var otherFiles = map[string]string{
	"generation_config.json": `{"bos_token_id":1,"eos_token_id":[2,3],"max_length":20,"transformers_version":"5.0"}`,
	"tokenizer_config.json": `{"added_tokens_decoder":{"0":{"content":"<pad>","special":true}},"bos_token":"<s>",
		"eos_token":{"content":"</s>","lstrip":false},"unk_token":null,"add_bos_token":true,
		"chat_template":[{"name":"default","template":"{{ x }}"},{"name":"tool","template":"T"}],"model_max_length":512}`,
	"special_tokens_map.json":      `{"bos_token":"<s>","eos_token":{"content":"</s>"},"additional_special_tokens":["<a>"]}`,
	"model.safetensors.index.json": `{"metadata":{"total_size":8},"weight_map":{"a.weight":"one.safetensors","b.weight":"two.safetensors"}}`,
	"one.safetensors":              `{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`,
	"two.safetensors":              `{"b.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`,
}

// safetensors is a file of 8 bytes of data with a header.
func safetensors(header string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, 8)...)
}

// TestMutantFiles does to the files beside config.json what TestMutants does to it.
func TestMutantFiles(t *testing.T) {
	keys := map[string]bool{}
	trees := map[string]*tree{}
	for name, text := range otherFiles {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		trees[name] = parseTree(t, d)
		trees[name].keys(keys)
	}
	m := mutation{random: rand.New(rand.NewPCG(*seed, 1)), pool: slices.Sorted(maps.Keys(keys))}
	names := slices.Sorted(maps.Keys(trees))
	told := 0
	for i := range *mutants {
		name := names[m.random.IntN(len(names))]
		files := fstest.MapFS{"config.json": {Data: []byte("{}")}}
		for file, text := range otherFiles {
			// It does not count if there is an added_tokens_decoder.
			if file == "special_tokens_map.json" && name != file {
				continue
			}
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if name == "special_tokens_map.json" {
			delete(files, "tokenizer_config.json")
		}
		text := m.mutant(trees[name])
		files[name] = &fstest.MapFile{Data: []byte(text)}
		for _, file := range []string{"one.safetensors", "two.safetensors"} {
			files[file].Data = safetensors(string(files[file].Data))
		}
		if problem := readFiles(files, name, keysOf(text, keys)); problem != "" && told < 30 {
			told++
			t.Errorf("mutant %d of seed %d, of %s: %s\n%.400s", i, *seed, name, problem, text)
		}
	}
}

// readFiles reads a directory in which one file was changed, and returns what is wrong with the
// result.
func readFiles(files fstest.MapFS, changed string, keys map[string]bool) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	read := func() error {
		d, err := checkpoint.FromFS(files, "m")
		if err != nil {
			return err
		}
		defer d.Close()
		_, eos := d.EOS()
		_, special := d.SpecialTokens()
		_, template := d.ChatTemplates()
		return cmp.Or(eos, special, template)
	}
	err := read()
	if err == nil {
		return ""
	}
	if problem := refusal(err.Error(), changed, keys); problem != "" {
		return problem + ": " + err.Error()
	}
	return ""
}

// must ends a test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
