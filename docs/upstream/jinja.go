// ardanlabs/jinja v1.12.0 renders templates that come with models, and has no limit. A range takes
// memory for all of its numbers: this one 1 GB or more, where the sandbox of Jinja2 refuses more
// than 100,000 numbers. A macro that calls itself ends the program with "fatal error: stack
// overflow", which nothing can recover from; Jinja2 raises RecursionError. jinja.patch has both
// limits, with tests.
//
// In an empty folder with this file: go mod init example.com/jinja &&
// go get github.com/ardanlabs/jinja@v1.12.0 && go run jinja.go (with Go 1.27; v1.8.0 is the same
// with Go 1.26)
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/ardanlabs/jinja"
)

func main() {
	for _, source := range []string{
		"{{ range(10000000)|length }}",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
	} {
		template, err := jinja.Compile(source)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(source)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := template.Render(nil)
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) >> 20
		fmt.Printf("%q took %d MB; error: %v\n", text, taken, err)
	}
}
