package engine

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
)

// remoteScheme begins a HEADWATER_ENGINE that names another machine.
const remoteScheme = "ssh://"

// remote is another machine whose engine a notebook uses.
type remote struct {
	url              string
	user, host, port string // port is empty for ssh's own choice
	// command is the path of headwater there, as a shell reads it.
	command string
}

// safe is what names may have that become arguments of ssh or words of a shell. They cannot begin
// with a minus sign, which ssh would read as an option.
var (
	safeHost = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_.:%-]*$`)
	safeUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@\\-]*$`)
	safePath = regexp.MustCompile(`^[A-Za-z0-9_./~+@%:,-]+$`)
)

// parseRemote reads ssh://[USER@]HOST[:PORT][/PATH], where PATH is that of headwater: absolute, or
// below the user's home if it begins with ~/.
func parseRemote(text string) (*remote, error) {
	const form = "want ssh://[USER@]HOST[:PORT][/PATH], where PATH is that of the program headwater"
	u, err := url.Parse(text)
	if err != nil {
		return nil, usagef("%s is %.80q: %s", binaryVariable, text, form)
	}
	r := &remote{
		url: text, user: u.User.Username(), host: u.Hostname(), port: u.Port(),
		command: "headwater",
	}
	if _, password := u.User.Password(); password {
		return nil, usagef("%s has a password: leave it out; ssh logs in with a key",
			binaryVariable)
	}
	if !safeHost.MatchString(r.host) || r.user != "" && !safeUser.MatchString(r.user) ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("%s is %.80q: %s", binaryVariable, text, form)
	}
	if n, err := strconv.Atoi(r.port); r.port != "" && (err != nil || n < 1 || n > 65535) {
		return nil, usagef("%s: port %.20q is not a number from 1 to 65535", binaryVariable, r.port)
	}
	if u.Path != "" && u.Path != "/" {
		r.command = strings.TrimPrefix(u.Path, "/~/")
		if r.command != u.Path {
			r.command = "~/" + r.command
		}
		if !safePath.MatchString(u.Path) || strings.HasSuffix(u.Path, "/") {
			return nil, usagef("%s: %.80q is not the path of a program without spaces and quotes",
				binaryVariable, u.Path)
		}
	}
	return r, nil
}

// remote returns the machine that HEADWATER_ENGINE names, or nil if it names none.
func (s Start) remote() (*remote, error) {
	text := os.Getenv(binaryVariable)
	if s.Binary != "" || !strings.HasPrefix(text, remoteScheme) {
		return nil, nil
	}
	if s.isOwn() {
		return nil, usagef("%s names another machine, which cannot run the plugins of this "+
			"program: unset it, or do not import gonbext/local", binaryVariable)
	}
	return parseRemote(text)
}

// name returns the machine as a user calls it.
func (r *remote) name() string {
	if r.user != "" {
		return r.user + "@" + r.host
	}
	return r.host
}

// key is the part of a socket's name that belongs to the machine; see [isRemote].
func (r *remote) key() string {
	h := fnv.New32a()
	h.Write([]byte(r.url))
	return fmt.Sprintf("%s%08x", remoteKey, h.Sum32())
}

// ReadyLine returns the line that an engine prints for ssh when it listens. build is the version of
// its program.
func ReadyLine(build string) string {
	return fmt.Sprintf("headwater engine ready, protocol %d, build %s", Version, build)
}

var readyLine = regexp.MustCompile(`(?m)^headwater engine ready, protocol (\d+), build (\S+)\s*$`)

// checkVersions returns an error if the engine that printed a line cannot be used.
func (r *remote) checkVersions(protocol, build string) error {
	if protocol != strconv.Itoa(Version) {
		return pkg.Errorf("headwater on %s speaks protocol %s and this notebook %d: "+
			"install the same version on both", r.name(), protocol, Version)
	}
	here := ownBuild()
	if isRelease(here) && isRelease(build) && here != build {
		return pkg.Errorf("headwater on %s is %s and this notebook uses %s: "+
			"install the same version on both", r.name(), build, here)
	}
	return nil
}

// isRelease reports whether a version says exactly which code it is.
func isRelease(version string) bool {
	return strings.HasPrefix(version, "v") && !strings.Contains(version, "+dirty")
}

// ownBuild returns the version of this module in this program.
func ownBuild() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == modulePath {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == modulePath && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}
