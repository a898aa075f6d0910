"""pack.py [--model FILE]: packs what a machine that has a GPU, Python and no Go needs into out/gpu.

It builds the program and writes out/gpu/pack.tar.xz: the program, gguf.py and run.py, whose comment says what runs there. With
--model it cuts a file, such as SmolLM2's GGUF, into out/gpu/model.0, model.1 and so on, which travel one at a time.

At most 64 MiB travel at a time, the files of the checkout among them. This program measures the sum and ends with status 1 above 63 MiB.
"""

import argparse
import io
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / "out" / "gpu"
LIMIT = 63 << 20
# As small as it gets; Python unpacks it. The first filter makes jumps of x86 programs alike.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 64 << 20}]


def build(path):
    environment = os.environ | {"CGO_ENABLED": "1", "GOEXPERIMENT": os.environ.get("GOEXPERIMENT", "simd")}
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./cmd/headwater"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def same_owner(entry):
    """The entry of an archive without what differs from one run to the next."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def write_pack(path):
    program = OUT / "headwater"
    build(program)
    packed = io.BytesIO()
    with lzma.open(packed, "w", filters=FILTERS) as compressed, tarfile.open(fileobj=compressed, mode="w") as tar:
        tar.add(program, "headwater", filter=same_owner)
        for script in ("run.py", "gguf.py"):
            tar.add(ROOT / "internal/bench/gpu" / script, script, filter=same_owner)
    program.unlink()
    path.write_bytes(packed.getvalue())


def cut(model, size):
    """Writes a file in pieces of a size."""
    for old in OUT.glob("model.*"):
        old.unlink()
    with open(model, "rb") as whole:
        for number, piece in enumerate(iter(lambda: whole.read(size), b"")):
            (OUT / f"model.{number}").write_bytes(piece)


def checkout_bytes():
    """How many bytes the files of the checkout have that git does not ignore and that travel: notebooks are set aside (README.md)."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    paths = [os.path.join(os.fsencode(ROOT), name) for name in names if name and not name.endswith(b".ipynb")]
    return sum(os.lstat(path).st_size for path in paths if os.path.lexists(path))


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--model", help="cut this file into pieces")
    args = flags.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    checkout, pack = checkout_bytes(), OUT / "pack.tar.xz"
    write_pack(pack)
    travels = [pack]
    if args.model:
        cut(args.model, LIMIT - checkout)
        travels += sorted(OUT.glob("model.*"))
    print(f"checkout {checkout / 2**20:.1f} MiB")
    for path in travels:
        both = checkout + path.stat().st_size
        print(f"{path.name} {path.stat().st_size / 2**20:.1f} MiB, with the checkout {both / 2**20:.1f} of {LIMIT >> 20} MiB")
        if both > LIMIT:
            sys.exit(f"pack: {path.name} and the checkout have {both} bytes; at most {LIMIT} may travel at a time")


main()
