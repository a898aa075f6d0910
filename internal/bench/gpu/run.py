"""run.py [--pack FILE] [--backend xla] [--small] RESULTS: all that is to be measured on a GPU, most important first, in eight minutes.

It runs on a machine with an NVIDIA GPU, Python 3.11 or newer, jax[cuda13] and PyTorch with transformers, and needs neither Go nor a network.
pack.py makes FILE elsewhere; without --pack the unpacked files lie beside this one. Each step is a process of its own with a limit; one that fails,
hangs or is killed does not stop the next. After each step RESULTS has results.json, table.txt and log.txt again, so nothing is lost.

    --backend xla --small    a rehearsal on a CPU
    --only STEP,STEP         some of the steps
    --goldens FOLDER         the goldens of models/testdata, if they are not beside this file as in a checkout
    --pieces FOLDER          what pack.py --model has cut, for the last step, which is left out without it

Models are made here: Llama with random weights in bfloat16, of 1 and 8 billion parameters, and a mixture of 64 experts. "hooks" are PyTorch hooks that compute the rows of Value
Zeroing on the same GPU: a pass for each source, as Inseq does, and all sources in one batch. The status is 1 if a step failed.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = ("bert", "bloom", "falcon7", "gemma3", "gpt2", "llama", "mixtral")  # each kind of position, norm and block
TOTAL = 480  # seconds for all steps
NEW = 32  # tokens that are generated after a prompt of PROMPT
PROMPT = 64

# hidden, intermediate, layers, heads, key-value heads, vocabulary, tied head; as Llama 3.2 1B and Llama 3.1 8B have them
SHAPES = {
    "1b": (2048, 8192, 16, 32, 8, 128256, True),
    "8b": (4096, 14336, 32, 32, 8, 128256, False),
    "mixture": (2048, 1024, 8, 16, 16, 128256, False),  # half the layers of OLMoE 1B-7B
}
SMALL = {"1b": (256, 512, 4, 8, 2, 1024, True), "8b": (384, 768, 6, 8, 2, 1024, False), "mixture": (256, 128, 4, 8, 8, 1024, False)}
EXPERTS = {"num_experts": 64, "num_experts_per_tok": 8}

# Largest differences from PyTorch, of the largest number; on CPUs they are below 5e-6, and attention is at most 1.
TOLERANCE = {"logits": 1e-4, "attention": 1e-5, "hidden": 1e-4, "value-zeroing": 1e-4}


def note(**what):
    """Hands what a step found to the driver, at once: a step that is killed later loses nothing."""
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(json.dumps(what) + "\n")


def figure(name, value, unit, aim=None, most=True):
    """A line of the table. The aim is at most, or at least, so much."""
    met = None if aim is None else value <= aim if most else value >= aim
    note(figure={"name": name, "value": value, "unit": unit, "aim": aim, "most": most, "met": met})


class Run:
    """What all steps know."""

    def __init__(self, args):
        self.backend, self.small, self.work = args.backend, args.small, pathlib.Path(args.work)
        self.cuda = args.backend.startswith("cuda")
        self.device = "cuda" if self.cuda else "cpu"
        self.shapes = SMALL if args.small else SHAPES
        self.long = 400 if args.small else 4000
        self.pieces, self.goldens = args.pieces, pathlib.Path(args.goldens)
        self.program = str(HERE / "headwater")

    def headwater(self, *args, **how):
        return subprocess.run([self.program, *args], check=True, stdout=subprocess.PIPE, text=True, **how).stdout

    def on_model(self, name, dtype="float32"):
        """The flags that choose a model. The machine's memory may be small at first and grow, so the limit is given."""
        limit = [] if self.small else ["--max-memory", "110GB"]
        return ["--model", str(self.work / name), "--backend", self.backend, "--dtype", dtype, *limit]


# --- steps -----------------------------------------------------------------------------------------------------------------------------


