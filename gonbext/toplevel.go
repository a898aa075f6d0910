package gonbext

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"sync"
)

// again is the line beside the first picture of a cell that is drawn before main runs.
const again = "Every later cell draws this picture again, and gonbext.Last() then returns it, " +
	"because the call stands neither below %% nor in main. Write e := gonbext.Explain(…) " +
	"below %%, and e := gonbext.Last() in later cells."

// sayAgain prints the line once. GoNB puts the variables and init functions of a cell into all
// later ones.
var sayAgain = sync.OnceFunc(func() { fmt.Println(again) })

// initializer finds the functions that run before main: init gives variables their values, and
// init.0 and so on are the init functions. A function literal of a variable is init.func1, and may
// be called later.
var initializer = regexp.MustCompile(`^[^/]*\.init(\.[0-9]+)?$`)

// beforeMain reports whether its caller is called by the initialisation of a package.
func beforeMain() bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if initializer.MatchString(path.Base(frame.Function)) {
			return true
		}
		if !more {
			return false
		}
	}
}
