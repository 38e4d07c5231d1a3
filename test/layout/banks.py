"""Shared memory by brute force: the words that each lane touches, bank by bank, with no algebra."""

from __future__ import annotations

from collections.abc import Sequence


def wavefronts_of_phase(addresses: Sequence[int], width_bytes: int) -> int:
    """Wavefronts for one group of lanes: the most distinct 4-byte words in any of the 32 banks."""
    banks: dict[int, set[int]] = {}
    for address in addresses:
        for byte in range(address, address + width_bytes):
            banks.setdefault(byte // 4 % 32, set()).add(byte // 4)
    return max(len(words) for words in banks.values())


def wavefronts_of_access(addresses: Sequence[int], width_bytes: int) -> int:
    """Wavefronts of 32 lanes: all at once up to 4 bytes, 16 at a time for 8, eight at a time for 16."""
    lanes = {8: 16, 16: 8}.get(width_bytes, 32)
    return sum(
        wavefronts_of_phase(addresses[at : at + lanes], width_bytes) for at in range(0, len(addresses), lanes)
    )
