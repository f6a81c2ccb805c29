"""Counts beside the slow way: the loops of a product and of a convolution, turned one by one."""

from __future__ import annotations

import itertools

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.anatomy.test_flops import Calls
from torch_debugger import flops

LENGTHS = st.integers(1, 5)
QUICK = settings(max_examples=25, deadline=None)


def positions(length: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Where the filter lies inside of the padded line."""
    padded = length + 2 * padding
    return sum(1 for start in range(0, padded, stride) if start + dilation * (kernel - 1) < padded)


@QUICK
@given(
    batch=LENGTHS, groups=st.integers(1, 3), given=st.integers(1, 2), made=st.integers(1, 2),
    size=st.integers(3, 7), kernel=st.integers(1, 3), stride=st.integers(1, 3), padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
)  # fmt: skip
def test_a_convolution_is_as_many_turns_of_its_loops(
    batch: int,
    groups: int,
    given: int,
    made: int,
    size: int,
    kernel: int,
    stride: int,
    padding: int,
    dilation: int,
) -> None:
    if dilation * (kernel - 1) >= size + 2 * padding:
        return
    layer = nn.Conv2d(groups * given, groups * made, kernel, stride, padding, dilation, groups)
    count = flops(layer, torch.randn(batch, groups * given, size, size, requires_grad=True), backward=True)
    places = positions(size, kernel, stride, padding, dilation)
    turns = sum(
        1
        for _ in itertools.product(
            range(batch), range(groups), range(made), range(places), range(places), range(given), range(kernel),
            range(kernel),
        )
    )  # fmt: skip
    assert count.forward.macs == turns
    assert count.backward.macs == 2 * turns


@QUICK
@given(batch=LENGTHS, given=LENGTHS, made=LENGTHS, size=LENGTHS, kernel=st.integers(1, 3), stride=st.integers(1, 3))
def test_a_transposed_convolution_adds_a_filter_for_each_input(
    batch: int, given: int, made: int, size: int, kernel: int, stride: int
) -> None:
    count = flops(nn.ConvTranspose1d(given, made, kernel, stride), torch.randn(batch, given, size))
    turns = sum(1 for _ in itertools.product(range(batch), range(given), range(size), range(made), range(kernel)))
    assert count.macs == turns


@QUICK
@given(rows=st.lists(LENGTHS, max_size=3), given=LENGTHS, made=LENGTHS, bias=st.booleans())
def test_a_linear_layer_on_any_number_of_dimensions(rows: list[int], given: int, made: int, bias: bool) -> None:
    count = flops(nn.Linear(given, made, bias), torch.randn(*rows, given))
    turns = sum(1 for _ in itertools.product(*map(range, rows), range(given), range(made)))
    assert count.macs == turns


@QUICK
@given(
    left=st.lists(st.integers(1, 3), max_size=2), right=st.lists(st.integers(1, 3), max_size=2),
    m=LENGTHS, k=LENGTHS, n=LENGTHS,
)  # fmt: skip
def test_a_product_with_batches_that_are_spread_out(left: list[int], right: list[int], m: int, k: int, n: int) -> None:
    try:
        batches = torch.broadcast_shapes(left, right)
    except RuntimeError:
        return
    count = flops(Calls(lambda self, a, b: a @ b), torch.randn(*left, m, k), torch.randn(*right, k, n))
    turns = sum(1 for _ in itertools.product(*map(range, batches), range(m), range(k), range(n)))
    assert count.macs == turns
