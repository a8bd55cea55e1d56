"""The functions of `loops.c`, compiled once per machine; None where there is no C compiler.

Without them every layer runs its loop over time in Python, which is its definition: the same numbers but for
their last bits, as on another processor, several times as slow at small sizes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmo_bench.files import make_once
from elmo_bench.hashing import hash_value
from elmo_bench.types import BenchError, log_to_stderr

SOURCE = Path(__file__).with_name("loops.c")
OPTIONS = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
NUMBERS = {torch.float32: "float", torch.float64: "double"}
LIBRARY = "loops.so"
SWITCH = "ELMO_BENCH_COMPILE"  # 0: do without the compiler


def has_loops(tensor: Tensor) -> bool:
    """Whether the compiled functions can read a tensor."""
    return tensor.device.type == "cpu" and load_loops(tensor.dtype) is not None


def call_loop(name: str, dtype: torch.dtype, *arguments: Tensor | float | ctypes.Array[Any] | None) -> None:
    """Call a compiled function on contiguous tensors, whole numbers (long), others (double) and arrays."""
    loops = load_loops(dtype)
    assert loops is not None
    getattr(loops, name)(*map(_as_passed, arguments))


def _as_passed(argument: Tensor | float | ctypes.Array[Any] | None) -> Any:
    if isinstance(argument, Tensor):
        assert argument.is_contiguous()
        return ctypes.c_void_p(argument.data_ptr())
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.c_double(argument) if isinstance(argument, float) else argument


@cache
def load_loops(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The functions for numbers of one type."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None or dtype not in NUMBERS or os.environ.get(SWITCH) == "0":
        return None
    options = (*OPTIONS, f"-DREAL={NUMBERS[dtype]}")
    # whatever decides the machine code, so that a directory shared by several machines serves each its own
    identity = hash_value([SOURCE.read_text(), options, describe_compiler(compiler), processor_flags()])
    directory = cache_directory() / f"loops-{identity[:16]}"
    try:
        make_once(directory, partial(compile_library, compiler, options), log_to_stderr)
        return ctypes.CDLL(str(directory / LIBRARY))
    except (BenchError, OSError, subprocess.SubprocessError):
        return None


def compile_library(compiler: str, options: tuple[str, ...], directory: Path) -> None:
    """Compile `loops.c` into a directory."""
    command = [compiler, *options, str(SOURCE), "-o", str(directory / LIBRARY), "-lm"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def cache_directory() -> Path:
    """Where a user's programs keep what they can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elmo_bench"


def describe_compiler(compiler: str) -> list[Any]:
    """The compiler's file; asking it for its version would take longer than loading what it made."""
    real = Path(compiler).resolve()
    return [str(real), real.stat().st_size, real.stat().st_mtime]


def processor_flags() -> str:
    """What the processor can do, as Linux says it, and its architecture elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
