# SPDX-License-Identifier: Apache-2.0
"""Compile the C core, `src/epimeter/core`, into the one extension module `epimeter.core._native`.

What is compiled is found by its place, so that a new loop is a new file and nothing else:

    core/include/*.h    the functions Python may call; cffi reads its declarations from these files
    core/*.c            compiled once
    core/levels/*.c     compiled once for each level of the processor, each function's name ending in the level
    core/*.h            what the C files share among themselves

The compiler is `$CC`, else cc, gcc or clang, else the one inside the `ziglang` wheel. `EPIMETER_TARGET` names another machine to
compile for (`x86_64-linux-gnu.2.17`, `aarch64-linux-gnu.2.17`), which only ziglang can. Run this file to compile in place.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE / "src" / "epimeter" / "core"
MODULE = "epimeter.core._native"
FILE = "_native.abi3.so"
ABI = 0x030B0000  # the stable ABI of Python 3.11

# A product is never fused with the sum behind it, so that every compiler and every processor rounds alike.
FLAGS = (
    "-std=c11",
    "-O3",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-g0",
    "-Wall",
    "-Wextra",
)
V3 = ("-mavx", "-mavx2", "-mbmi", "-mbmi2", "-mf16c", "-mfma", "-mlzcnt", "-mmovbe", "-mpopcnt")
V4 = (*V3, "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl")
LEVELS = {"x86_64": {"v1": (), "v3": V3, "v4": V4}}  # elsewhere only v1, what every processor of its kind has


class BuildError(RuntimeError):
    """The core could not be compiled; the sentence says what to do."""


def compiler() -> list[str] | None:
    """The C compiler of this machine that finds its own headers, or None."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) and _works([name]):
            return [name]
    return None


def _works(command: list[str]) -> bool:
    """Whether a compiler makes a shared library of a program that reads the headers of C."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "trial.c")
        source.write_text(
            "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\nint64_t trial(void) { return 1; }\n"
        )
        tried = [*command, "-shared", "-fPIC", "-o", str(Path(folder, "trial.so")), str(source)]
        return subprocess.run(tried, capture_output=True).returncode == 0


def target() -> str | None:
    """The machine to compile for, as zig writes it; None for this one."""
    return os.environ.get("EPIMETER_TARGET") or None


def needs_zig() -> bool:
    """Whether the build has to ask for the ziglang wheel."""
    return target() is not None or compiler() is None


def chosen() -> list[str]:
    """The command that compiles."""
    if not needs_zig():
        found = compiler()
        assert found is not None
        return found
    if importlib.util.find_spec("ziglang") is None:
        raise BuildError(
            "no C compiler was found; install gcc or clang (Debian: apt install gcc libc6-dev), or pip install ziglang"
        )
    return [sys.executable, "-m", "ziglang", "cc", *(("-target", target()) if target() else ())]


def machine() -> str:
    """The processor compiled for."""
    return target().partition("-")[0] if target() else platform.machine().lower().replace("amd64", "x86_64")


def tag() -> str:
    """The tag of the wheel: every Python from 3.11 on, one platform."""
    if named := target():
        processor, _, libc = named.partition("-linux-gnu.")
        return f"cp311-abi3-manylinux_{libc.replace('.', '_')}_{processor}"
    return "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def declarations() -> list[Path]:
    """The headers of what Python may call, each after those it includes."""
    ordered: list[Path] = []

    def visit(header: Path) -> None:
        for line in header.read_text().splitlines():
            if line.startswith('#include "') and (other := header.with_name(line.split('"')[1])).exists():
                visit(other)
        if header not in ordered:
            ordered.append(header)

    for header in sorted((CORE / "include").glob("*.h")):
        visit(header)
    return ordered


def binding(folder: Path) -> Path:
    """The C file that joins the declared functions to Python."""
    from cffi import FFI

    headers = declarations()
    ffi = FFI()
    for header in headers:
        ffi.cdef("\n".join(line for line in header.read_text().splitlines() if not line.startswith("#")))
    ffi.set_source(MODULE, "\n".join(f'#include "{header.name}"' for header in headers), py_limited_api=True)
    made = folder / "_native.c"
    ffi.emit_c_code(str(made))
    return made


def jobs(folder: Path) -> list[tuple[Path, Path, tuple[str, ...]]]:
    """What is compiled: source, object, and the flags of its own."""
    levels = LEVELS.get(machine(), {"v1": ()})
    found = [(path, folder / f"{path.stem}.o", ()) for path in sorted(CORE.glob("*.c"))]
    for path in sorted((CORE / "levels").glob("*.c")):
        found += [
            (path, folder / f"{path.stem}_{level}.o", (*own, f"-DLEVEL={level}")) for level, own in levels.items()
        ]
    return found


def build(made: Path, flags: tuple[str, ...] = (), command: list[str] | None = None) -> Path:
    """Compile the core into the file `made`; flags given come last, so that they win."""
    include = sysconfig.get_paths()["include"]
    if not Path(include, "Python.h").exists():
        raise BuildError(f"the headers of Python are not in {include}; install them (Debian: apt install python3-dev)")
    command = chosen() if command is None else command
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # The same sources shall give the same bytes: nothing may hold the name of the temporary folder.
        every = (*FLAGS, f"-ffile-prefix-map={folder}=.", f"-I{CORE}", f"-I{CORE / 'include'}", *flags)
        work = [
            [*command, *every, *own, "-c", str(source), "-o", str(path)]
            for source, path, own in [*jobs(folder), (binding(folder), folder / "_native.o", _glue(include))]
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_run, work))
        library = folder / FILE
        loose = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" and not target() else ()
        _run([*command, "-shared", *flags, *loose, *[line[-1] for line in work], "-lm", "-o", str(library)])
        halfway = made.with_name(f"{made.name}.{os.getpid()}")
        shutil.copy(library, halfway)
        halfway.replace(made)  # a process that imports meanwhile sees the old file or the new one
    return made


def _glue(include: str) -> tuple[str, ...]:
    return (f"-I{include}", f"-DPy_LIMITED_API={ABI:#x}", "-Wno-unused-parameter", "-Wno-missing-field-initializers")


def _run(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise BuildError(
            f"the C core does not compile with {command[0]}; its words were:\n{finished.stderr or finished.stdout}"
        )
    if finished.stderr.strip():
        print(finished.stderr, file=sys.stderr)


def stale(made: Path) -> bool:
    """Whether a source is newer than what was made of it."""
    sources = [Path(__file__), *CORE.rglob("*.c"), *CORE.rglob("*.h")]
    return not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in sources)


if __name__ == "__main__":
    try:
        if stale(CORE / FILE) or "--force" in sys.argv:
            print(f"compiling {build(CORE / FILE)}")
    except BuildError as error:
        sys.exit(str(error))
