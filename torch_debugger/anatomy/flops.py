"""`flops(model, inputs)`: how much arithmetic a model does, from shapes alone."""

from __future__ import annotations

import contextlib
from typing import Any

from torch import nn

from torch_debugger.anatomy.counting.counted_runs import CountedRun, counted_run
from torch_debugger.anatomy.counting.given_inputs import calls_to_try
from torch_debugger.anatomy.counting.op_counter import BACKWARD, FORWARD, RECOMPUTED
from torch_debugger.anatomy.counting.rooflines import named_machine
from torch_debugger.anatomy.counting.tallies import by_module, by_op, counts_of, main_dtype, uncounted
from torch_debugger.anatomy.flop_count import FlopCount
from torch_debugger.anatomy.graph_calls import Call
from torch_debugger.anatomy.layers import inner_model
from torch_debugger.anatomy.summing.lazies import is_lazy, sized_copy
from torch_debugger.errors import UsageError


def flops(
    model: nn.Module,
    *inputs: Any,
    input_size: Any = None,
    backward: bool = False,
    device: str | None = None,
    peak_flops: float | None = None,
    bandwidth: float | None = None,
    **kwargs: Any,
) -> FlopCount:
    """Counts the multiply-accumulates of one forward, and with `backward=True` those of its backward.

        count = flops(model, images)                  # a list of images, a tuple of arguments, keywords
        count = flops(model, (1, 3, 224, 224))        # from a size; or input_size=, as torchinfo takes it
        count.macs, count.flops                       # 1 MAC = 2 FLOPs
        count.by_module["encoder.0"].macs             # with all that lies below it; .own without
        count.by_op["convolution"].calls
        count.uncounted                               # operations that are in no figure, and where they are
        print(flops(model, images, backward=True, device="H200"))

    `macs` and `flops` hold matrix products, convolutions, attention and recurrent layers, as papers count
    them: padding and masked scores included, biases not; a complex multiply-accumulate is four real ones.
    Everything else that computes is in `elementwise`, one FLOP for each element that an operation makes, or
    that a reduction or normalisation reads. `bytes` is what all operations read and write if nothing is fused.

    The backward is what autograd runs: no gradient for an input that does not require one, none for frozen
    layers, and what a checkpoint computes again (also told as `recomputed`). Fused attention computes its
    scores again in backward: five products to the two of its forward.

    No values are computed and no memory is taken: model and inputs may be on `meta`. Where forward needs
    values, the model runs really, and `note` says so; of a lazy model a copy is counted. Its mode, gradients,
    buffers and the random numbers stay as they are. `device` ("H200", "A100", "RTX 4090") or `peak_flops` and
    `bandwidth` add to each module whether arithmetic or memory is its limit.
    """
    inner = inner_model(model)
    named_machine(device, peak_flops, bandwidth, None)  # a wrong name is told before the run
    calls = calls_to_try(inner, inputs, kwargs, input_size)
    sized = sized_copy(inner, calls) if is_lazy(inner) else inner
    ran = _first_that_works(sized, calls, backward)
    counter = ran.counter
    machine = named_machine(device, peak_flops, bandwidth, main_dtype(counter))
    return FlopCount(
        model=type(inner).__name__,
        forward=counts_of(counter, (FORWARD,)),
        backward=counts_of(counter, (BACKWARD, RECOMPUTED)) if backward else None,
        recomputed=counts_of(counter, (RECOMPUTED,)),
        by_module=by_module(counter, ran.scopes, machine),
        by_op=by_op(counter),
        uncounted=uncounted(counter),
        machine=machine,
        note=ran.note,
    )


def _first_that_works(model: nn.Module, calls: list[Call], backward: bool) -> CountedRun:
    """A size may stand for images or for tokens: what forward takes is found by trying."""
    first, *others = calls
    try:
        return counted_run(model, first, backward)
    except UsageError:
        raise
    except Exception:  # the user's own, which is raised again unless another call works
        for call in others:
            with contextlib.suppress(Exception):
                return counted_run(model, call, backward)
        raise
