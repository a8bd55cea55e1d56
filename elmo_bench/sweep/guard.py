"""One job, whatever happens in it: a readable message and an exit code, never a lost sweep."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf.errors import OmegaConfBaseException

from elmo_bench.sweep.outcomes import JobEnd
from elmo_bench.types import BenchError, InterruptedRunError, UsageError


def guard(action: Callable[[], Path], overrides: list[str]) -> JobEnd:
    """Do one job and describe its end."""
    try:
        for number in (signal.SIGTERM, signal.SIGUSR2):
            signal.signal(number, _stop)  # fitting has a gentler answer, which checkpoints first
    except ValueError:
        pass  # not the main thread: signals go to whoever owns it
    try:
        result = action()
    except BenchError as error:
        return _fail(overrides, error.exit_code, str(error))
    except OmegaConfBaseException as error:
        return _fail(overrides, UsageError.exit_code, str(error).splitlines()[0])
    except OSError as error:
        return _fail(overrides, BenchError.exit_code, str(error))
    except Exception as error:  # a mistake of ours: shown in full, but the other jobs continue
        traceback.print_exc()
        return JobEnd(overrides, BenchError.exit_code, f"{type(error).__name__}: {error}")
    return JobEnd(overrides, 0, "", str(result))


def _fail(overrides: list[str], exit_code: int, message: str) -> JobEnd:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return JobEnd(overrides, exit_code, message)


def _stop(number: int, _: Any) -> None:
    raise InterruptedRunError(
        f"stopped by {signal.Signals(number).name}; run the same command again to resume"
    )
