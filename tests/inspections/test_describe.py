"""One line of a tensor: its numbers against float64 loops, and every kind of tensor there is."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import torch_debugger
from torch_debugger.pictures.layer_values import describe
from torch_debugger.stats import values as census
from torch_debugger.stats.values import TensorStats, share_text, sketch_text
from torch_debugger.system.errors import UsageError

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]
WHOLE = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]


def slowly(values: list[float]) -> dict[str, Any]:
    finite = [value for value in values if math.isfinite(value)]
    mean = math.fsum(finite) / len(finite) if finite else None
    return {
        "nans": sum(math.isnan(value) for value in values),
        "infs": sum(math.isinf(value) for value in values),
        "zeros": sum(value == 0 for value in values),
        "min": min(finite, default=None),
        "max": max(finite, default=None),
        "mean": mean,
        "std": math.sqrt(math.fsum((v - mean) ** 2 for v in finite) / len(finite)) if finite else None,
    }


def check(stats: Any, values: list[float]) -> None:
    assert isinstance(stats, TensorStats)
    expected = slowly(values)
    found = {name: getattr(stats, name) for name in expected}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)
    finite = [value for value in values if math.isfinite(value)]
    assert stats.norm == pytest.approx(math.sqrt(math.fsum(v * v for v in finite)), rel=1e-9)
    if stats.histogram:
        assert sum(stats.histogram) == len(finite)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 1)], ids=str)
def test_numbers_of_every_dtype(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    tensor = (torch.rand(shape) * 9).floor().to(torch.float32).to(dtype)
    stats = describe(tensor)
    check(stats, tensor.to(torch.float64).flatten().tolist())
    assert (stats.shape, stats.dtype) == (shape, str(dtype).removeprefix("torch."))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_any_floats(values: list[float]) -> None:
    tensor = torch.tensor(values, dtype=torch.float32)
    stats = describe(tensor)
    expected = slowly(tensor.double().tolist())
    assert (stats.nans, stats.infs, stats.zeros) == (expected["nans"], expected["infs"], expected["zeros"])
    assert (stats.min, stats.max) == (expected["min"], expected["max"])
    assert "\n" not in str(stats)


@pytest.mark.parametrize(
    "view",
    [lambda t: t.t(), lambda t: t[::2, 1::3], lambda t: t[:1].expand(50, -1), lambda t: t.unfold(0, 3, 1)],
    ids=["transposed", "strided", "expanded", "overlapping"],
)
def test_views(view: Any) -> None:
    tensor = view(torch.randn(20, 30))
    check(describe(tensor), tensor.double().flatten().tolist())


def test_in_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.randn(1000).index_fill(0, torch.tensor([3, 999]), math.nan) * 5 + 100
    whole = describe(tensor)
    monkeypatch.setattr(census, "_AT_ONCE", 7)
    pieces = describe(tensor)
    check(pieces, tensor.double().tolist())
    assert pieces.histogram == whole.histogram


def test_a_mean_far_from_zero_keeps_its_deviation() -> None:
    tensor = torch.randn(1000, dtype=torch.float64) + 1e8
    assert describe(tensor).std == pytest.approx(float(tensor.std(correction=0)), rel=1e-6)


def test_the_histogram_is_numpys() -> None:
    tensor = torch.randn(5000)
    stats = describe(tensor)
    expected, _ = numpy.histogram(tensor.numpy().astype("f8"), bins=10)
    assert stats.histogram == tuple(expected)


def test_an_outlier_is_seen_in_a_large_tensor() -> None:
    tensor = torch.zeros(1_000_000)
    tensor[5] = 1.0
    assert describe(tensor).histogram[-1] >= 1
    assert str(describe(tensor)).endswith("zeros 99.9 %  |█        ▁|")


# Kinds


def text(value: Any) -> str:
    return str(describe(value))


def test_words() -> None:
    assert text(torch.tensor([[-1.0, 0.0], [1.0, 2.0]])) == (
        "float32 [2, 2] cpu  min -1  max 2  mean 0.5  std 1.118  zeros 25 %  |█  █  █  █|"
    )
    assert text(torch.tensor(2.5, requires_grad=True)) == "float32 [] cpu (requires grad)  value 2.5"
    assert text(torch.tensor([1.0, math.nan, math.inf, -math.inf])) == (
        "float32 [4] cpu  min 1  max 1  mean 1  std 0  zeros 0  NaN 1  Inf 2"
    )
    assert text(torch.tensor([math.nan] * 3)) == "float32 [3] cpu  nothing finite  NaN 3"
    assert text(torch.tensor(math.nan)) == "float32 [] cpu  nothing finite  NaN 1"
    assert text(torch.tensor([3, 1, 2])) == ("int64 [3] cpu  min 1  max 3  mean 2  std 0.8165  zeros 0  |█    █   █|")
    assert text(torch.tensor([True, False, False])) == "bool [3] cpu  true 33.3 %"
    assert text(torch.ones(3, dtype=torch.bool)) == "bool [3] cpu  true all"
    assert text(torch.empty(0, 3)) == "float32 [0, 3] cpu (empty)"
    assert text(torch.ones(4)) == "float32 [4] cpu  min 1  max 1  mean 1  std 0  zeros 0"
    assert text(torch.empty(3, device="meta")) == "float32 [3] meta (no values)"
    assert text(nn.LazyLinear(3).weight) == "float32 [?] cpu (requires grad, not initialized)"


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_complex_numbers_by_their_size(dtype: torch.dtype) -> None:
    stats = describe(torch.tensor([3 + 4j, 0, 1j], dtype=dtype))
    check(stats, [5.0, 0.0, 1.0])
    assert "(absolute values)" in str(stats)


def test_sparse() -> None:
    dense = torch.tensor([[0.0, 2.0], [0.0, -1.0]])
    for tensor in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        check(describe(tensor), [2.0, -1.0])
        assert "(sparse, 2 of 4 stored)" in text(tensor)
    twice = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
    check(describe(twice), [3.0])
    assert not twice.is_coalesced()


def test_nested() -> None:
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    values = torch.cat([part.flatten() for part in parts]).double().tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that nested tensors are a prototype
        strided = torch.nested.nested_tensor(parts)
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    check(describe(strided), values)
    check(describe(jagged), values)
    assert text(strided).startswith("float32 [2, *, *] cpu (2 nested)")
    assert text(jagged).startswith("float32 [2, j")


def test_quantized() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated by torch, and still there
        tensor = torch.quantize_per_tensor(torch.tensor([0.0, 0.5, 1.0]), 0.5, 0, torch.quint8)
    check(describe(tensor), [0.0, 0.5, 1.0])
    assert text(tensor).startswith("quint8 [3] cpu (quantized)")


def test_what_holds_no_numbers() -> None:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        fake = torch.randn(3, 4)
    assert text(fake) == "float32 [3, 4] cpu (fake, no values)"
    seen: list[str] = []
    torch.vmap(lambda x: (seen.append(text(x)), x)[1])(torch.randn(3, 2))
    assert seen == ["float32 [2] cpu (inside a transform, no values yet)"]
    assert text(torch.empty(3, dtype=torch.uint4)).endswith("(values cannot be read: NotImplementedError)")


class Refusing(torch.Tensor):
    """A subclass that allows no operation, only looks at what it is."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") not in ("__get__", "dim", "size"):
            raise RuntimeError(f"{func} is not for you")
        return super().__torch_function__(func, types, args, kwargs or {})


