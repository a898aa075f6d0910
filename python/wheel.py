"""Puts the program into the wheel and names the systems on which it runs.

The program is that of HEADWATER_BIN, or else it is built here for GOOS and GOARCH, from the clone
that this folder is in.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent


def go_env(name):
    try:
        return subprocess.check_output(["go", "env", name], cwd=ROOT, text=True).strip()
    except FileNotFoundError:
        sys.exit("headwater: Go 1.26.5 or newer is needed to build it: https://go.dev/dl/")


def say(text):
    """Tells what takes time, on the terminal, since pip shows what is printed with -v alone."""
    print(text, flush=True)
    try:
        with open("/dev/tty", "w") as terminal:
            print(f"\n{text}", file=terminal)
    except OSError:  # nobody watches
        pass


def tag(system, machine, program):
    """The tag of a wheel with this program, by the names of Go for system and machine."""
    if system == "windows":
        return f"py3-none-win_{machine}"
    name = {"amd64": "x86_64", "arm64": "arm64" if system == "darwin" else "aarch64"}[machine]
    if system == "darwin":
        return f"py3-none-macosx_12_0_{name}"
    # A program with cgo needs a C library at least as new as the newest symbol that it names.
    versions = [int(v) for v in re.findall(rb"GLIBC_2\.(\d+)", program)]
    return f"py3-none-manylinux_2_{max(versions + [17])}_{name}"


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        system, machine = go_env("GOOS"), go_env("GOARCH")
        name = "headwater.exe" if system == "windows" else "headwater"
        self.folder = tempfile.TemporaryDirectory()
        path = os.environ.get("HEADWATER_BIN")
        if not path:
            path = Path(self.folder.name) / name
            env = dict(os.environ)
            if machine == "amd64":
                env.setdefault("GOEXPERIMENT", "simd")  # several times faster in pure Go
            say("headwater: Go builds the program, which takes minutes the first time and seconds "
                "later")
            subprocess.check_call(
                ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path,
                 "./cmd/headwater"], cwd=ROOT, env=env)
        notices = Path(self.folder.name) / "NOTICES.txt"
        with notices.open("w") as out:
            subprocess.check_call([ROOT / "internal/setup/notices.sh"], stdout=out)
        build_data["pure_python"] = False
        build_data["tag"] = tag(system, machine, Path(path).read_bytes())
        build_data["force_include"][str(path)] = f"headwater/bin/{name}"
        build_data["force_include"][str(notices)] = "headwater/NOTICES.txt"

    def finalize(self, version, build_data, artifact_path):
        self.folder.cleanup()
