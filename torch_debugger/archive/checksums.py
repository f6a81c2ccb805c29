"""CRC-32C of rows that differ in a few columns only.

The checksum is linear over bits: each byte adds a number that depends on the byte and on its distance from the
end. So the columns that all rows share are summed up once, and only the others are looked at row by row.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from torch_debugger.runlog.crc import crc32c, crc32c_of_each

LONGEST = 8192  # bytes of a payload; each byte of distance has a table of 1 KB

_Numbers = NDArray[np.uint32]


def crc32c_of_rows(rows: NDArray[np.uint8], length: int, columns: list[int]) -> _Numbers:
    """Of the first `length` bytes of every row; all rows are alike there except in `columns`."""
    shared = rows[0, :length].copy()
    shared[columns] = 0
    checksums = np.full(len(rows), crc32c(shared.tobytes()), np.uint32)
    for column in columns:
        checksums ^= _table(length - 1 - column).take(rows[:, column])
    return checksums


def masked(checksums: _Numbers) -> _Numbers:
    """As `runlog.crc.mask`, for many."""
    turned: _Numbers = ((checksums >> 15) | (checksums << 17)) + np.uint32(0xA282EAD8)
    return turned


def _table(distance: int) -> _Numbers:
    """What each byte adds that far from the end."""
    tables = _tables()
    while len(tables) <= distance:
        last = tables[-1]
        tables.append(tables[0][last & 0xFF] ^ (last >> 8))  # one more zero behind it
    return tables[distance]


@functools.cache
def _tables() -> list[_Numbers]:
    single = np.array(crc32c_of_each([bytes([byte]) for byte in range(256)]), np.uint32)
    return [single ^ single[0]]
