"""Tensor cores: autocast, TF32, sizes, and the memory format of convolutions."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.checks.step_time import (
    LEAST_GAIN,
    dearest_line,
    device_s,
    each,
    per_step,
    plain_s,
    profiled_steps,
    severity_of,
)
from torch_debugger.records import Finding, ParameterFact, ProductTime, ProfileFact, SpeedSettings


class NoAutocast(Check):
    """The device spends most of a step on float32 products that bfloat16 would do in half of the time.

    Symptom:
        The device is always busy and the training is slower, and larger in memory, than those of others with
        the same model.
    Evidence:
        From a profile of some steps: matrix products and convolutions in float32 take a third of a step or
        more, on a device of the year 2020 or later (capability 8.0), and none to speak of is in half
        precision. TF32 is on already: `tf32-off` comes first.
    Fix:
        Put forward and loss under `torch.autocast("cuda", dtype=torch.bfloat16)`. Weights stay in float32,
        and bfloat16 needs no GradScaler.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. It is no more than a note: whether a model
        trains as well with fewer bits has to be tried.
    """

    id = "TD734"
    name = "no-autocast"
    title = "all products are computed in float32"
    reads = (ProfileFact,)

    capability = (8, 0)
    # Of a step: then the products decide how long it takes.
    least_share = 0.33
    # Of all products; a model that is under autocast has some in float32 too.
    least_of_products = 0.9
    least_product_s = 30e-6  # shorter ones gained nothing on an H200
    saved = 0.45  # on an H200 products from 2048 x 2048 on became 1.9 times as fast

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        speed = state.speed
        if speed is None or speed.capability < self.capability:
            return
        found = _float32_products(record, speed, True, self.least_product_s)
        full_s, all_s = device_s(found), device_s(record.products)
        gain = self.saved * full_s / plain_s(record)
        most = full_s >= max(self.least_share * plain_s(record), self.least_of_products * all_s)
        if found and most and gain >= LEAST_GAIN:
            yield self.finding(
                severity="note",
                confidence=0.7,
                message=f"{per_step(device_s(found), record)} of the {per_step(plain_s(record), record)} of a step "
                "are matrix products and convolutions in float32, and nothing runs under autocast.",
                why="Tensor cores do twice as many products of bfloat16 as of TF32 numbers in the same time, and "
                "activations take half of the memory.",
                fix='Put the forward and the loss under `with torch.autocast("cuda", dtype=torch.bfloat16):` '
                f"(backward stays outside, no GradScaler is needed). That saves about {100 * gain:.0f} % of a "
                "step; see that the loss falls as before.",
                where=dearest_line(found),
                steps=profiled_steps(record),
                evidence={
                    "expected_gain": gain,
                    "float32_products_s": each(device_s(found), record),
                    "step_s": each(plain_s(record), record),
                },
            )


def _float32_products(record: ProfileFact, speed: SpeedSettings, tf32: bool, least_s: float) -> list[ProductTime]:
    """Those that take long enough, of the kinds for which torch's switch for TF32 is on, or off."""
    return [
        product
        for product in record.products
        if product.dtype == "float32"
        and product.device_s >= least_s * product.calls
        and (speed.tf32_cudnn if product.is_convolution else speed.tf32_matmul) is tf32
    ]


