"""Memory of the executor: guarded global buffers, and a CTA's shared memory that knows who touched which byte.

Global buffers stand 2^44 bytes apart, so that an address says which buffer it means and an access past an end is seen.
Shared memory keeps, for every byte, whether it has been written, whether a cp.async is on its way to it, and which
thread wrote or read it since the last barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from execution.values import POISON_BYTE, ExecutionError

SPACING = 1 << 44
SHARED_BASE = 0x4000
"""The address of global_smem: not 0, aligned to its 1024 bytes and no more than 16384."""
NOBODY, SEVERAL = -1, -2


@dataclass
class _Buffer:
    """Rows of bytes, each `pitch` bytes after the one before; what lies between the rows is nobody's."""

    address: int
    data: np.ndarray
    pitch: int
    written: np.ndarray


@dataclass
class GlobalMemory:
    """Buffers by address. With `write_once`, a second store to a byte is an error."""

    write_once: bool = True
    buffers: list[_Buffer] = field(default_factory=list)

    def add(self, array: np.ndarray, misalignment: int = 0, pitch: int = 0) -> int:
        """Put a copy of an array into memory; its address, a multiple of 256 plus `misalignment`.

        With `pitch`, the rows of a matrix stand so many bytes apart; the bytes between them take no memory here.
        """
        rows = array.shape[0] if pitch else 1
        data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8).reshape(
            rows, -1 if array.size else 0
        )
        if pitch and data.shape[1] > pitch:
            raise ValueError(f"rows of {data.shape[1]} bytes do not fit a pitch of {pitch}")
        address = (len(self.buffers) + 1) * SPACING + 256 + misalignment
        self.buffers.append(_Buffer(address, data.copy(), pitch or SPACING, np.zeros(data.shape, np.bool_)))
        return address

    def read_back(self, address: int, like: np.ndarray) -> np.ndarray:
        """What an added array is now."""
        data = self.buffers[address // SPACING - 1].data
        return np.frombuffer(data.tobytes(), like.dtype).reshape(like.shape)

    def _places(self, addresses: np.ndarray, size: int, alignment: int, what: str) -> list[_Access]:
        """The accesses of every buffer touched."""
        misaligned = addresses % np.uint64(alignment) != 0
        if misaligned.any():
            first = int(addresses[misaligned][0])
            raise ExecutionError(
                f"{what} of {size} bytes at address {first:#x}, not a multiple of {alignment}"
            )
        found: list[_Access] = []
        owners = addresses // np.uint64(SPACING)
        for owner in np.unique(owners):
            which = np.flatnonzero(owners == owner)
            index = int(owner) - 1
            if not 0 <= index < len(self.buffers):
                first = int(addresses[which[0]])
                raise ExecutionError(f"{what} of {size} bytes at address {first:#x}, where no buffer is")
            buffer = self.buffers[index]
            offsets = addresses[which].astype(np.int64) - buffer.address
            rows, columns = np.divmod(offsets, buffer.pitch)
            height, width = buffer.data.shape
            outside = (rows < 0) | (rows >= height) | (columns + size > width)
            if outside.any():
                raise ExecutionError(
                    f"{what} of {size} bytes at row {int(rows[outside][0])}, byte {int(columns[outside][0])} "
                    f"of buffer {index}, which has {height} rows of {width} bytes"
                )
            found.append(_Access(index, buffer, which, rows[:, None], columns[:, None] + np.arange(size)))
        return found

    def read(self, addresses: np.ndarray, size: int, alignment: int, what: str = "a load") -> np.ndarray:
        """[accesses, size] bytes."""
        data = np.empty((len(addresses), size), np.uint8)
        for access in self._places(addresses, size, alignment, what):
            data[access.which] = access.buffer.data[access.rows, access.columns]
        return data

    def write(self, addresses: np.ndarray, data: np.ndarray, alignment: int, what: str = "a store") -> None:
        """Write bytes; two threads that write one byte at once are an error."""
        for access in self._places(addresses, data.shape[1], alignment, what):
            buffer, rows, columns = access.buffer, access.rows, access.columns
            if len(np.unique(rows * buffer.pitch + columns)) != columns.size:
                raise ExecutionError(f"{what} by several threads to one byte of buffer {access.index}")
            if self.write_once and buffer.written[rows, columns].any():
                raise ExecutionError(
                    f"{what} to bytes of buffer {access.index} that have been written before"
                )
            buffer.data[rows, columns] = data[access.which]
            buffer.written[rows, columns] = True


@dataclass
class _Access:
    """Which of an instruction's accesses go to a buffer, and the rows and bytes of them."""

    index: int
    buffer: _Buffer
    which: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@dataclass
class _Copy:
    """cp.asyncs of one instruction: by thread, the bytes, where they go, and the number of the group they join."""

    threads: np.ndarray
    places: np.ndarray
    data: np.ndarray
    groups: np.ndarray


class SharedMemory:
    """One CTA's shared memory."""

    def __init__(self, size: int, threads: int) -> None:
        self.size = size
        self.data = np.full(size, POISON_BYTE, np.uint8)
        self.initialized = np.zeros(size, np.bool_)
        self.pending = np.zeros(size, np.bool_)
        self.writer = np.full(size, NOBODY, np.int32)
        self.reader = np.full(size, NOBODY, np.int32)
        self.copies: list[_Copy] = []
        self.committed = np.zeros(threads, np.int64)

    def _places(self, addresses: np.ndarray, size: int, alignment: int, what: str) -> np.ndarray:
        if (addresses % np.uint64(alignment)).any():
            raise ExecutionError(
                f"{what} of {size} bytes in shared memory at an address that is not a multiple of {alignment}"
            )
        offsets = addresses.astype(np.int64) - SHARED_BASE
        outside = (offsets < 0) | (offsets + size > self.size)
        if outside.any():
            raise ExecutionError(
                f"{what} of {size} bytes at byte {int(offsets[outside][0])} of {self.size} bytes of shared memory"
            )
        return offsets[:, None] + np.arange(size)

    def read(
        self,
        addresses: np.ndarray,
        size: int,
        alignment: int,
        threads: np.ndarray | int,
        what: str = "a load",
    ) -> np.ndarray:
        """[accesses, size] bytes. `threads` is who reads, or SEVERAL."""
        places = self._places(addresses, size, alignment, what)
        if self.pending[places].any():
            raise ExecutionError(f"{what} from shared memory where a cp.async is on its way")
        if not self.initialized[places].all():
            raise ExecutionError(f"{what} from shared memory that was never written")
        who = np.broadcast_to(np.asarray(threads, np.int32)[..., None], places.shape)
        writers = self.writer[places]
        foreign = (writers != NOBODY) & ((writers != who) | (who == SEVERAL))
        if foreign.any():
            raise ExecutionError(
                f"{what} from shared memory that {_name(writers[foreign][0])} wrote, without a barrier between: a race"
            )
        # Who has read: the one thread, or several.
        before = self.reader[places]
        self.reader[places] = np.where((before == NOBODY) | (before == who), who, SEVERAL)
        last = self.reader[places]
        self.reader[places[last != who]] = SEVERAL
        return self.data[places]

    def _claim(
        self, addresses: np.ndarray, size: int, alignment: int, threads: np.ndarray | int, what: str
    ) -> np.ndarray:
        """The places of a write, after the checks that no other thread is using them."""
        places = self._places(addresses, size, alignment, what)
        if self.pending[places].any():
            raise ExecutionError(f"{what} to shared memory where a cp.async is on its way")
        who = np.broadcast_to(np.asarray(threads, np.int32)[..., None], places.shape)
        for users, did in ((self.writer[places], "wrote"), (self.reader[places], "read")):
            foreign = (users != NOBODY) & ((users != who) | (who == SEVERAL))
            if foreign.any():
                raise ExecutionError(
                    f"{what} to shared memory that {_name(users[foreign][0])} {did}, without a barrier between: a race"
                )
        if len(np.unique(places)) != places.size:
            raise ExecutionError(f"{what} by several threads to one byte of shared memory: a race")
        return places

    def write(
        self,
        addresses: np.ndarray,
        data: np.ndarray,
        alignment: int,
        threads: np.ndarray | int,
        what: str = "a store",
    ) -> None:
        places = self._claim(addresses, data.shape[1], alignment, threads, what)
        self._land(places, data, np.asarray(threads, np.int32))

    def _land(self, places: np.ndarray, data: np.ndarray, threads: np.ndarray) -> None:
        self.data[places] = data
        self.initialized[places] = True
        self.writer[places] = threads[..., None]

    def copy_async(self, addresses: np.ndarray, data: np.ndarray, threads: np.ndarray) -> None:
        """Start copies: the bytes cannot be used until the group has been waited for."""
        places = self._claim(addresses, data.shape[1], data.shape[1], threads, "a cp.async")
        self.data[places] = POISON_BYTE
        self.initialized[places] = False
        self.pending[places] = True
        self.copies.append(_Copy(threads, places, data, self.committed[threads]))

    def commit(self, threads: np.ndarray) -> None:
        self.committed[threads] += 1

    def wait(self, mask: np.ndarray, pending: int | None) -> None:
        """Land the copies of all but the latest `pending` groups of the threads of a mask; None lands all."""
        kept: list[_Copy] = []
        for copy in self.copies:
            done = mask[copy.threads]
            if pending is not None:
                done = done & (copy.groups < self.committed[copy.threads] - pending)
            self.pending[copy.places[done]] = False
            self._land(copy.places[done], copy.data[done], copy.threads[done].astype(np.int32))
            if not done.all():
                left = ~done
                kept.append(_Copy(copy.threads[left], copy.places[left], copy.data[left], copy.groups[left]))
        self.copies = kept

    def barrier(self) -> None:
        """All threads have arrived: what was written is for all to read."""
        self.writer.fill(NOBODY)
        self.reader.fill(NOBODY)


def _name(thread: int) -> str:
    return "a warp" if thread == SEVERAL else f"thread {thread}"
