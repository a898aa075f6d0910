"""What the Python peers of bench.py share: one request a line on standard input, one answer a line on standard output."""

import json
import os
import statistics
import sys

os.environ["TRANSFORMERS_VERBOSITY"] = "error"


def serve(tasks):
    """Answers requests by the function of their task until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = tasks[request["task"]](request)
        except Exception as error:  # the driver reports it and ends
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")


def median_step(times):
    """The median of the times between tokens, in milliseconds; the first token, which waits for the prompt, is left out."""
    steps = [1e3 * (b - a) for a, b in zip(times, times[1:])]
    return statistics.median(steps) if steps else 0.0
