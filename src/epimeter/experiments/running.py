# SPDX-License-Identifier: Apache-2.0
"""Work through the cells of a study on all cores; what is done stays done."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from epimeter.experiments.folder import Folder

Work = Callable[[dict[str, Any]], dict[str, Any]]
Progress = Callable[[int], None]


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
    if progress:
        progress(len(cells) - len(left))
    if (processes or os.cpu_count() or 1) == 1:
        for key in left:
            done[key] = work(cells[key])
            folder.keep(key, done[key])
            if progress:
                progress(1)
    elif left:
        _shared(folder, cells, left, work, processes or os.cpu_count() or 1, progress, done)
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
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting: dict[Future[dict[str, Any]], str] = {pool.submit(work, cells[key]): key for key in left}
        try:
            while waiting:
                ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    key = waiting.pop(future)
                    done[key] = future.result()
                    folder.keep(key, done[key])
                    if progress:
                        progress(1)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
