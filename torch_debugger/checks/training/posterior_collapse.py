"""TD554: a variational autoencoder that does not use its latent variables."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.keyword_argument import with_keyword
from torch_debugger.checks.latent_forms import is_divergence
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import (
    SAMPLING_ORDERS,
    Edit,
    Finding,
    LatentLook,
    LatentSampling,
    LossGraph,
    Place,
    Record,
)


class PosteriorCollapse(Check):
    """The latent variables of a variational autoencoder are pure noise: the KL term has won.

    Symptom:
        The KL term is 0, reconstructions all look alike, and samples are an average of the data.
    Evidence:
        The graph of the loss shows mean + noise * deviation, and autograd has kept both parts. On the last
        looks, after three hundred steps or more, the KL divergence is next to 0 and the means are the same for
        every sample. Or, in any run: the KL divergence is small and falls, and its weight in the loss is
        exactly as many times that of one number of the reconstruction as a sample, or a batch, has numbers:
        one of the two is a sum and the other one a mean.
    Fix:
        Weigh the KL term less, or add the reconstruction error up over the features as the KL term is added up
        over the latent variables; raise the weight slowly from 0.
    Known limits:
        A deviation is recognised where it is made by exp() or squared for the KL term, with a standard normal
        prior.
    """

    id = "TD554"
    name = "posterior-collapse"
    title = "the latent variables of a VAE say nothing"
    reads = (LatentLook, LatentSampling, LossGraph)

    # Nats for each latent variable; one that is used has 0.5 to 3.
    smallest_divergence = 0.005
    # Deviation of the means between samples; 1 where a latent variable is used well.
    smallest_deviation = 0.05
    # Many healthy runs begin with unused latent variables and take them up later.
    first_late_step = 300

    # Of a weight that differs by the number of elements and by nothing else.
    largest_difference = 0.01
    fewest_elements = 16  # a smaller factor may be a weight of the user's choice
    largest_early_divergence = 0.1  # nats for each latent variable

    def __init__(self) -> None:
        self._looks: list[LatentLook] = []
        self._sampling: LatentSampling | None = None
        self._errors: dict[str, Place] = {}  # the lines that compute them, by op
        self._made = Place()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LatentLook):
            self._looks.append(record)
            del self._looks[1:-2]
        elif isinstance(record, LossGraph):
            self._made = record.made or record.place
            self._errors |= {op_of(node): node.place for node in record.nodes if node.place is not None}
        elif isinstance(record, LatentSampling) and record.order == SAMPLING_ORDERS[0]:
            self._sampling = record
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(self._looks) < 3:
            return
        late, factor = self._looks[-2:], self._factor()
        is_late = late[-1].step >= self.first_late_step
        if (is_late and all(map(self._is_unused, late))) or (factor and self._falls()):
            yield self._judge(self._looks[0], late[-1], factor)

    def _falls(self) -> bool:
        first, *between, last = self._looks
        small = last.divergence < self.largest_early_divergence * last.size
        return small and last.divergence < min(each.divergence for each in (first, *between))

    def _factor(self) -> int:
        """By how much the KL term outweighs the reconstruction, where it is the number of their elements."""
        look = self._sampling
        if (
            look is None
            or not look.error_mean
            or not is_divergence(look.agreement)
            or not look.error_weight > 0
        ):
            return 0
        ratio = look.agreement.first / look.error_weight
        elements = math.prod(look.error_shape[1:])
        exact = [
            count
            for count in (elements, elements * look.error_shape[0])
            if count >= self.fewest_elements and abs(ratio / count - 1) < self.largest_difference
        ]
        return exact[0] if exact else 0

    def _is_unused(self, look: LatentLook) -> bool:
        return look.divergence < self.smallest_divergence * look.size and look.between < self.smallest_deviation

    def _judge(self, first: LatentLook, last: LatentLook, factor: int) -> Finding:
        layer = f" of `{last.source}`" if last.source else ""
        error = self._errors.get(self._sampling.error_op, Place()) if self._sampling and factor else Place()
        message = (
            f"The {last.size} latent variables{layer} say nothing at step {last.step}: their KL divergence "
            f"is {last.divergence:.2g} nats a sample, and their means differ by {last.between:.2g} between "
            "samples."
        )
        why = (
            "The KL term is smallest when every sample gets the same distribution. If it weighs more than "
            "the reconstruction, the decoder learns to do without the latent variables."
        )
        fix = (
            "Multiply the KL term by a smaller number (try 0.01), or sum the reconstruction error over the "
            "features (`reduction='sum'`, divided by the batch) as the KL term is summed."
        )
        evidence: dict[str, float | str] = {
            "divergence": last.divergence,
            "divergence_at_start": first.divergence,
            "between": last.between,
            "latent_variables": float(last.size),
        }
        if factor:
            whole = "the batch" if self._of_batch(factor) else "a sample"
            message = (
                f"The KL term weighs {factor} times as much as the reconstruction, of which{at_line(error)} a "
                f"mean is taken over the {factor} numbers of {whole}. It fell from {first.divergence:.2g} to "
                f"{last.divergence:.2g} nats a sample by step {last.step}, for {last.size} latent "
                f"variables{layer}."
            )
            evidence["weight_of_the_divergence"] = float(factor)
        return self.finding(
            severity="warning",
            confidence=0.9 if factor else 0.85,
            message=message,
            why=why,
            fix=fix if not factor else _FIX.format(factor=factor),
            where=error or self._made,
            first_step=self._looks[1].step,
            last_step=last.step,
            evidence=evidence,
            edit=self._edit(error, factor) if factor else None,
        )

    def _of_batch(self, factor: int) -> bool:
        return self._sampling is not None and factor == math.prod(self._sampling.error_shape)

    def _edit(self, error: Place, factor: int) -> Edit | None:
        """The error as a sum, and over the batch a mean, as the divergence is."""
        look = self._sampling
        if look is None or "(" not in (error.code or "") or "Loss(" in (error.code or ""):
            return None
        maker = _FUNCTIONS.get(look.error_op, "")
        edit = with_keyword(error, maker, "reduction", '"sum"')
        if edit is None or self._of_batch(factor):
            return edit
        call = re.search(rf"[\w.]*\b{maker}\((\w+), (\w+), reduction=\"sum\"\)", edit.after)
        if call is None:
            return None
        divided = f"{call[0]} / len({call[2]})"
        return dataclasses.replace(edit, after=edit.after.replace(call[0], divided))


_FUNCTIONS = {
    "MseLoss": "mse_loss",
    "BinaryCrossEntropy": "binary_cross_entropy",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits",
    "SmoothL1Loss": "smooth_l1_loss",
}
_FIX = (
    "Sum the reconstruction error over the features as the KL term is summed (`reduction='sum'`; divide both "
    "by the batch size, or neither), or divide the KL term by {factor}."
)
