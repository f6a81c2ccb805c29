"""Whatever a script hands over, as a tensor where it lies or as an array on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from torch_debugger.log.histogram_buckets import (
    Bins,
    Counts,
    Edges,
    MeasuredValues,
    Moments,
    edges_for,
    histogram_of,
    measure_values,
)
from torch_debugger.records import Chart, HistogramSummary, UncountedSummary
from torch_debugger.records.run import HparamValue
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.redaction import redact_value

_IN_NUMPY = {
    torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex64, torch.complex128,
}  # fmt: skip


def kind_of(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def as_tensor(values: Any) -> torch.Tensor:
    """Detached, dense, on its own device."""
    if values is None:
        raise DebuggerError("expected a tensor or an array, got None")
    if not isinstance(values, torch.Tensor):
        array = _host_array(values)
        return torch.from_numpy(array if array.flags.writeable else array.copy())
    if values.is_meta:
        raise DebuggerError("expected a tensor with values, got one on the meta device, which has none")
    plain = values.detach()
    if plain.is_quantized:
        plain = plain.dequantize()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    return plain.resolve_conj().resolve_neg()


def as_array(values: Any) -> NDArray[np.generic]:
    """On the host; dtypes that numpy does not know (bfloat16, float8, ...) become float32."""
    if not isinstance(values, torch.Tensor) and values is not None:
        return _host_array(values)
    tensor = as_tensor(values)
    known = tensor if tensor.dtype in _IN_NUMPY else tensor.float()
    array: NDArray[np.generic] = known.cpu().numpy()
    return array


def as_real_tensor(values: Any) -> torch.Tensor:
    tensor = as_tensor(values)
    if tensor.is_complex():
        raise DebuggerError(
            f"expected real numbers, got {tensor.dtype}; hand over .abs(), or .real and .imag one by one"
        )
    return tensor


def as_number(value: Any) -> float:
    """Of a plain number, or of an array or tensor with one element."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if value is None:
        raise DebuggerError("expected a number, got None")
    size = value.numel() if isinstance(value, torch.Tensor) else getattr(value, "size", 1)
    if size != 1 and hasattr(value, "shape"):
        raise DebuggerError(f"expected one number, got {size} in a shape of {list(value.shape)}")
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, complex):
        raise DebuggerError(f"expected a real number, got {number}")
    if isinstance(number, (list, tuple, dict, set)):
        raise DebuggerError(f"expected one number, got {kind_of(number)} of {len(number)}")
    return float(number)


def _host_array(values: Any) -> NDArray[np.generic]:
    if isinstance(values, (list, tuple)) and values and isinstance(values[0], torch.Tensor):
        return np.stack([as_array(one) for one in values])
    array: NDArray[np.generic] = np.asarray(values)
    if array.dtype.kind not in "fiubc":
        raise DebuggerError(f"expected numbers, got {type(values).__name__} of dtype {array.dtype}")
    native = array.dtype.newbyteorder("=")
    return np.asarray(array, native, order="C")  # ascontiguousarray would add a dimension to single numbers


# Values to a histogram: counted on the device that holds them, or by the log's thread.
_EXACT = (torch.float32, torch.float64)
_LONG = (torch.int32, torch.int64, torch.uint32, torch.uint64)


def histogram_record(
    moment: tuple[int, float],
    tag: str,
    values: Any,
    bins: Bins,
    max_bins: int | None,
    has_room: Callable[[int], bool],
) -> HistogramSummary | UncountedSummary:
    """Where the log has room for them, a copy of values on the host is left for its thread to count."""
    tensor = as_real_tensor(values)
    flat = tensor.reshape(-1)
    if flat.dtype not in _EXACT:  # exactly the same numbers, as float32 where it can hold them
        wide = flat.dtype in _LONG and flat.device.type != "mps"  # which has no float64
        flat = flat.to(torch.float64 if wide else torch.float32)
    if flat.device.type != "cpu":
        return histogram_of(_measure_on_device(flat, bins), *moment, tag, max_bins)
    array = flat.numpy()
    if isinstance(bins, str) and bins == "tensorflow" and has_room(array.nbytes):
        mine = array.copy() if tensor.dtype in _EXACT else array
        return UncountedSummary(*moment, tag, mine, max_bins)
    return histogram_of(measure_values(array, bins), *moment, tag, max_bins)


def _measure_on_device(values: torch.Tensor, bins: Bins) -> MeasuredValues:
    moments, nan, inf = _moments(values), 0, 0
    if not math.isfinite(moments.minimum) or not math.isfinite(moments.maximum):
        finite = values[values.isfinite()]
        nan = int(values.isnan().sum())
        inf = values.numel() - finite.numel() - nan
        values, moments = finite, _moments(finite)
    known = np.array(moments[:2]) if isinstance(bins, int) else np.zeros(values.numel() and 1)
    named = isinstance(bins, str) and bins != "tensorflow"
    edges = edges_for(as_array(values) if named else known, bins)  # type: ignore[arg-type]
    return MeasuredValues(moments, edges, _counts(values, edges), nan, inf)


def _moments(values: torch.Tensor) -> Moments:
    """One small copy comes to the host."""
    count = values.numel()
    if not count:
        return Moments()
    low, high, total, squares = torch.stack([*torch.aminmax(values), values.sum(), values.dot(values)]).tolist()
    if math.isfinite(high - low) and not math.isfinite(squares):  # float32 is too narrow for the squares
        largest = max(abs(low), abs(high))
        scaled = values / largest
        total, squares = float(scaled.sum()) * largest, float(scaled.dot(scaled)) * largest**2
    return Moments(low, high, count, total, squares)


