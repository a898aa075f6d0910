"""Lets the PyTorch of the package index, which is linked against CUDA, be imported on a machine without it.

Its libraries name libcublas.so.12 and others as needed, and symbols of them that are bound at the first call, which a machine
without a GPU never makes. For each library that is missing this compiles one of the same name whose functions return an error:
300 kB instead of 2.5 GB. torch.cuda.is_available() is then False, and everything else works. Tried with torch 2.9.1.
"""

import collections
import glob
import importlib.util
import os
import re
import subprocess
import tempfile

NO_DEVICE = 100  # cudaErrorNoDevice

# Which library a symbol without a version belongs to, by its first letters; the longer prefix first.
OWNERS = [
    ("nccl", "libnccl"), ("cuFile", "libcufile"), ("cusparseLt", "libcusparseLt"), ("cupti", "libcupti"),
    ("nvshmem", "libnvshmem_host"), ("cudnn", "libcudnn"), ("curand", "libcurand"), ("cusolver", "libcusolver"),
    ("cufft", "libcufft"), ("cusparse", "libcusparse"), ("cublasLt", "libcublasLt"), ("cublas", "libcublas"),
    ("nvrtc", "libnvrtc"), ("cuda", "libcudart"),
]
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so")
RETURNS_TEXT = re.compile(r"Get(ErrorString|ErrorName|ResultString|StatusString|LastErrorString)")
RETURNS_ZERO = {"cudaGetLastError", "cudaPeekAtLastError"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def missing_libraries(libraries, present):
    """The names that the libraries need and neither they nor the system provide."""
    needed = {name for f in libraries for name in re.findall(r"NEEDED.*\[(.*?)\]", output("readelf", "-dW", f))}
    return {name for name in needed - present if not SYSTEM.match(name)}


def version_files(library):
    """For each version of a symbol that the library wants, the library that has it: libcublas.so.12 -> libcublas.so.12."""
    files, current = {}, None
    for line in output("readelf", "-VW", library).splitlines():
        if found := re.search(r"File: (\S+)", line):
            current = found.group(1)
        if (found := re.search(r"Name: (\S+)", line)) and current:
            files[found.group(1)] = current
    return files


def wanted_symbols(libraries, missing):
    """The symbols (name, version) that each missing library has to define."""
    wanted, unversioned, defined = collections.defaultdict(set), set(), set()
    for library in libraries:
        files = version_files(library)
        for line in output("nm", "-D", "-P", library).splitlines():
            symbol, kind = line.split()[:2]
            name, _, version = symbol.partition("@")
            version = version.lstrip("@")
            if kind not in "Uvw":
                defined.add(name)
            elif files.get(version) in missing:
                wanted[files[version]].add((name, version))
            elif not version:
                unversioned.add(name)
    for name in unversioned - defined:
        owner = next((library for prefix, library in OWNERS if name.startswith(prefix)), None)
        for library in missing:
            if owner and library.startswith(owner + ".so"):
                wanted[library].add((name, ""))
    return wanted


def body(name):
    if name in RETURNS_ZERO:
        return f"int {name}() {{ return 0; }}"
    if RETURNS_TEXT.search(name):
        return f"const char *{name}() {{ return message; }}"
    return f"long {name}() {{ return {NO_DEVICE}; }}"


def compile_stub(path, symbols):
    name = os.path.basename(path)
    versions = collections.defaultdict(list)
    for symbol, version in symbols:
        if version:
            versions[version].append(symbol)
    with tempfile.TemporaryDirectory() as work:
        source, script = os.path.join(work, "stub.c"), os.path.join(work, "versions")
        with open(source, "w") as f:
            print('static const char message[] = "no CUDA here";', *(body(s) for s, _ in symbols), sep="\n", file=f)
        command = ["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", f"-Wl,-soname,{name}", "-o", path, source]
        if versions:
            with open(script, "w") as f:
                print(*(f"{v} {{ global: {'; '.join(names)}; }};" for v, names in versions.items()), sep="\n", file=f)
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def main():
    torch = os.path.dirname(importlib.util.find_spec("torch").origin)
    folder = os.path.join(torch, "lib")
    libraries = sorted(glob.glob(os.path.join(folder, "*.so*")) + glob.glob(os.path.join(torch, "_C*.so")))
    present = {os.path.basename(f) for f in libraries}
    missing = missing_libraries(libraries, present)
    wanted = wanted_symbols(libraries, missing)
    for name in sorted(missing):
        compile_stub(os.path.join(folder, name), sorted(wanted[name]))
    print(f"peers: {len(missing)} libraries of CUDA stubbed for PyTorch")


if __name__ == "__main__":
    main()
