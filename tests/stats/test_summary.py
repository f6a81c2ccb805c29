"""The five numbers of a tensor against the slow, obvious way: float64 and loops."""

from __future__ import annotations

import math

import pytest
import torch

from torch_debugger.stats.summary import COLUMNS, measurable, measure, norm, norms, sampled

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4, 5), (100, 100)]


def slowly(tensor: torch.Tensor) -> dict[str, float]:
    """In float64, by a loop, from the values the tensor really holds."""
    values = [float(value) for value in tensor.to(torch.float64).flatten()]
    mean = math.fsum(values) / len(values)
    return {
        "mean": mean,
        "std": math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)),
        "min": min(values),
        "max": max(values),
        "zeros": sum(value == 0.0 for value in values) / len(values),
    }


def measured(tensor: torch.Tensor) -> dict[str, float]:
    found = measure(tensor)
    assert found.dtype is torch.float32
    return dict(zip(COLUMNS, found.tolist(), strict=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_five_numbers(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(len(shape))
    tensor = (torch.randn(shape, dtype=torch.float64) * 3 + 1).relu().to(dtype)
    assert measured(tensor) == pytest.approx(slowly(tensor), rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_half_precision_is_added_up_in_full(dtype: torch.dtype) -> None:
    """In float16 the sum of these overflows at 65504 and small terms are lost."""
    tensor = torch.full((100_000,), 3.0, dtype=dtype)
    assert measured(tensor) == pytest.approx({"mean": 3.0, "std": 0.0, "min": 3.0, "max": 3.0, "zeros": 0.0}, abs=2e-3)


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[::2, 1::3],
        lambda t: t[:, 3],
        lambda t: t.expand(4, *t.shape),
        lambda t: t[:1].expand(50, -1),
        lambda t: t.unfold(0, 3, 1),
        lambda t: t.flip(0)[2:],
    ],
    ids=["transposed", "strided", "column", "expanded", "one row", "overlapping", "flipped"],
)
def test_views(view: object) -> None:
    torch.manual_seed(0)
    tensor = view(torch.randn(20, 30))  # type: ignore[operator]
    assert measured(tensor) == pytest.approx(slowly(tensor), rel=2e-5, abs=2e-5)
    assert float(norm(tensor)) == pytest.approx(float(tensor.to(torch.float64).norm()), rel=1e-5)


def test_channels_last() -> None:
    tensor = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert measured(tensor) == pytest.approx(slowly(tensor), rel=2e-5, abs=2e-5)


def test_one_element() -> None:
    assert measured(torch.tensor(-2.5)) == {"mean": -2.5, "std": 0.0, "min": -2.5, "max": -2.5, "zeros": 0.0}


def test_zeros_are_counted() -> None:
    tensor = torch.tensor([0.0, -0.0, 1.0, 1e-40])
    assert measured(tensor)["zeros"] == 0.5


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nan_and_inf_show(dtype: torch.dtype) -> None:
    with_nan = measured(torch.tensor([1.0, math.nan, 2.0], dtype=dtype))
    assert all(math.isnan(with_nan[name]) for name in ("mean", "std", "min", "max"))
    with_inf = measured(torch.tensor([1.0, math.inf, -2.0], dtype=dtype))
    assert (with_inf["mean"], with_inf["max"], with_inf["min"]) == (math.inf, math.inf, -2.0)
    assert not math.isfinite(with_inf["std"])


def test_a_mean_far_from_zero_costs_the_deviation_its_digits() -> None:
    """Known: std comes from float32 sums. It is off by about a hundredth of the mean at most, never negative.

    The norm's kernel adds the squares up in the lanes of a register, at least four (ARM): 2500 additions one
    after the other, each off by half a unit in the last place. So the mean square is off by 2500 * 2**-24 of
    itself, and the deviation by the root of that: |sqrt(a) - sqrt(b)| <= sqrt(|a - b|). The sum, which has
    cascades, the root, its square and the division add a few roundings more.
    """
    torch.manual_seed(0)
    lanes, others = 4, 10
    share = math.sqrt((10_000 / lanes + others) * 2**-24)  # 0.0122
    for mean in (10.0, 1e3, 1e6):
        tensor = torch.randn(10_000) + mean
        found, true = measured(tensor), slowly(tensor)
        assert found["mean"] == pytest.approx(true["mean"], rel=1e-5)
        assert abs(found["std"] - true["std"]) < share * mean
        assert found["std"] >= 0.0


def test_the_tensor_and_its_graph_stay_as_they_were() -> None:
    tensor = torch.randn(5, 5, requires_grad=True)
    made = tensor * 2
    version = made._version
    assert not measure(made).requires_grad
    assert made._version == version
    made.sum().backward()


@pytest.mark.parametrize(
    "value",
    [
        torch.empty(0), torch.tensor([1, 2]), torch.tensor([True]), torch.randn(3, 3).to_sparse(),
        torch.tensor([1j]), torch.empty(3, device="meta"), torch.zeros(3).to(torch.float8_e4m3fn),
        3.0, None, "text",
    ],
    ids=["empty", "int", "bool", "sparse", "complex", "meta", "float8", "number", "none", "text"],
)  # fmt: skip
def test_what_has_no_such_numbers(value: object) -> None:
    assert not measurable(value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_measurable_is_measured(dtype: torch.dtype) -> None:
    tensor = torch.ones(3, dtype=dtype)
    assert measurable(tensor)
    assert measured(tensor)["max"] == 1.0


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64, torch.complex128], ids=str)
def test_norms(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    tensors = [torch.randn(shape).to(dtype) for shape in [(3,), (4, 5), (1,), ()]]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    expected = [float(tensor.to(wide).norm()) for tensor in tensors]
    assert norms(tensors).tolist() == pytest.approx(expected, rel=1e-5)
    assert norms(tensors).dtype is torch.float32


def test_norms_of_mixed_kinds() -> None:
    tensors = [torch.ones(4), torch.ones(9, dtype=torch.float64), torch.ones(16, dtype=torch.float16)]
    assert norms(tensors).tolist() == [2.0, 3.0, 4.0]


def test_norms_of_nothing() -> None:
    assert norms([]).tolist() == []
    assert norms([torch.empty(0)]).tolist() == [0.0]


def test_the_norm_of_many_halves_does_not_overflow() -> None:
    assert float(norm(torch.full((10_000,), 100.0, dtype=torch.float16))) == pytest.approx(10_000.0)


@pytest.mark.parametrize(
    "tensor",
    [torch.arange(100_000.0), torch.arange(100_000.0).view(100, 1000).t(), torch.arange(200_000.0)[::2],
     torch.arange(10.0), torch.arange(24_000.0).view(2, 3, 40, 100).to(memory_format=torch.channels_last)],
    ids=["flat", "transposed", "strided", "small", "channels last"],
)  # fmt: skip
def test_samples_are_spread_over_the_whole_tensor(tensor: torch.Tensor) -> None:
    found = sampled(tensor, limit=1000)
    assert found.numel() == min(1000, tensor.numel())
    assert len(set(found.tolist())) == found.numel()
    assert set(found.tolist()) <= set(tensor.flatten().tolist())
    assert float(found.max()) >= 0.8 * float(tensor.max())
    assert float(found.min()) <= 0.2 * float(tensor.max())


@pytest.mark.parametrize("shape", [(4096, 784), (784, 4096), (4096, 4096), (64, 3, 224, 224)], ids=str)
def test_samples_fall_into_no_single_column(shape: tuple[int, ...]) -> None:
    """An input that is always zero gives its column no gradient; the others must be seen."""
    column = torch.arange(shape[-1]).expand(shape).contiguous()
    assert len(set(sampled(column).tolist())) > 0.5 * min(shape[-1], 4096)


def test_two_samples_are_of_the_same_elements() -> None:
    tensor = torch.randn(50, 2000).t()
    before = sampled(tensor).clone()
    tensor += 1
    assert torch.allclose(sampled(tensor) - before, torch.ones_like(before), atol=1e-5)
