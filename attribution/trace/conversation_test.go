package trace_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/headwater-ml/headwater/attribution/trace"
)

func TestParseConversation(t *testing.T) {
	const call = `{"role":"assistant","content":null,"tool_calls":[{"b":1,"a":{"z":1,"y":2}}]}`
	const parts = `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`
	user := trace.Message{Role: "user", Content: "a"}
	for _, c := range []struct {
		name, text string
		want       trace.Conversation
		err        string
	}{
		{"a list", ` [{"role":"user","content":"a"}]`, trace.Conversation{Messages: []trace.Message{user}}, ""},
		{"an object", `{"model":"m","messages":[{"content":"a", "role":"user"}],"tools":[{"z":1,"a":2}]}`,
			trace.Conversation{Messages: []trace.Message{{Role: "user", Content: "a", Object: []byte(`{"content":"a","role":"user"}`)}}, Tools: []byte(`[{"z":1,"a":2}]`)}, ""},
		{"tool calls", "[" + call + "]", trace.Conversation{Messages: []trace.Message{{Role: "assistant", Object: []byte(call)}}}, ""},
		{"parts", "[" + parts + "]", trace.Conversation{Messages: []trace.Message{{Role: "user", Content: "ab", Object: []byte(parts)}}}, ""},
		{"ShareGPT", `[{"from":"human","value":"a"},{"from":"gpt","value":"b"},{"from":"system","value":"c"}]`,
			trace.Conversation{Messages: []trace.Message{user, {Role: "assistant", Content: "b"}, {Role: "system", Content: "c"}}}, ""},
		{"nothing", "", trace.Conversation{}, "not valid JSON at byte 1"},
		{"cut", "[\n{\"role\": \"user\",\n", trace.Conversation{}, "not valid JSON in line 2"},
		{"a number", "5", trace.Conversation{}, "messages is a number; want a list"},
		{"no messages", `{"message":[]}`, trace.Conversation{}, `no key "messages"`},
		{"messages of another kind", `{"messages":{}}`, trace.Conversation{}, "messages is an object"},
		{"a text", `["a"]`, trace.Conversation{}, "messages[0]: it is a string; want an object"},
		{"null", `[null]`, trace.Conversation{}, "messages[0]: it is null; want an object"},
		{"no role", `[{"role":"user","content":"a"},{"content":"a"}]`, trace.Conversation{}, `messages[1]: the key "role" is missing`},
		{"an empty role", `[{"role":""}]`, trace.Conversation{}, `the key "role" is ""`},
		{"content of another kind", `[{"role":"user","content":5}]`, trace.Conversation{}, `messages[0]: the key "content" is a number; want a text`},
		{"an image", `[{"role":"user","content":[{"type":"image"}]}]`, trace.Conversation{}, `content[0] has the type "image"`},
		{"a part without a text", `[{"role":"user","content":[{"type":"text"}]}]`, trace.Conversation{}, `content[0] has the type "text"`},
		{"tools of another kind", `{"messages":[],"tools":{}}`, trace.Conversation{}, "tools are no list"},
		{"not UTF-8", "[\"\xff\"]", trace.Conversation{}, "not valid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := trace.ParseConversation([]byte(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("%+v, %v, want %+v", got, err, c.want)
			}
			written, err := json.Marshal(got)
			var again trace.Conversation
			if err == nil {
				err = json.Unmarshal(written, &again)
			}
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("written as %s and read as %+v, %v", written, again, err)
			}
		})
	}
}

// A variable keeps its type and the order of its keys when options are written and read again.
func TestVariables(t *testing.T) {
	var v trace.Variables
	for _, text := range []string{"on=false", "n=1.0", "name=Ann", `d={"b":1,"a":2}`, "on=true", "empty="} {
		if err := v.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	written, err := json.Marshal(v)
	const want = `{"d":{"b":1,"a":2},"empty":"","n":1.0,"name":"Ann","on":true}`
	if err != nil || string(written) != want {
		t.Errorf("%s, %v, want %s", written, err, want)
	}
	var again trace.Variables
	if err := json.Unmarshal(written, &again); err != nil {
		t.Error(err)
	}
	if twice, err := json.Marshal(again); err != nil || string(twice) != want {
		t.Errorf("%s, %v, want %s", twice, err, want)
	}
	for _, text := range []string{"", "on", "=1"} {
		if err := v.Set(text); !errors.Is(err, trace.ErrUsage) {
			t.Errorf("%q: error %v, want a usage error", text, err)
		}
	}
}

// No text of a file may panic.
func FuzzParseConversation(f *testing.F) {
	for _, text := range []string{`[{"role":"user","content":"a"}]`, `{"messages":[{"from":"gpt","value":"b"}],"tools":[]}`, `[{"role":1}]`, "[[", "{"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := trace.ParseConversation([]byte(text))
		if err != nil {
			return
		}
		if err := c.Check(); err != nil {
			t.Errorf("%q is read, and then: %v", text, err)
		}
	})
}
