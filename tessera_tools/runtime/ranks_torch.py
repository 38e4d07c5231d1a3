"""The ranks of a plan over torch.distributed: gloo between processors, nccl between GPUs.

Arrays and tensors share their memory, so that torch does not depend on NumPy.
"""

from __future__ import annotations

import datetime
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tessera_tools.diagnostics import error
from tessera_tools.runtime.ranks_transport import LostRankError, Transport, combined
from tessera_tools.runtime.types import Array, Type

__all__ = ["TorchTransport", "has_torch"]


_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
}
"""Element type → torch's, where torch.distributed reduces it."""
_NOT_BY_GLOO = ("bf16",)
_INSTEAD = "use --transport=mpi"


class Tensor(Protocol):
    """A tensor of torch."""

    dtype: object

    def cpu(self) -> Tensor: ...

    def cuda(self) -> Tensor: ...

    def copy_(self, source: Tensor) -> Tensor: ...


class Work(Protocol):
    """A message of torch.distributed that is under way."""

    def wait(self) -> object: ...


def has_torch() -> bool:
    """True if torch can be imported, without importing it."""
    return importlib.util.find_spec("torch") is not None


class TorchTransport(Transport):
    """A rank of torch.distributed. `path` is the rendezvous file of the ranks, new for every run."""

    name = "torch.distributed"

    def __init__(
        self,
        rank: int,
        ranks: int,
        path: str,
        groups: Sequence[Sequence[int]],
        time_limit: float,
        gpu: bool = False,
    ) -> None:
        try:
            torch: Any = importlib.import_module("torch")
            distributed: Any = importlib.import_module("torch.distributed")
        except (ImportError, OSError) as failure:
            raise error(None, f"torch cannot be imported: {_line(failure)}", _INSTEAD) from None
        if not distributed.is_available():
            raise error(None, "this torch was built without torch.distributed", _INSTEAD)
        if not gpu and sys.platform == "linux":
            # The ranks are on this machine, whatever its host name resolves to.
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        self.torch, self.distributed = torch, distributed
        self.rank = rank
        self.gpu = gpu
        backend = "nccl" if gpu else "gloo"
        try:
            if gpu:
                torch.cuda.set_device(rank)
            limit = datetime.timedelta(seconds=time_limit)
            distributed.init_process_group(
                backend, init_method=f"file://{path}", rank=rank, world_size=ranks, timeout=limit
            )
            # Every rank creates every group, in the same order.
            self.groups = {
                tuple(group): distributed.new_group(list(group), timeout=limit) for group in groups
            }
        except (RuntimeError, ValueError, OSError) as failure:
            raise error(None, f"torch.distributed cannot start with {backend}: {_line(failure)}") from None

    def all_reduce(self, array: Array, type: Type, combine: str, group: Sequence[int]) -> Array:
        if not self._reduces(type):
            return combined(self.all_gather(array, group), type, combine)
        result = array.copy()
        tensor = self._tensor(result, _DTYPES[type.name])
        self._do(self.distributed.all_reduce, tensor, self._operation(combine), self.groups[tuple(group)])
        return self._back(tensor, result)

    def all_gather(self, array: Array, group: Sequence[int]) -> list[Array]:
        results = [np.empty_like(array) for _ in group]
        tensors = [self._tensor(one) for one in results]
        self._do(self.distributed.all_gather, tensors, self._tensor(array.copy()), self.groups[tuple(group)])
        return [self._back(tensor, one) for tensor, one in zip(tensors, results, strict=True)]

    def reduce_scatter(self, parts: Sequence[Array], type: Type, combine: str, group: Sequence[int]) -> Array:
        place = list(group).index(self.rank)
        if not self.gpu:  # gloo reduces to all ranks; older versions do not have reduce_scatter.
            return self.all_reduce(np.stack(parts), type, combine, group)[place]
        if not self._reduces(type):
            return combined(self.all_to_all(parts, group), type, combine)
        result = np.empty_like(parts[0])
        tensor = self._tensor(result, _DTYPES[type.name])
        given = [self._tensor(part.copy(), _DTYPES[type.name]) for part in parts]
        operation = self._operation(combine)
        self._do(self.distributed.reduce_scatter, tensor, given, operation, self.groups[tuple(group)])
        return self._back(tensor, result)

    def all_to_all(self, parts: Sequence[Array], group: Sequence[int]) -> list[Array]:
        chosen = self.groups[tuple(group)]
        results = [np.array(part) for part in parts]
        tensors = [self._tensor(one) for one in results]
        given = [self._tensor(part.copy()) for part in parts]
        if self.gpu:
            self._do(self.distributed.all_to_all, tensors, given, chosen)
        else:  # All versions of gloo support send and receive.
            self._do(self._exchange, tensors, given, chosen, group)
        return [self._back(tensor, one) for tensor, one in zip(tensors, results, strict=True)]

    def close(self) -> None:
        self.distributed.destroy_process_group()

    # -- torch

    def _exchange(
        self, tensors: list[Tensor], given: list[Tensor], chosen: object, group: Sequence[int]
    ) -> None:
        work: list[Work] = []
        for other, result, part in zip(group, tensors, given, strict=True):
            if other != self.rank:
                work.append(self.distributed.isend(part, other, chosen))
                work.append(self.distributed.irecv(result, other, chosen))
        for one in work:
            one.wait()

    def _do(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            function(*arguments)
        except RuntimeError as failure:
            raise LostRankError(f"torch.distributed: {_line(failure)}") from None

    def _reduces(self, type: Type) -> bool:
        return type.name in _DTYPES and (self.gpu or type.name not in _NOT_BY_GLOO)

    def _operation(self, combine: str) -> object:
        return getattr(self.distributed.ReduceOp, combine.upper())

    def _tensor(self, array: Array, dtype: str = "uint8") -> Tensor:
        """A tensor on the array's memory, or on the GPU a copy of it. The array is contiguous and writable."""
        tensor = self.torch.frombuffer(_bytes(array), dtype=getattr(self.torch, dtype))
        return tensor.cuda() if self.gpu else tensor

    def _back(self, tensor: Tensor, array: Array) -> Array:
        if self.gpu:
            self.torch.frombuffer(_bytes(array), dtype=tensor.dtype).copy_(tensor.cpu())
        return array


def _bytes(array: Any) -> memoryview:
    """The memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8))


def _line(failure: Exception) -> str:
    return " ".join(str(failure).split())[:300]
