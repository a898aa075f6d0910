package chat_test

import (
	"fmt"

	"github.com/headwater-ml/headwater/models/chat"
)

func Example() {
	t, err := chat.New("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content | trim }}{{ eos_token }}\n{% endfor %}"+
		"{% if add_generation_prompt %}<|assistant|>\n{% endif %}", map[string]string{"eos_token": "</s>"})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Render([]chat.Message{{Role: "user", Content: " Who has the lamp? "}}, chat.Options{AddGenerationPrompt: true})
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "<|user|>\nWho has the lamp?</s>\n<|assistant|>\n" <nil>
}
