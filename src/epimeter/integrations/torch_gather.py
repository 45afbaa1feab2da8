# SPDX-License-Identifier: Apache-2.0
"""The totals of all processes of `torch.distributed` as those of one meter, the same on every process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from epimeter.integrations.torch_meter import CalibrationMeter


def gathered(meter: CalibrationMeter, group: Any) -> CalibrationMeter:
    """The meter itself, or one that holds the rows of all processes; the meter given keeps its own."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size(group) == 1:
        return meter
    mine = meter.state_dict()
    columns = {name: value for name, value in mine.items() if isinstance(value, torch.Tensor)}
    facts = {name: value for name, value in mine.items() if name not in columns}
    shapes = {name: (tuple(value.shape), value.dtype) for name, value in columns.items()}
    everyone: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, (facts, shapes), group=group)
    device = _device(meter, group)
    states: list[dict[str, Any]] = [dict(theirs) for theirs, _ in everyone]
    for name in sorted({name for _, there in everyone for name in there}):
        for state, column in zip(states, _column(columns.get(name), name, everyone, device, group), strict=True):
            if column is not None:
                state[name] = column
    whole = meter.fresh()
    for state in states:
        part = meter.fresh()
        part.load_state_dict(state)
        whole.merge(part)
    return whole


def _column(mine: Any, name: str, everyone: list[Any], device: Any, group: Any) -> list[Any]:
    """One column of every process; as bytes, since lengths and precisions may differ."""
    sizes = [_bytes(there.get(name)) for _, there in everyone]
    padded = torch.zeros(max(sizes), dtype=torch.uint8, device=device)
    if mine is not None:
        padded[: _bytes((tuple(mine.shape), mine.dtype))] = mine.to(device).contiguous().view(-1).view(torch.uint8)
    parts = [torch.empty_like(padded) for _ in everyone]
    dist.all_gather(parts, padded, group=group)
    return [
        None if name not in there else part[:size].clone().view(there[name][1]).view(there[name][0])
        for part, size, (_, there) in zip(parts, sizes, everyone, strict=True)
    ]


def _bytes(column: Any) -> int:
    if column is None:
        return 0
    shape, kind = column
    return int(torch.Size(shape).numel()) * int(kind.itemsize)


def _device(meter: CalibrationMeter, group: Any) -> Any:
    """Where this process exchanges tensors: where its totals are, or where its backend wants them."""
    if meter.totals is not None:
        return meter.totals.device
    return torch.device("cuda", torch.cuda.current_device()) if dist.get_backend(group) == "nccl" else "cpu"