def _counts(values: torch.Tensor, edges: Edges) -> Counts:
    limits = torch.from_numpy(edges).to(values.device, values.dtype)
    bins = len(edges) - 1
    places = torch.bucketize(values, limits, right=True)
    places[values == limits[-1]] = bins  # the last bin holds its upper limit
    counts: Counts = torch.bincount(places, minlength=bins + 2)[1 : bins + 1].cpu().numpy()
    return counts


# Labels and predictions to a precision-recall curve.
MOST_THRESHOLDS = 127  # as TensorBoard's own writers have it
_LEAST = 1e-7  # keeps a division by zero away


def pr_curve(labels: Any, predictions: Any, thresholds: int, weights: Any) -> NDArray[np.float32]:
    """[6, thresholds]: true and false positives, true and false negatives, precision and recall."""
    truth = as_array(labels).astype(np.float64).reshape(-1)
    scores = as_array(predictions).astype(np.float64).reshape(-1)
    if truth.shape != scores.shape:
        raise DebuggerError(f"expected a prediction for each label, got {len(scores)} for {len(truth)} labels")
    weight = np.broadcast_to(1.0 if weights is None else as_array(weights).astype(np.float64).reshape(-1), truth.shape)
    known = (scores >= 0) & (scores <= 1)  # NaN is not
    places = np.floor(scores[known] * (thresholds - 1)).astype(np.int64)
    positives = np.bincount(places, (truth * weight)[known], thresholds)
    negatives = np.bincount(places, ((1 - truth) * weight)[known], thresholds)
    above, wrongly_above = positives[::-1].cumsum()[::-1], negatives[::-1].cumsum()[::-1]
    missed = above[0] - above
    precision = above / np.maximum(_LEAST, above + wrongly_above)
    recall = above / np.maximum(_LEAST, above + missed)
    rows = (above, wrongly_above, wrongly_above[0] - wrongly_above, missed, precision, recall)
    return np.stack(rows).astype(np.float32)


def raw_pr_curve(rows: dict[str, Any]) -> NDArray[np.float32]:
    arrays = {name: as_array(row).astype(np.float32).reshape(-1) for name, row in rows.items()}
    sizes = {name: len(row) for name, row in arrays.items()}
    if len(set(sizes.values())) != 1:
        raise DebuggerError(f"expected as many numbers in each, one for each threshold; got {sizes}")
    return np.stack(list(arrays.values()))


# Points, colors and faces in the shape that TensorBoard's mesh tab wants.
def mesh_part(name: str, values: Any) -> NDArray[np.float32] | None:
    """[batch, points, 3]; one mesh may come without the batch."""
    if values is None:
        return None
    array = as_array(values)
    if array.ndim not in (2, 3) or array.shape[-1] != 3:
        raise DebuggerError(f"expected {name} of shape [batch, points, 3], got {list(array.shape)}")
    return np.array(array if array.ndim == 3 else array[None], np.float32)


# Hyperparameters as TensorBoard compares them: numbers, words, yes or no.
def hparam_values(hparams: Any) -> dict[str, HparamValue]:
    """None is left out; what is no number, word, yes or no is kept as its text; a secret is not written."""
    named = _mapping(hparams, "hyperparameters")
    return {str(name): _hparam_value(str(name), value) for name, value in named.items() if value is not None}


def metric_values(metrics: Any) -> dict[str, Any]:
    return {str(tag): value for tag, value in _mapping(metrics, "metrics").items()}


def choice_values(choices: Any) -> dict[str, tuple[HparamValue, ...]]:
    named = _mapping(choices or {}, "choices in hparam_domain_discrete")
    return {str(name): tuple(_hparam_value(str(name), value) for value in values) for name, values in named.items()}


def _hparam_value(name: str, value: Any) -> HparamValue:
    redacted: HparamValue = redact_value(name, plain_value(value))
    return redacted


def plain_value(value: Any) -> HparamValue:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float, np.number)):
        return float(value)
    if isinstance(value, (torch.Tensor, np.ndarray)) and np.prod(value.shape) == 1:
        return as_number(value)
    return str(value)


def _mapping(argument: Any, what: str) -> Mapping[Any, Any]:
    if not isinstance(argument, Mapping):
        named = getattr(argument, "__dict__", None)  # argparse.Namespace and its like
        if not isinstance(named, dict) or not named:
            raise DebuggerError(f"expected {what} by name in a dictionary, got {type(argument).__name__}")
        return named
    return argument


# The layout of custom scalars, {category: {title: ["Multiline" or "Margin", tags]}}, as charts.
Layout = dict[str, dict[str, Any]]


def charts_of(layout: Layout) -> list[Chart]:
    if not isinstance(layout, Mapping) or not all(isinstance(charts, Mapping) for charts in layout.values()):
        form = '{category: {title: ["Multiline" or "Margin", tags]}}'
        raise DebuggerError(f"expected {form}, got {layout!r}")
    found = []
    for category, charts in layout.items():
        for title, (kind, tags) in charts.items():
            margin = kind == "Margin"
            if margin and len(tags) != 3:
                raise DebuggerError(
                    f"expected three tags for the margin chart {title!r} (value, lower, upper), got {len(tags)}"
                )
            found.append(Chart(str(category), str(title), tuple(map(str, tags)), margin))
    return found
