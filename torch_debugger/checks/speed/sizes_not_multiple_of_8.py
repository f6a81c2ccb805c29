"""TD735: a size of the model that tensor cores cannot take in whole pieces."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.profiled_steps import dearest_line, device_s, each, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ParameterFact, ProductTime, ProfileFact, Record


class SizesNotMultipleOf8(Check):
    """A layer's size is no multiple of 8, so half-precision products with it take a slow way.

    Symptom:
        The products of one layer, most often the last one (a vocabulary of 50257), take far longer than those
        of a layer that is a little larger.
    Evidence:
        From a profile of some steps: the device's time in float16 and bfloat16 matrix products of which one
        size is no multiple of 8 and is also a size of a parameter. Sizes of batches are left out.
    Fix:
        Round the size up to a multiple of 8, better of 64: 50257 to 50304. Rows that no token uses do no harm.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU, under autocast or in half precision. How much
        is lost depends on the device and on the size; less than was measured on an H200 is claimed.
    """

    id = "TD735"
    name = "sizes-not-multiple-of-8"
    title = "a size of the model is no multiple of 8"
    reads = (ProfileFact,)

    least_product_s = 20e-6  # shorter products are over before their sizes matter
    least_size = 64  # of the odd side: next to it, the rest of the product is small
    # Of the time of those products. On an H200, against 50304: 50257 took 5 to 7 times as long, 50258 and 50260
    # took 2.6 to 3 times as long.
    saved_if_odd, saved_if_even = 0.75, 0.6

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ProfileFact)
        parameters = [each for model in state.models.values() for each in model.parameters]
        ours = {size for parameter in parameters if len(parameter.shape) > 1 for size in parameter.shape}
        found: dict[int, list[ProductTime]] = {}
        for product in record.products:
            if self._is_large(product):
                odd = [size for size in _sizes(product.shapes) if self._is_odd(size) and size in ours]
                if odd:
                    found.setdefault(max(odd), []).append(product)
        if not found:
            return
        size, products = max(found.items(), key=lambda item: device_s(item[1]))
        saved = self.saved_if_odd if size % 2 else self.saved_if_even
        gain = saved * device_s(products) / plain_s(record)
        severity = severity_of(gain)
        if severity is not None:
            yield self._judge(record, state, size, products, severity, gain)

    def _is_large(self, product: ProductTime) -> bool:
        half = product.dtype in ("float16", "bfloat16")
        return half and not product.is_convolution and product.device_s >= self.least_product_s * product.calls

    def _is_odd(self, size: int) -> bool:
        return size % 8 != 0 and size >= self.least_size

    def _judge(
        self,
        record: ProfileFact,
        state: RunState,
        size: int,
        products: list[ProductTime],
        severity: str,
        gain: float,
    ) -> Finding:
        owner = _owner(state, size)
        module = state.module(owner.path.rpartition(".")[0]) if owner is not None else None
        better = -(-size // 64) * 64
        whose = f" of `{owner.path}`" if owner is not None else ""
        return self.finding(
            severity=severity,
            confidence=0.8,
            message=(
                f"The size {size}{whose} is no multiple of 8: its products in {products[0].dtype} take "
                f"{milliseconds(each(device_s(products), record))} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step."
            ),
            why=(
                "Tensor cores read rows in pieces of 16 bytes, which are 8 numbers in half precision. Rows "
                "that do not begin at such a piece are read by slower kernels."
            ),
            fix=f"Make it {better} instead of {size}: what is added is not used. "
            f"That saves about {100 * gain:.0f} % of a step.",
            where=module.place if module is not None and module.place else dearest_line(products),
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "size": float(size),
                "products_s": each(device_s(products), record),
                "step_s": each(plain_s(record), record),
            },
        )


def _owner(state: RunState, size: int) -> ParameterFact | None:
    """The largest parameter with this size; a table of embeddings is looked up and not multiplied with."""
    parameters = [each for model in state.models.values() for each in model.parameters]
    own = [parameter for parameter in parameters if len(parameter.shape) > 1 and size in parameter.shape]
    tables = {
        module.path for model in state.models.values() for module in model.modules if "Embedding" in module.kind
    }
    own = [parameter for parameter in own if parameter.path.rpartition(".")[0] not in tables] or own
    return max(own, key=lambda parameter: parameter.shape[0] * parameter.shape[1], default=None)


def _sizes(shapes: str) -> set[int]:
    """'[[50257], [4096, 768], [768, 50257]]' -> the sizes of the matrices"""
    try:
        read = ast.literal_eval(shapes)
    except (SyntaxError, ValueError):
        return set()
    return {size for shape in read if isinstance(shape, list) and len(shape) > 1 for size in shape[-2:]}