def test_subclasses_and_parameters() -> None:
    check(describe(torch.tensor([1.0, 2.0]).as_subclass(Refusing)), [1.0, 2.0])
    check(describe(nn.Parameter(torch.tensor([1.0, 3.0]))), [1.0, 3.0])


def test_numpy() -> None:
    array = numpy.arange(6).reshape(2, 3)[:, ::-1]
    check(describe(array), [float(value) for value in array.flatten()])
    assert text(array).startswith("int64 [2, 3] numpy  min 0  max 5")
    frozen = numpy.ones(3, dtype=">f4")
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(describe(frozen), [1.0] * 3)
    assert text(numpy.array(["a", "b"])) == "<U1 [2] numpy (no numbers)"
    assert text(numpy.float64(2.0)) == "float64 [] numpy  value 2"
    check(describe(numpy.ones(2, dtype=numpy.longdouble)), [1.0, 1.0])


def test_a_batch_has_a_line_for_each_tensor() -> None:
    batch = {"image": torch.zeros(2), "boxes": [torch.ones(1, 4), torch.ones(3, 4)], "name": "cat"}
    assert str(describe(batch)).splitlines() == [
        "image         float32 [2] cpu  min 0  max 0  mean 0  std 0  zeros all",
        "['boxes'][0]  float32 [1, 4] cpu  min 1  max 1  mean 1  std 0  zeros 0",
        "['boxes'][1]  float32 [3, 4] cpu  min 1  max 1  mean 1  std 0  zeros 0",
    ]
    assert list(describe((torch.zeros(1), (torch.zeros(2),)))) == ["[0]", "[1][0]"]
    assert str(describe([torch.tensor(1.0)])) == "[0]  float32 [] cpu  value 1"


@pytest.mark.parametrize(
    ("value", "word"),
    [(3.0, "float"), ("x", "str"), ([], "a list that holds none"), ({"a": 1}, "a dict that holds none")],
)
def test_what_is_no_tensor_is_refused(value: Any, word: str) -> None:
    with pytest.raises(UsageError, match=rf"^describe\(\) takes a tensor, an array, .*, not {word}\.$"):
        describe(value)


def test_the_graph_and_the_random_numbers_stay() -> None:
    state = torch.get_rng_state()
    tensor = torch.randn(5, requires_grad=True)
    after = torch.get_rng_state()
    made = tensor * 2
    version = made._version
    describe(made)
    assert made._version == version and tensor.grad is None
    assert torch.equal(torch.get_rng_state(), after) and not torch.equal(state, after)


# Text


class Terminal:
    def __init__(self, encoding: str | None) -> None:
        self.encoding = encoding


@pytest.mark.parametrize(
    ("encoding", "drawn"),
    [
        ("utf-8", "|█ ▁▄█|"),
        ("ascii", "|@ .=@|"),
        ("latin-1", "|@ .=@|"),
        (None, "|@ .=@|"),
        ("nonsense", "|@ .=@|"),
    ],
)
def test_terminals_without_blocks_get_letters(
    monkeypatch: pytest.MonkeyPatch, encoding: str | None, drawn: str
) -> None:
    monkeypatch.setattr("sys.stdout", Terminal(encoding))
    assert f"|{sketch_text([80, 0, 1, 40, 80])}|" == drawn


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 5, "0"), (5, 5, "all"), (1, 3, "33.3 %"), (1, 1_000_000, "0.0001 %"), (999_999, 1_000_000, "99.9 %")],
)
def test_shares(part: int, whole: int, shown: str) -> None:
    assert share_text(part, whole) == shown


def test_the_front_door() -> None:
    assert torch_debugger.describe is describe
    assert {"activations", "check_gradients", "describe", "gradients", "graph", "tap"} <= set(dir(torch_debugger))
