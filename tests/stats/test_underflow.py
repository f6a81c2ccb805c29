from __future__ import annotations

import numpy
import torch

from torch_debugger.stats.summary import can_underflow, measure_underflow


def shares(values: torch.Tensor) -> tuple[float, float]:
    """The slow, obvious way, in float64."""
    sizes = numpy.abs(values.double().numpy())
    below = ((sizes > 0) & (sizes < 2.0**-14)).mean()
    faint = ((sizes > 0) & (sizes <= 2.0**-23)).mean()
    return float(below), float(faint)


def test_the_shares_are_those_of_a_plain_count() -> None:
    torch.manual_seed(0)
    exponents = torch.linspace(-30, 4, 5000)
    values = (torch.randn(5000).sign() * 2.0**exponents).half()
    assert torch.allclose(measure_underflow(values), torch.tensor(shares(values)), atol=1e-6)


def test_the_edges_of_float16_belong_where_they_belong() -> None:
    smallest, normal = 2.0**-24, 2.0**-14
    values = torch.tensor([0.0, smallest, 2 * smallest, 3 * smallest, normal, -smallest, 1.0, 0.0]).half()
    subnormal, faint = measure_underflow(values).tolist()
    assert (subnormal, faint) == (4 / 8, 3 / 8)


def test_a_large_tensor_is_sampled() -> None:
    torch.manual_seed(0)
    values = (torch.randn(400, 1000) * 1e-6).half()
    assert torch.allclose(measure_underflow(values), torch.tensor(shares(values)), atol=0.01)


def test_only_float16_is_asked() -> None:
    assert can_underflow(torch.zeros(1, dtype=torch.float16))
    assert not any(can_underflow(torch.zeros(1, dtype=kind)) for kind in (torch.float32, torch.bfloat16))
