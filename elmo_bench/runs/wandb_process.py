"""The process that talks to Weights & Biases, started by `tracking.py` as a script of its own.

Standard input has one event per line, as JSON: first `start`, then any number of `log`, and at last `finish`;
an end without `finish` means that the run was interrupted. Standard output has the reason of a failure, if
there is one.

wandb waits for servers for minutes, replaces signal handlers and may hang when its process ends. Here it
disturbs nobody: an alarm of the operating system ends this process, whatever wandb is doing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any, TextIO

Events = SimpleQueue[Mapping[str, Any] | None]  # None: there are no more


def main() -> None:
    """Track one run, and end without the exit hooks of wandb; the argument is a directory to remove then."""
    answers, code = _take_standard_output(), 0
    try:
        _track(_read_events(sys.stdin))
    except Exception as error:
        print(str(error) or type(error).__name__, file=answers, flush=True)
        code = 1
    # The temporary files, which exit hooks would remove. Who started this process does it if it was killed.
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    os._exit(code)


def _track(events: Events) -> None:
    import wandb

    first = events.get()
    if first is None:
        return
    seconds = first["seconds"]
    _set_alarm(seconds)
    # The usage of processor and memory that is shown is that of the run, not of this process.
    settings = wandb.Settings(silent=True, console="off", program=first["program"], x_stats_pid=os.getppid())
    run = wandb.init(**first["start"], settings=settings)
    _set_alarm(0)
    while event := events.get():
        if "finish" in event:
            run.summary.update(event["finish"])
            break
        run.log(event["log"])
    _set_alarm(seconds)
    run.finish(exit_code=0 if event else 1)


def _set_alarm(seconds: float) -> None:
    """End this process after so many seconds; 0 takes this back."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _read_events(stream: TextIO) -> Events:
    """Read in a thread, so that the run can always write, even while wandb is waiting for something."""
    events: Events = SimpleQueue()

    def read() -> None:
        for line in stream:
            events.put(json.loads(line))
        events.put(None)

    threading.Thread(target=read, daemon=True).start()
    return events


def _take_standard_output() -> TextIO:
    """A stream for answers; whatever wandb and its own processes print is dropped."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return answers


if __name__ == "__main__":
    main()
