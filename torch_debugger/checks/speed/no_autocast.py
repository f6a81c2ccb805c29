"""TD734: everything is computed in float32 on a device that is much faster with half of the bits."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import LEAST_GAIN, milliseconds
from torch_debugger.checks.profiled_steps import dearest_line, device_s, each, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ProductTime, ProfileFact, Record, SpeedSettings


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ProfileFact)
        speed = state.speed
        if speed is None or speed.capability < self.capability:
            return
        found = [product for product in record.products if self._is_large(product, speed)]
        full_s, all_s = device_s(found), device_s(record.products)
        gain = self.saved * full_s / plain_s(record)
        most = full_s >= max(self.least_share * plain_s(record), self.least_of_products * all_s)
        if found and most and gain >= LEAST_GAIN:
            yield self._judge(record, found, gain)

    def _is_large(self, product: ProductTime, speed: SpeedSettings) -> bool:
        on = speed.tf32_cudnn if product.is_convolution else speed.tf32_matmul
        return product.dtype == "float32" and on and product.device_s >= self.least_product_s * product.calls

    def _judge(self, record: ProfileFact, found: list[ProductTime], gain: float) -> Finding:
        return self.finding(
            severity="note",
            confidence=0.7,
            message=(
                f"{milliseconds(each(device_s(found), record))} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step are matrix products and "
                "convolutions in float32, and nothing runs under autocast."
            ),
            why=(
                "Tensor cores do twice as many products of bfloat16 as of TF32 numbers in the same time, and "
                "activations take half of the memory."
            ),
            fix=(
                'Put the forward and the loss under `with torch.autocast("cuda", dtype=torch.bfloat16):` '
                "(backward "
                f"stays outside, no GradScaler is needed). That saves about {100 * gain:.0f} % of a step; "
                "see that the loss falls as before."
            ),
            where=dearest_line(found),
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "float32_products_s": each(device_s(found), record),
                "step_s": each(plain_s(record), record),
            },
        )