class Tf32Off(Check):
    """Large float32 products do not use the device's tensor cores, because TF32 is off.

    Symptom:
        A model in float32 is several times slower than the device promises, and every kernel of a matrix
        product has sgemm in its name.
    Evidence:
        From a profile of some steps: the device's time in float32 matrix products and convolutions, on a
        device of the year 2020 or later (capability 8.0) and with torch's switch for TF32 off. Only products
        that take long enough to fill the device count.
    Fix:
        `torch.set_float32_matmul_precision("high")` at the start of the script. Values keep float32's range,
        and products are rounded to about three decimal digits; sums stay in float32.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. Torch leaves TF32 on for convolutions and
        off for matrix products unless it is told otherwise. Trainings that need all digits are better left as
        they are.
    """

    id = "TD733"
    name = "tf32-off"
    title = "float32 matrix products do not use tensor cores"
    reads = (ProfileFact,)

    capability = (8, 0)
    # Of one product: shorter ones are over before tensor cores could show what they can do.
    least_product_s = 100e-6
    # On an H200 products from 2048 x 2048 on became 7 to 8 times as fast, 1024 x 1024 (58 us) 1.9 times.
    saved = 0.75

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        speed = state.speed
        if speed is None or speed.capability < self.capability:
            return
        found = _float32_products(record, speed, False, self.least_product_s)
        saved_s = self.saved * device_s(found)
        gain = saved_s / plain_s(record) if found else 0.0
        severity = severity_of(gain)
        if severity is None:
            return
        switch, what = 'torch.set_float32_matmul_precision("high")', "matrix products"
        if all(product.is_convolution for product in found):
            switch, what = "torch.backends.cudnn.allow_tf32 = True", "convolutions"
        yield self.finding(
            severity=severity,
            confidence=0.9,
            message=f"{per_step(device_s(found), record)} of the {per_step(plain_s(record), record)} of a step are "
            f"{what} in full float32: TF32 is off, so the tensor cores of the {speed.device_name} stand still.",
            why="Tensor cores take float32 numbers too if they may round them to 10 bits behind the point "
            "(TF32). Torch does not let them by default, because a few programs need all 23.",
            fix=f"Write `{switch}` at the start of the script. That saves about {100 * gain:.0f} % of a "
            'step; bfloat16 by `torch.autocast("cuda", dtype=torch.bfloat16)` saves more.',
            where=dearest_line(found),
            steps=profiled_steps(record),
            evidence={
                "expected_gain": gain,
                "saved_s": each(saved_s, record),
                "float32_products_s": each(device_s(found), record),
                "step_s": each(plain_s(record), record),
            },
        )


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

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        ours = {size for parameter in state.parameters if len(parameter.shape) > 1 for size in parameter.shape}
        found: dict[int, list[ProductTime]] = {}
        for product in record.products:
            half = product.dtype in ("float16", "bfloat16") and not product.is_convolution
            if half and product.device_s >= self.least_product_s * product.calls:
                odd = [size for size in _sizes(product.shapes) & ours if size % 8 and size >= self.least_size]
                if odd:
                    found.setdefault(max(odd), []).append(product)
        if not found:
            return
        size, products = max(found.items(), key=lambda item: device_s(item[1]))
        saved = self.saved_if_odd if size % 2 else self.saved_if_even
        gain = saved * device_s(products) / plain_s(record)
        severity = severity_of(gain)
        if severity is not None:
            owner = _owner(state, size)
            module = state.module(owner.path.rpartition(".")[0]) if owner is not None else None
            better = -(-size // 64) * 64
            whose = f" of `{owner.path}`" if owner is not None else ""
            yield self.finding(
                severity=severity,
                confidence=0.8,
                message=f"The size {size}{whose} is no multiple of 8: its products in {products[0].dtype} take "
                f"{per_step(device_s(products), record)} of the {per_step(plain_s(record), record)} of a step.",
                why="Tensor cores read rows in pieces of 16 bytes, which are 8 numbers in half precision. Rows "
                "that do not begin at such a piece are read by slower kernels.",
                fix=f"Make it {better} instead of {size}: what is added is not used. "
                f"That saves about {100 * gain:.0f} % of a step.",
                where=module.place if module is not None and module.place else dearest_line(products),
                steps=profiled_steps(record),
                evidence={
                    "expected_gain": gain,
                    "size": float(size),
                    "products_s": each(device_s(products), record),
                    "step_s": each(plain_s(record), record),
                },
            )


def _owner(state: RunState, size: int) -> ParameterFact | None:
    """The largest parameter with this size; a table of embeddings is looked up and not multiplied with."""
    own = [parameter for parameter in state.parameters if len(parameter.shape) > 1 and size in parameter.shape]
    tables = {module.path for module in state.modules if "Embedding" in module.kind}
    own = [parameter for parameter in own if parameter.path.rpartition(".")[0] not in tables] or own
    return max(own, key=lambda parameter: parameter.shape[0] * parameter.shape[1], default=None)


def _sizes(shapes: str) -> set[int]:
    """'[[50257], [4096, 768], [768, 50257]]' -> the sizes of the matrices"""
    try:
        read = ast.literal_eval(shapes)
    except (SyntaxError, ValueError):
        return set()
    return {size for shape in read if isinstance(shape, list) and len(shape) > 1 for size in shape[-2:]}


class ConvsNotChannelsLast(Check):
    """Images are kept channel by channel, and tensor cores want the channels of a pixel together.

    Symptom:
        Under autocast a convolutional network gains less than it should, and its profile is full of kernels
        named nchwToNhwc.
    Evidence:
        From a profile of some steps: the device's time in kernels by which cuDNN puts tensors into the other
        order before a convolution and back behind it.
    Fix:
        `model = model.to(memory_format=torch.channels_last)` and the same for the images:
        `x = x.to(device, memory_format=torch.channels_last)`.
    Known limits:
        Needs a profile (`run --profile`) of a training on a GPU. Ops that put tensors back into the usual
        order (`view`, some of your own) take part of it away again.
    """

    id = "TD736"
    name = "convs-not-channels-last"
    title = "cuDNN turns the tensors of convolutions round and back"
    reads = (ProfileFact,)

    # Of a step, in which the device works: where it mostly waits, shorter kernels save nothing.
    least_busy = 0.5
    # Convolutions and normalisations have faster kernels for that order, too: on an H200 a small network lost
    # 2.8 times as much as the turning took.
    saved = 1.5

    def see(self, record: ProfileFact, state: RunState) -> Iterable[Finding]:
        if record.layout_s <= 0 or record.device_busy_s < self.least_busy * plain_s(record):
            return
        gain = min(1.0, self.saved * record.layout_s / plain_s(record))
        severity = severity_of(gain)
        if severity is not None:
            convolutions = [product for product in record.products if product.is_convolution]
            yield self.finding(
                severity=severity,
                confidence=0.9,
                message=f"{per_step(record.layout_s, record)} of the {per_step(plain_s(record), record)} of a step "
                "the device only puts the tensors of convolutions into another order and back (nchwToNhwc).",
                why="Tensor cores want the channels of one pixel side by side. Tensors in the usual order, one "
                "plane for each channel, are turned round before such a convolution and back behind it.",
                fix="Write `model = model.to(memory_format=torch.channels_last)` before the optimizer is made, "
                "and bring images to the device with `x.to(device, memory_format=torch.channels_last)`. That "
                f"saves about {100 * gain:.0f} % of a step.",
                where=dearest_line(convolutions),
                steps=profiled_steps(record),
                evidence={
                    "expected_gain": gain,
                    "layout_s": each(record.layout_s, record),
                    "step_s": each(plain_s(record), record),
                },
            )
