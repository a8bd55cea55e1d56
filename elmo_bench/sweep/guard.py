"""Run one job and turn any failure into a message and an exit code, so that the sweep continues."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from omegaconf.errors import OmegaConfBaseException

from elmo_bench.files import describe_os_error
from elmo_bench.sweep.outcomes import JobEnd
from elmo_bench.training.stopping import stop_on_signals
from elmo_bench.types import BenchError, BusyError, InterruptedRunError, UsageError


def guard(action: Callable[[], Path], overrides: list[str]) -> JobEnd:
    """Run one job and report how it ended."""
    try:
        with stop_on_signals():
            result = action()
    except BusyError as error:  # the caller waits and tries again
        return JobEnd(overrides, error.exit_code, str(error), is_busy=True)
    except (BenchError, InterruptedRunError) as error:
        return _fail(overrides, error.exit_code, str(error))
    except OmegaConfBaseException as error:
        return _fail(overrides, UsageError.exit_code, str(error).splitlines()[0])
    except OSError as error:
        return _fail(overrides, BenchError.exit_code, describe_os_error(error))
    except Exception as error:  # a bug of this package: print the traceback; the other jobs continue
        traceback.print_exc()
        return JobEnd(overrides, BenchError.exit_code, f"{type(error).__name__}: {error}")
    return JobEnd(overrides, 0, "", str(result))


def _fail(overrides: list[str], exit_code: int, message: str) -> JobEnd:
    print(f"error: {message}", file=sys.stderr, flush=True)
    return JobEnd(overrides, exit_code, message)
