"""Compares ours with PyTorch on the same device: compare.py BACKEND PROGRAMS.

One checkpoint of GPT-2 small's shape with random weights, float32 without TF32 on both sides. It prints the largest difference of logits,
attentions and hidden states, and milliseconds of a pass that returns every attention matrix, and of a generated token.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel

LENGTHS = (64, 256, 1024)
NEW = 64
TOLERANCE = {"logits": 1e-4, "attention": 1e-5, "hidden": 1e-4}  # on CPUs they are 4e-6, 4e-7 and 1.4e-6 apart


def main():
    backend, programs = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    device = "cuda" if backend == "cuda" else "cpu"
    lengths = LENGTHS if device == "cuda" else LENGTHS[:1]
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager")).eval()
    report = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if device == "cuda" else "cpu", "lengths": {}}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model.to(device)
        ours = subprocess.Popen(
            [programs / "bench", "-model", folder, "-backend", backend], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for length in lengths:
            ids = torch.randint(0, 50257, (1, length))
            report["lengths"][length] = {
                "differences": differences(model, ids.to(device), folder, backend, programs),
                "torch": {"forward_ms": best(lambda: forward(model, ids.to(device))), "token_ms": token(model, ids.to(device))},
                "ours": {
                    "forward_ms": min(ask(ours, "forward", ids)["ms"] for _ in range(5)),
                    "token_ms": min(ask(ours, "decode", ids)["token_ms"] for _ in range(2)),
                },
            }
        ours.stdin.close()
        ours.wait(60)
    report["passed"] = all(
        d[tap] <= limit for at in report["lengths"].values() for d in [at["differences"]] for tap, limit in TOLERANCE.items()
    )
    print(json.dumps(report))
    sys.exit(not report["passed"])


@torch.no_grad()
def forward(model, ids):
    out = model(ids, output_attentions=True, output_hidden_states=True)
    return [t.cpu() for t in (out.logits, *out.attentions)], out


def differences(model, ids, folder, backend, programs):
    _, out = forward(model, ids)
    path = pathlib.Path(folder, "trace.safetensors")
    numbers = ",".join(str(i) for i in ids[0].tolist())
    command = [programs / "headwater", "trace", "--model", folder, "--backend", backend, "--ids", numbers, "--taps", "logits,attention,hidden"]
    subprocess.run([*command, "-o", path], check=True)
    got = load_file(path)
    return {
        "logits": off(got["logits"], out.logits[0]),
        "attention": off(got["attention"], torch.stack([a[0] for a in out.attentions])),
        # Ours keeps the residual stream before the last norm; transformers normalises its last hidden state.
        "hidden": off(got["hidden"][:-1], torch.stack([h[0] for h in out.hidden_states])[:-1]),
    }


def off(got, want):
    return (got.double() - want.cpu().double()).abs().max().item()


def best(run, times=5):
    run()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append((time.perf_counter() - start) * 1e3)
    return min(taken)


@torch.no_grad()
def token(model, ids):
    past, at, taken = None, ids, []
    for _ in range(NEW if ids.shape[1] + NEW <= 1024 else 1):
        start = time.perf_counter()
        out = model(at, past_key_values=past, use_cache=True)
        past, at = out.past_key_values, out.logits[:, -1:].argmax(-1)
        at.item()
        taken.append((time.perf_counter() - start) * 1e3)
    return statistics.median(taken[1:] or taken)


def ask(ours, task, ids):
    new = NEW if ids.shape[1] + NEW <= 1024 else 1
    ours.stdin.write(json.dumps({"task": task, "ids": ids[0].tolist(), "new": new}) + "\n")
    ours.stdin.flush()
    line = ours.stdout.readline()
    reply = json.loads(line) if line else {"error": "it ended"}
    if reply.get("error"):
        sys.exit(f"ours: {task}: {reply['error']}")
    return reply


main()
