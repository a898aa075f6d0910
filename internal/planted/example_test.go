package planted_test

import (
	"fmt"
	"strings"

	"github.com/headwater-ml/headwater/internal/planted"
)

// A circuit comes with texts, and with what decides the answer of each.
func ExampleLookup() {
	circuit, err := planted.Lookup("planted-offset")
	if err != nil {
		fmt.Println(err)
		return
	}
	text := circuit.Texts(1, 1)[0]
	fmt.Println(text.Prompt())
	fmt.Println("→", text.Answer)
	for _, i := range text.Evidence {
		fmt.Println("because of", text.Words[i])
	}
	_, err = planted.Lookup("unknown")
	reason, _, _ := strings.Cut(err.Error(), ",")
	fmt.Println(reason)
	// Output:
	// bang black yes near pink white box bang book gold across gray book white across behind no
	// → white
	// because of white
	// planted: there is no circuit "unknown"; there are planted-offset
}
