"""Checks what the files of the image promise: check_file.py DOCKERFILE FOLDER...

It reads the Dockerfile and says what would fail in a build, or what the image would lack. FOLDER
holds files that the image gets, which must hold no browser.
"""

import fnmatch
import os
import pathlib
import re
import shlex
import sys

VOLUMES = {"/home/headwater/notebooks", "/home/headwater/models"}
IN_IMAGE = "/opt/headwater/source/"
BROWSER = re.compile(r"chrom(e|ium)|firefox|playwright", re.IGNORECASE)


class Stage:
    """One stage: what its base is, whose rights it has, what is copied into it, what it runs."""

    def __init__(self, base, stages):
        self.base = stages.get(base)
        self.user = self.base.user if self.base else "root"
        self.files = list(self.base.files) if self.base else []
        self.volumes, self.ports, self.commands = set(), set(), {}


def main():
    dockerfile = pathlib.Path(sys.argv[1]).resolve()
    checkout = dockerfile.parent.parent
    errors = []
    last = read(dockerfile, checkout, errors)
    if last.user in ("root", "0"):
        errors.append(f"the last stage runs as {last.user}, want a user without rights")
    if missing := VOLUMES - last.volumes:
        errors.append(f"no VOLUME {' '.join(sorted(missing))}")
    if "8888" not in last.ports:
        errors.append("no EXPOSE 8888")
    for keyword in ("HEALTHCHECK", "ENTRYPOINT", "CMD"):
        script = re.search(re.escape(IN_IMAGE) + r"([\w/.]+)", last.commands.get(keyword, ""))
        if not script:
            errors.append(f"the last stage has no {keyword} that runs a script of the checkout")
        elif not os.access(checkout / script[1], os.X_OK):
            errors.append(f"{keyword}: {script[1]} is not there, or not executable")
    for folder in sys.argv[2:]:
        for path in pathlib.Path(folder).rglob("*"):
            if BROWSER.search(path.name) and path.is_file() and os.access(path, os.X_OK):
                errors.append(f"{path} is a browser")
    for error in errors:
        print(f"check_file.py: {error}", file=sys.stderr)
    sys.exit(bool(errors))


def read(dockerfile, checkout, errors):
    """Returns the last stage of the file."""
    ignored = (dockerfile.parent / "Dockerfile.dockerignore").read_text().split()
    text = re.sub(r"^\s*#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    arguments, stages, stage = {}, {}, None
    for line in filter(None, map(str.strip, text.splitlines())):
        keyword, rest = line.split(maxsplit=1)
        words = shlex.split(rest)
        if keyword == "ARG":
            name, _, default = words[0].partition("=")
            arguments[name] = default
        elif keyword == "FROM":
            image = re.sub(r"\$\{(\w+)\}", lambda m: arguments[m[1]], words[0])
            if image not in stages and not re.search(r"@sha256:[0-9a-f]{64}$", image):
                errors.append(f"FROM {image}: it is not pinned by its digest")
            stage = Stage(image, stages)
            if len(words) == 3:
                stages[words[2]] = stage
        elif keyword == "USER":
            stage.user = words[0]
        elif keyword == "VOLUME":
            stage.volumes |= set(words)
        elif keyword == "EXPOSE":
            stage.ports |= set(words)
        elif keyword == "COPY":
            copy(stage, words, checkout, stages, ignored, errors)
        elif keyword == "RUN":
            run(stage, rest, checkout, errors)
        elif keyword in ("HEALTHCHECK", "ENTRYPOINT", "CMD"):
            stage.commands[keyword] = rest
    return stage


def copy(stage, words, checkout, stages, ignored, errors):
    """Adds what a COPY brings, and checks that it is there."""
    options = [word for word in words if word.startswith("--")]
    *sources, target = [word for word in words if not word.startswith("--")]
    origin = next((o.partition("=")[2] for o in options if o.startswith("--from=")), None)
    if origin is not None:
        if origin not in stages:
            errors.append(f"COPY --from={origin}: there is no such stage before it")
        return
    for source in sources:
        if not (checkout / source).exists() or any(fnmatch.fnmatch(source, i) for i in ignored):
            errors.append(f"COPY {source}: it is not in the context of the build")
        if (checkout / source).is_dir():
            stage.files.append(os.path.normpath(source) + "/")
        else:
            stage.files.append(os.path.normpath(os.path.join(target, os.path.basename(source))))


def run(stage, command, checkout, errors):
    """Checks that the stage has the scripts that a RUN calls, and what these read."""
    if BROWSER.search(command):
        errors.append(f"RUN {command}: a browser")
    for script in re.findall(r"docker/\w+\.sh", command):
        if not os.access(checkout / script, os.X_OK):
            errors.append(f"RUN {script}: it is not there, or not executable")
            continue
        text = (checkout / script).read_text()
        if BROWSER.search(text):
            errors.append(f"{script}: a browser")
        needs = {script} | set(re.findall(r'\$source"?/([\w/.-]+\.\w+)', text))
        for need in sorted(needs):
            if not any(has(file, need) for file in stage.files):
                errors.append(f"RUN {script}: no COPY before it brings {need} into its stage")


def has(copied, file):
    """Says whether what was copied, a file or a folder with a slash at its end, has the file."""
    return copied in ("./", file) or copied.endswith("/") and file.startswith(copied)


main()
