// dlclark/regexp2/v2 v2.13.0 misses a match: after (?>1+)* has taken the 1 and the look-ahead has
// failed at the end of the line, it does not go back to taking none. The program prints false for
// v2 and true for v1.12.0; Python's re finds the empty text at 0, too.
//
// In an empty folder with this file: go mod init example.com/atomic &&
// go get github.com/dlclark/regexp2@v1.12.0 github.com/dlclark/regexp2/v2@v2.13.0 &&
// go run atomic.go
package main

import (
	"fmt"
	"os"

	"github.com/dlclark/regexp2"
	v2 "github.com/dlclark/regexp2/v2"
)

func main() {
	const pattern, text = `(?>1+)*(?=\w)`, "1\n"
	first, err := regexp2.MustCompile(pattern, regexp2.None).MatchString(text)
	second, err2 := v2.MustCompile(pattern, v2.None).MatchString(text)
	if err != nil || err2 != nil {
		fmt.Println(err, err2)
		os.Exit(1)
	}
	fmt.Println("v1:", first, "v2:", second)
}
