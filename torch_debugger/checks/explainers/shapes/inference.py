"""The shape an operation gives, from the shapes of what it is given."""

from __future__ import annotations

from itertools import zip_longest

Shape = tuple[int, ...]
_SAME = (
    "detach", "cpu", "cuda", "contiguous", "clone", "relu", "relu_", "sigmoid", "tanh", "exp", "log", "abs",
    "sqrt", "softmax", "log_softmax", "dropout", "gelu", "silu", "leaky_relu", "normalize", "zeros_like",
    "ones_like", "rand_like", "randn_like", "clamp",
)  # fmt: skip


def same_shape(function: str) -> bool:
    """Whether a function gives its first operand's shape back, whatever else it is given."""
    return function in _SAME


def broadcast(left: Shape, right: Shape) -> Shape | None:
    """The common shape of two operands; None where they have none."""
    if clash(left, right) is not None:
        return None
    return tuple(
        max(pair) if 0 not in pair else 0 for pair in zip_longest(left[::-1], right[::-1], fillvalue=1)
    )[::-1]


def clash(left: Shape, right: Shape) -> tuple[int, int] | None:
    """The first two sizes, counted from the right, that do not broadcast."""
    for first, second in zip_longest(reversed(left), reversed(right), fillvalue=1):
        if first != second and 1 not in (first, second):
            return first, second
    return None


def method_shape(shape: Shape, method: str, numbers: list[int]) -> Shape | None:
    """What x.transpose(1, 2), x.unsqueeze(0), ... make of a shape; None where that is not known."""
    rank = len(shape)
    if method == "t" and not numbers:
        return shape[::-1] if rank == 2 else None
    if method == "transpose" and len(numbers) == 2 and all(-rank <= place < rank for place in numbers):
        return _transposed(shape, *numbers)
    if method == "unsqueeze" and len(numbers) == 1 and -rank - 1 <= numbers[0] <= rank:
        place = numbers[0] % (rank + 1)
        return (*shape[:place], 1, *shape[place:])
    if method == "squeeze" and len(numbers) == 1 and -rank <= numbers[0] < rank:
        return tuple(size for place, size in enumerate(shape) if place != numbers[0] % rank or size != 1)
    if method == "permute" and sorted(numbers) == list(range(rank)):
        return tuple(shape[place] for place in numbers)
    return None


def _transposed(shape: Shape, first: int, second: int) -> Shape:
    sizes = list(shape)
    sizes[first], sizes[second] = sizes[second], sizes[first]
    return tuple(sizes)
