//go:build !unix || solaris || aix

package cli

import "os"

// terminalWidth takes nothing for a terminal here: old consoles of Windows show the escapes of
// colours as they are.
func terminalWidth(*os.File) (width int, ok bool) { return 0, false }
