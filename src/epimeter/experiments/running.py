# SPDX-License-Identifier: Apache-2.0
"""Work through the cells of a study on all cores; what is done stays done."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from epimeter.core.threads import cores
from epimeter.experiments.folder import Folder

Work = Callable[[dict[str, Any]], dict[str, Any]]
Progress = Callable[[str], None]
"""Told the key of each cell that is done."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def run(
    folder: Folder,
    cells: Mapping[str, dict[str, Any]],
    work: Work,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """The result of every cell: those that the folder has, and those that are done now.

    `work` must be a function of a module, as it is called in other processes. The answers do not depend on how many there are.
    """
    done = folder.results()
    left = [key for key in cells if key not in done]
    wanted = processes or cores()
    if wanted == 1:
        for key in left:
            done[key] = work(cells[key])
            folder.keep(key, done[key])
            if progress:
                progress(key)
    elif left:
        _shared(folder, cells, left, work, wanted, progress, done)
    return {key: done[key] for key in cells}


def _shared(
    folder: Folder,
    cells: Mapping[str, dict[str, Any]],
    left: Sequence[str],
    work: Work,
    processes: int,
    progress: Progress | None,
    done: dict[str, dict[str, Any]],
) -> None:
    # Fresh processes, not copies of this one: a copy of a process with threads can hang.
    context = multiprocessing.get_context("spawn")
    with _one_thread(), ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with_parent) as pool:
        waiting: dict[Future[dict[str, Any]], str] = {pool.submit(work, cells[key]): key for key in left}
        try:
            while waiting:
                ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    key = waiting.pop(future)
                    done[key] = future.result()
                    folder.keep(key, done[key])
                    if progress:
                        progress(key)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start now multiply matrices in one thread each: they share the cores already, and threads that wait spin."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update({name: value or "1" for name, value in before.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]


def _end_with_parent() -> None:
    """End this process when the one that started it is killed: it would finish its cell for nobody, and then wait for ever."""

    def wait_for_end() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()