def machine(run):
    note(python=sys.version.split()[0], cores=os.cpu_count())
    for package in ("torch", "transformers", "jax", "jax_cuda13_pjrt"):
        with contextlib.suppress(Exception):
            import importlib.metadata

            note(**{package: importlib.metadata.version(package)})
    if run.cuda:
        query = "name,memory.total,driver_version,clocks.sm,power.limit"
        note(gpu=output("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"))
    note(devices=sorted(str(p) for p in pathlib.Path("/dev").glob("nvidia*")), memory=pathlib.Path("/proc/meminfo").read_text().splitlines()[:3])


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def doctor(run):
    """Does the plugin load, and does the embedded model answer on it as in pure Go?"""
    size = "512" if run.small else "8192"
    report = json.loads(run.headwater("doctor", "--check", "--size", size, "--timeout", "50s", "--json"))
    note(backends=report["backends"])
    kind = run.backend.split(":")[0]
    found = next(b for b in report["backends"] if b["name"] == kind)
    if found.get("problem") or not found.get("measured"):
        raise RuntimeError(found.get("problem") or f"{kind} was not measured")
    figure(f"product of matrices of {size} × {size}", found["measured"]["speed"]["gflops"] / 1e3, "TFLOP/s")


def certify(run):
    """The certificates of the embedded model and of the goldens, all at a time."""
    folders = [run.goldens / name for name in GOLDENS]
    commands = {"tiny": []} | {g.name: ["--model", str(g), "--golden", str(g / "golden.safetensors")] for g in folders}
    running = {
        name: subprocess.Popen(
            [run.program, "certify", "--backend", run.backend, "--json", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name, flags in commands.items()
    }
    failed = []
    for name, process in running.items():
        report, errors = process.communicate()
        with contextlib.suppress(ValueError):
            note(**{name: json.loads(report)})
        if process.returncode:
            failed.append(f"{name}: {errors.strip().splitlines()[-1:]}")
    figure("certificates that pass", len(running) - len(failed), f"of {len(running)}", aim=len(running), most=False)
    if failed:
        raise RuntimeError("; ".join(failed))


def make(run, name):
    """Writes a checkpoint with random weights, and a tokenizer whose words are the ids."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, OlmoeConfig

    hidden, intermediate, layers, heads, groups, vocabulary, tied = run.shapes[name]
    kind = OlmoeConfig if name == "mixture" else LlamaConfig
    config = kind(
        hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=groups,
        vocab_size=vocabulary, max_position_embeddings=8192, tie_word_embeddings=tied, rms_norm_eps=1e-5,
        bos_token_id=None, eos_token_id=None, pad_token_id=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        **EXPERTS if name == "mixture" else {})
    torch.manual_seed(1)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    model = model.to_empty(device=run.device)
    model.tie_weights()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            weight.fill_(1) if key.endswith("norm.weight") else weight.normal_(0, 0.02)
    folder = run.work / name
    model.save_pretrained(folder, max_shard_size="4GB")
    words = {f"w{i}": i for i in range(vocabulary)}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"}}))
    note(parameters=sum(p.numel() for p in model.parameters()), bytes=sum(f.stat().st_size for f in folder.iterdir()))


def prompt(run, tokens):
    """Tokens that every model here has."""
    draw = random.Random(tokens)
    return [draw.randrange(1, min(run.shapes["1b"][5], 49152)) for _ in range(tokens)]


def torch_model(run, name, dtype, attention="sdpa"):
    import torch
    from transformers import AutoModelForCausalLM

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.set_grad_enabled(False)
    model = AutoModelForCausalLM.from_pretrained(run.work / name, dtype=getattr(torch, dtype), attn_implementation=attention)
    return model.eval().to(run.device)


def parity(run, name):
    """A model in float32 beside PyTorch: logits, attention, hidden states, and the last rows of Value Zeroing."""
    import torch
    from safetensors.torch import load_file

    ids, path = prompt(run, PROMPT), run.work / "trace.safetensors"
    taps = "logits,attention,hidden,value-zeroing"
    run.headwater("trace", *run.on_model(name), "--ids", ",".join(map(str, ids)), "--taps", taps, "-o", str(path))
    got = load_file(path)
    model = torch_model(run, name, "float32", "eager")
    out = model(torch.tensor([ids], device=run.device), output_attentions=True, output_hidden_states=True)
    want = {
        "logits": out.logits[0],
        "attention": torch.cat(out.attentions),
        # Ours keeps the residual stream before the last norm; transformers normalises its last hidden state.
        "hidden": torch.cat(out.hidden_states)[:-1],
        "value-zeroing": zeroed(run, model, ids, batched=True),
    }
    got["hidden"], got["value-zeroing"] = got["hidden"][:-1], got["value-zeroing"][:, -1]
    worst = []
    for tap, limit in TOLERANCE.items():
        expected = want[tap].double().cpu()
        off = ((got[tap].double() - expected).abs().max() / expected.abs().max()).item()
        figure(f"{name}, {tap}: largest difference from PyTorch", off, "of the largest", aim=limit)
        worst += [f"{tap} differs by {off:.2g}, limit {limit}"] if not off <= limit else []
    if worst:
        raise RuntimeError("; ".join(worst))


def zeroed(run, model, ids, batched):
    """The rows of Value Zeroing of the last position, [L,T]: 1 - cosine of what each block gives with and without the value of a source.

    Every block gets the input that it has without zeroing, so one pass has the rows of a source for all layers.
    """
    import torch

    text, blocks = torch.tensor([ids], device=run.device), model.model.layers
    inputs, plain, changed, sources = {}, {}, {}, []

    def keep_input(l):
        def hook(module, args, kwargs):
            if not sources:
                inputs[l] = args[0]
                return None
            return (inputs[l].expand(len(sources), -1, -1), *args[1:]), kwargs
        return hook

    def zero(module, args, value):
        if not sources:
            return None
        value = value.clone()
        value[range(len(sources)), sources] = 0
        return value

    def keep_output(l):
        def hook(module, args, out):
            last = (out[0] if isinstance(out, tuple) else out)[:, -1]
            (changed if sources else plain)[l] = last.double()
        return hook

    handles = [h for l, b in enumerate(blocks) for h in (
        b.register_forward_pre_hook(keep_input(l), with_kwargs=True), b.self_attn.v_proj.register_forward_hook(zero),
        b.register_forward_hook(keep_output(l)))]
    try:
        model.model(text, use_cache=False)
        rows = torch.zeros(len(blocks), len(ids), dtype=torch.float64, device=run.device)
        every = range(len(ids))
        for some in [list(every)] if batched else [[s] for s in every]:
            sources[:] = some
            model.model(text.expand(len(some), -1), use_cache=False)
            for l in range(len(blocks)):
                rows[l, some] = 1 - torch.nn.functional.cosine_similarity(changed[l], plain[l], dim=-1)
    finally:
        for handle in handles:
            handle.remove()
    return rows


def taken(run, pid=None):
    """The memory, in MB, that is taken: of the GPU by all, or of a process on a CPU."""
    if run.cuda:  # nvidia-smi may report 0 in a virtual machine
        import torch

        free, total = torch.cuda.mem_get_info()
        return (total - free) / 1e6
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


class Peak:
    """The most memory, in MB, that was taken beyond what was before the peer began."""

    def __init__(self, run, peer):
        self.run, self.peer, self.most, self.done = run, peer, 0, threading.Event()

    def watch(self):
        while not self.done.wait(0.3):
            with contextlib.suppress(Exception):  # the process may be gone
                self.most = max(self.most, taken(self.run, self.peer.pid) - self.peer.before)

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


class Ours:
    """headwater bench peer, with one model open."""

    def __init__(self, run, name, dtype="float32"):
        self.before = taken(run) if run.cuda else 0
        command = [run.program, "bench", "peer", *run.on_model(name, dtype)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"it ended with {self.process.wait()}"}
        if answer.get("error"):
            raise RuntimeError(f"headwater: {request['task']}: {answer['error']}")
        return answer

    def best(self, times=2, **request):
        """The quickest of some answers after a first one, which compiles."""
        first = self.ask(**request)
        answers = [self.ask(**request) for _ in range(times)]
        best = min(answers, key=lambda a: a["token_ms"] or a["ms"])
        return best | {"compile_ms": first["ms"] - best["ms"]}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours(run, name, dtype, text=None):
    """What a token costs, plain and explained, after a text of PROMPT tokens. Returns the answers by what was asked."""
    peer, found = Ours(run, name, dtype), {}
    ids = prompt(run, PROMPT)
    text = text or " ".join(f"w{i}" for i in ids)
    with Peak(run, peer) as peak:
        for label, request in {
            "plain": {"task": "decode", "ids": ids},
            "direct": {"task": "explain", "prompt": text, "methods": ["direct"]},
            "value-zeroing": {"task": "explain", "prompt": text, "methods": ["value-zeroing"]},
            "rows": {"task": "rows", "ids": ids},
        }.items():
            answer = found[label] = peer.best(new=NEW, **request)
            note(**{f"{name} {dtype} {label}": answer})
            what = {"rows": "rows of Value Zeroing, all layers", "plain": "a plain token"}.get(label, f"a token with {label}")
            figure(f"{name} {dtype}: {what}", answer["token_ms"], "ms")
            if label == "direct":
                figure(f"{name} {dtype}: a token with direct, of a plain one", answer["token_ms"] / found["plain"]["token_ms"], "×", aim=1.5)
    peer.close()
    figure(f"{name} {dtype}: memory of {'the GPU' if run.cuda else 'the process'}", peak.most, "MB")
    return found


def generate(run, model):
    """The median of the tokens after the first, in ms, and the ids, by generate of transformers."""
    import torch
    from transformers import StoppingCriteria

    class Clock(StoppingCriteria):
        def __init__(self):
            self.times = []

        def __call__(self, input_ids, scores, **_):
            if run.cuda:
                torch.cuda.synchronize()
            self.times.append(time.perf_counter())
            return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)

    ids = torch.tensor([prompt(run, PROMPT)], device=run.device)
    best = None
    for _ in range(3):
        clock = Clock()
        out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=NEW, pad_token_id=0, stopping_criteria=[clock])
        ms = statistics.median(1e3 * (b - a) for a, b in zip(clock.times, clock.times[1:]))
        best = ms if best is None else min(best, ms)
    return best, out[0, ids.shape[1]:].tolist()


def beside_generate(run, name, dtype, found, model):
    theirs, ids = generate(run, model)
    figure(f"{name} {dtype}: a token by generate", theirs, "ms")
    figure(f"{name} {dtype}: a plain token, of one by generate", found["plain"]["token_ms"] / theirs, "×", aim=1)
    same = next((i for i, (a, b) in enumerate(zip(found["plain"]["ids"], ids)) if a != b), len(ids))
    figure(f"{name} {dtype}: tokens before the first that differs from generate", same, f"of {NEW}")


def speed_1b(run):
    found = ours(run, "1b", "float32")
    model = torch_model(run, "1b", "float32")
    beside_generate(run, "1b", "float32", found, model)
    ids = prompt(run, PROMPT) + found["rows"]["ids"][: NEW // 2]  # the text when half of the tokens are there
    for batched, words, aim in ((True, "all sources in a batch", None), (False, "a pass for each source, as Inseq", 20)):
        zeroed(run, model, ids[:8], batched)
        begin = time.perf_counter()
        rows = zeroed(run, model, ids, batched)
        rows.cpu()
        ms = 1e3 * (time.perf_counter() - begin)
        figure(f"1b float32: rows of a token by hooks, {words}", ms, "ms")
        figure(f"1b float32: rows, times faster than {words}", ms / found["rows"]["token_ms"], "×", aim=aim, most=False)


def speed(run, name):
    beside_generate(run, name, "bfloat16", ours(run, name, "bfloat16"), torch_model(run, name, "bfloat16"))


def codes(run, name):
    """A GGUF file quantised as Q4_K_M, whose matrices stay in their codes; a letter is a token there."""
    sys.path.insert(0, str(HERE))
    import gguf

    file, small = f"{name}.gguf", "small" if run.small else name
    gguf.write(run.work / file, small)
    megabytes = (run.work / file).stat().st_size / 1e6
    figure(f"{file}: the file", megabytes, "MB")
    ours(run, file, "float32", ("the quick brown fox jumps over a lazy dog " * 2)[:PROMPT])


def long(run):
    """A long prompt and four tokens by the default methods."""
    peer = Ours(run, "1b", "bfloat16")
    text = " ".join(f"w{i}" for i in prompt(run, run.long))
    with Peak(run, peer) as peak:
        for label in ("with compiling", "again"):
            answer = peer.ask(task="explain", prompt=text, new=4)
            figure(f"1b bfloat16: {run.long} tokens, first explained token, {label}", answer["first_ms"] / 1e3, "s")
    figure(f"1b bfloat16: {run.long} tokens, each more", answer["token_ms"], "ms")
    figure(f"1b bfloat16: {run.long} tokens, memory of {'the GPU' if run.cuda else 'the process'}", peak.most, "MB")
    peer.close()


def pieces(run):
    """A real model, where all its pieces are."""
    whole = run.work / "model.gguf"
    with open(whole, "wb") as out:
        for piece in sorted(pathlib.Path(run.pieces).glob("model.*"), key=lambda p: int(p.suffix[1:])):
            out.write(piece.read_bytes())
    note(certificate=json.loads(run.headwater("certify", "--json", "--backend", run.backend, "--model", str(whole))))
    text = "The Eiffel Tower is in Paris. The Colosseum is in"
    note(explanation=run.headwater("explain", "--backend", run.backend, "--model", str(whole), "--max-tokens", "16", text))


# Name: limit in seconds, and what runs.
STEPS = {
    "machine": (10, machine),
    "doctor": (60, doctor),
    "certify": (70, certify),
    "make-1b": (35, lambda run: make(run, "1b")),
    "parity": (90, lambda run: parity(run, "1b")),
    "speed-1b": (70, speed_1b),
    "make-8b": (50, lambda run: make(run, "8b")),
    "speed-8b": (90, lambda run: speed(run, "8b")),
    "codes-1b": (40, lambda run: codes(run, "1b")),
    "codes-8b": (100, lambda run: codes(run, "8b")),
    "codes-mixture": (60, lambda run: codes(run, "moe")),
    "make-mixture": (45, lambda run: make(run, "mixture")),
    "parity-mixture": (90, lambda run: parity(run, "mixture")),
    "speed-mixture": (60, lambda run: speed(run, "mixture")),
    "long": (50, long),
    "speed-1b-bfloat16": (60, lambda run: speed(run, "1b")),
    "pieces": (100, pieces),
    "hang": (2, lambda run: time.sleep(60)),  # for the rehearsal: it is killed, and the next step runs
}

# --- the driver ------------------------------------------------------------------------------------------------------------------------


def run_step(name, args, limit, log):
    """Runs a step as a process and returns what came of it."""
    command = [sys.executable, __file__, "--step", name, "--work", args.work, "--backend", args.backend, "--goldens", args.goldens, args.results]
    command += ["--small"] * args.small + (["--pieces", args.pieces] if args.pieces else [])
    begin, status = time.monotonic(), "passed"
    notes = pathlib.Path(args.work, f"{name}.notes")
    notes.touch()
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=os.environ | {"NOTES": str(notes), "TF_CPP_MIN_LOG_LEVEL": "0"})
    try:
        if process.wait(limit):
            status = "failed"
    except subprocess.TimeoutExpired:
        status = f"killed after {limit:.0f} s"
        os.killpg(process.pid, signal.SIGQUIT)  # Go and Python write where they are
        time.sleep(1)
    with contextlib.suppress(ProcessLookupError):  # what the step has started may still run
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    found = {"step": name, "status": status, "seconds": round(time.monotonic() - begin, 1), "limit": round(limit), "figures": []}
    for line in notes.read_text().splitlines():
        with contextlib.suppress(ValueError):  # the last one may be cut
            for key, value in json.loads(line).items():
                found["figures"].append(value) if key == "figure" else found.__setitem__(key, value)
    return found


def table(results):
    lines = []
    for step in results:
        lines.append(f"{step['step']}: {step['status']} ({step['seconds']} of {step['limit']} s){': ' + step['error'] if 'error' in step else ''}")
        for f in step["figures"]:
            aim = "" if f["aim"] is None else f"  aim {'at most' if f['most'] else 'at least'} {f['aim']:g}: {'met' if f['met'] else 'MISSED'}"
            lines.append(f"    {f['name']:<76} {f['value']:>12.4g} {f['unit']}{aim}")
    return "\n".join(lines) + "\n"


def write(path, text):
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def drive(args):
    results, found = pathlib.Path(args.results), []
    results.mkdir(parents=True, exist_ok=True)
    names = args.only.split(",") if args.only else [n for n in STEPS if n != "hang" and (n != "pieces" or args.pieces)]
    end = time.monotonic() + TOTAL
    with open(results / "log.txt", "w") as log:
        for name in names:
            left = end - time.monotonic()
            if left < 5:
                found.append({"step": name, "status": "left out, the time is used up", "seconds": 0, "limit": 0, "figures": []})
            else:
                print(f"== {name}", file=log, flush=True)
                found.append(run_step(name, args, min(STEPS[name][0], left), log))
            write(results / "results.json", json.dumps({"backend": args.backend, "small": args.small, "steps": found}, indent=1))
            write(results / "table.txt", table(found))
            print(table(found[-1:]), end="", flush=True)
    sys.exit(any(step["status"] != "passed" for step in found))


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("results")
    flags.add_argument("--pack")
    flags.add_argument("--backend", default="cuda")
    flags.add_argument("--small", action="store_true")
    flags.add_argument("--only")
    flags.add_argument("--goldens", default=str(HERE.parents[min(2, len(HERE.parents) - 1)] / "models/testdata/goldens"))
    flags.add_argument("--pieces")
    flags.add_argument("--work", help=argparse.SUPPRESS)
    flags.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    args = flags.parse_args()
    if args.step:
        faulthandler.register(signal.SIGQUIT, all_threads=True, chain=True)
        try:
            STEPS[args.step][1](Run(args))
        except Exception as error:
            note(error=f"{type(error).__name__}: {error}"[:1000])
            raise
        return
    args.results = os.path.abspath(args.results)
    args.work = tempfile.mkdtemp(prefix="headwater-gpu-")
    try:
        if args.pack:
            with tarfile.open(args.pack, "r:xz") as tar:
                tar.extractall(args.work, filter="data")
            rest = [a for flag in ("backend", "only", "goldens", "pieces") if getattr(args, flag) for a in (f"--{flag}", getattr(args, flag))]
            command = [sys.executable, os.path.join(args.work, "run.py"), *rest, *["--small"] * args.small, args.results]
            sys.exit(subprocess.run(command).returncode)
        drive(args)
    finally:
        shutil.rmtree(args.work, ignore_errors=True)


if __name__ == "__main__":
    main()
