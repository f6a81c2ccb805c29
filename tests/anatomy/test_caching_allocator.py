"""torch's allocator played through: sizes worked out by hand from its rules."""

from __future__ import annotations

import random

import pytest

from torch_debugger.model.cuda_memory import CachingAllocator

KIB, MIB = 2**10, 2**20


@pytest.mark.parametrize(
    ("size", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (32 * MIB + 1, 32 * MIB + 512, 34 * MIB),
    ],
)
def test_the_first_tensor_gets_a_segment(size: int, allocated: int, reserved: int) -> None:
    allocator = CachingAllocator()
    allocator.allocate(size)
    assert (allocator.allocated, allocator.reserved) == (allocated, reserved)


def test_a_large_block_is_given_whole_where_less_than_a_mebibyte_would_be_left() -> None:
    allocator = CachingAllocator()
    allocator.release(allocator.allocate(32 * MIB))
    allocator.allocate(31 * MIB)
    assert allocator.allocated == 32 * MIB
    allocator = CachingAllocator()
    allocator.release(allocator.allocate(32 * MIB))
    allocator.allocate(30 * MIB)
    assert allocator.allocated == 30 * MIB


def test_free_neighbours_become_one_block_again() -> None:
    allocator = CachingAllocator()
    three = [allocator.allocate(6 * MIB) for _ in range(3)]
    for block in (three[0], three[2], three[1]):
        allocator.release(block)
    allocator.allocate(20 * MIB - 512)
    assert allocator.reserved == 20 * MIB


def test_the_smallest_block_that_fits_is_taken() -> None:
    allocator = CachingAllocator()
    large, wall, small = (
        allocator.allocate(40 * MIB),
        allocator.allocate(12 * MIB),
        allocator.allocate(20 * MIB),
    )
    allocator.release(large)
    allocator.release(small)
    allocator.allocate(19 * MIB)
    assert allocator.allocated == wall.size + 20 * MIB


def test_nothing_is_lost_over_many_allocations() -> None:
    allocator, draw, held, wanted = CachingAllocator(), random.Random(0), [], 0
    for _ in range(3000):
        if held and draw.random() < 0.5:
            block, size = held.pop(draw.randrange(len(held)))
            allocator.release(block)
            wanted -= size
        else:
            size = draw.choice([512, 40 * KIB, 600 * KIB, 3 * MIB, 30 * MIB])
            held.append((allocator.allocate(size), size))
            wanted += size
        assert wanted <= allocator.allocated <= min(wanted + len(held) * MIB, allocator.reserved)
    for block, _ in held:
        allocator.release(block)
    assert allocator.allocated == 0
    assert sum(size for kept in allocator._free.values() for size, _, _ in kept) == allocator.reserved
