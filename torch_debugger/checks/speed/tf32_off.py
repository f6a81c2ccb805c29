"""TD733: matrix products in full float32 on a device that has tensor cores for them."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.gains import milliseconds, severity_of
from torch_debugger.checks.profiled_steps import dearest_line, device_s, each, plain_s
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, ProductTime, ProfileFact, Record, SpeedSettings


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

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, ProfileFact)
        speed = state.speed
        if speed is None or speed.capability < self.capability:
            return
        found = [product for product in record.products if self._is_slow(product, speed)]
        saved_s = self.saved * device_s(found)
        severity = severity_of(saved_s / plain_s(record)) if found else None
        if severity is not None:
            yield self._judge(record, speed, found, severity, saved_s)

    def _is_slow(self, product: ProductTime, speed: SpeedSettings) -> bool:
        on = speed.tf32_cudnn if product.is_convolution else speed.tf32_matmul
        large = product.device_s >= self.least_product_s * product.calls
        return product.dtype == "float32" and large and not on

    def _judge(
        self,
        record: ProfileFact,
        speed: SpeedSettings,
        found: list[ProductTime],
        severity: str,
        saved_s: float,
    ) -> Finding:
        gain = saved_s / plain_s(record)
        only_convolutions = all(product.is_convolution for product in found)
        switch = "torch.backends.cudnn.allow_tf32 = True"
        switch = switch if only_convolutions else 'torch.set_float32_matmul_precision("high")'
        what = "convolutions" if only_convolutions else "matrix products"
        return self.finding(
            severity=severity,
            confidence=0.9,
            message=(
                f"{milliseconds(each(device_s(found), record))} of the "
                f"{milliseconds(each(plain_s(record), record))} of a step are {what} in full float32: TF32 "
                f"is off, so the tensor cores of the {speed.device_name} stand still."
            ),
            why=(
                "Tensor cores take float32 numbers too if they may round them to 10 bits behind the point "
                "(TF32). Torch does not let them by default, because a few programs need all 23."
            ),
            fix=(
                f"Write `{switch}` at the start of the script. That saves about {100 * gain:.0f} % of a "
                "step; bfloat16 by "
                '`torch.autocast("cuda", dtype=torch.bfloat16)` saves more.'
            ),
            where=dearest_line(found),
            first_step=record.first_step,
            last_step=record.first_step + record.steps - 1,
            evidence={
                "expected_gain": gain,
                "saved_s": each(saved_s, record),
                "float32_products_s": each(device_s(found), record),
                "step_s": each(plain_s(record), record),
            },
        )
