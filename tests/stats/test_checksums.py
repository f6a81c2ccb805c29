"""One small number for a tensor: equal bits have equal ones."""

from __future__ import annotations

import pytest
import torch

from torch_debugger.stats.summary import BITS, checksums


def one(tensor: torch.Tensor) -> int:
    return int(checksums([tensor])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_the_last_bit_counts(dtype: torch.dtype) -> None:
    values = torch.arange(1, 101).to(dtype)
    other = values.clone()
    other[57] = torch.nextafter(other[57], other[57] * 2) if dtype is torch.float32 else other[57] + 1
    assert one(values) == one(values.clone())
    assert one(values) != one(other)


def test_an_exchange_of_two_numbers_counts() -> None:
    assert one(torch.tensor([1.0, 2.0, 3.0])) != one(torch.tensor([2.0, 1.0, 3.0]))


def test_they_go_through_a_float32_unharmed() -> None:
    found = checksums([torch.randn(1000) for _ in range(50)])
    assert int(found.max()) < 2**BITS
    assert torch.equal(found.float().long(), found)


def test_many_tensors_of_different_sizes_at_once() -> None:
    tensors = [torch.randn(3), torch.randn(40, 50), torch.randn(1)]
    assert checksums(tensors).tolist() == [one(tensor) for tensor in tensors]
    assert not tensors[1].requires_grad


def test_strided_tensors_are_read_alike() -> None:
    image = torch.randn(4, 3, 20, 20).contiguous(memory_format=torch.channels_last)
    assert one(image) == one(image.clone(memory_format=torch.preserve_format))
