package chat_test

import (
	"errors"
	"fmt"

	"github.com/headwater-ml/headwater/internal/chat"
)

// template is a chat template as a checkpoint has it.
const template = "{% for m in messages %}<|{{ m.role }}|>\n" +
	"{{ m.content | trim }}{{ eos_token }}\n{% endfor %}" +
	"{% if add_generation_prompt %}<|assistant|>\n{% endif %}"

func Example() {
	t, err := chat.New(template, map[string]string{"eos_token": "</s>"})
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []chat.Message{{Role: "user", Content: " Who has the lamp? "}}
	text, _, err := t.Render(messages, chat.Options{AddGenerationPrompt: true})
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "<|user|>\nWho has the lamp?</s>\n<|assistant|>\n" <nil>
}

// A template can refuse a conversation. The error says why, in the words of the template.
func ExampleTemplate_Render_refused() {
	t, err := chat.New("{% if messages[0].role == 'system' %}"+
		"{{ raise_exception('System messages are not supported') }}{% endif %}", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	messages := []chat.Message{{Role: "system", Content: "Be kind."}}
	_, _, err = t.Render(messages, chat.Options{})
	fmt.Println(errors.Is(err, chat.ErrRefused), err)
	// Output:
	// true chat: line 1: the template refuses the conversation: System messages are not supported
}

// Syntax errors name the line.
func ExampleNew_syntaxError() {
	_, err := chat.New("{{ bos_token }}\n{% for m in messages %}", nil)
	fmt.Println(err)
	// Output:
	// chat: the template has a syntax error: line 2, end of the template: else or endfor is missing
}
