"""TD554: a variational autoencoder that does not use its latent variables."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, LatentLook, LossGraph, Place, Record


class PosteriorCollapse(Check):
    """The latent variables of a variational autoencoder are pure noise: the KL term has won.

    Symptom:
        The KL term is 0, reconstructions all look alike, and samples are an average of the data.
    Evidence:
        The graph of the loss shows mean + noise * deviation, and autograd has kept both parts. On the last
        looks, after three hundred steps or more, the KL divergence is next to 0 and the means are the same for
        every sample.
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
    reads = (LatentLook, LossGraph)

    # Nats for each latent variable; one that is used has 0.5 to 3.
    smallest_divergence = 0.005
    # Deviation of the means between samples; 1 where a latent variable is used well.
    smallest_deviation = 0.05
    # Many healthy runs begin with unused latent variables and take them up later.
    first_late_step = 300

    def __init__(self) -> None:
        self._looks: list[LatentLook] = []
        self._made = Place()

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, LatentLook):
            self._looks.append(record)
            del self._looks[1:-2]
        elif isinstance(record, LossGraph):
            self._made = record.made or record.place
        return ()

    def finish(self, state: RunState) -> Iterable[Finding]:
        late = self._looks[-2:]
        if len(self._looks) > 2 and late[-1].step >= self.first_late_step and all(map(self._is_unused, late)):
            yield self._judge(self._looks[0], late[-1], state)

    def _is_unused(self, look: LatentLook) -> bool:
        return look.divergence < self.smallest_divergence * look.size and look.between < self.smallest_deviation

    def _judge(self, first: LatentLook, last: LatentLook, state: RunState) -> Finding:
        layer = f" of `{last.source}`" if last.source else ""
        return self.finding(
            severity="warning",
            confidence=0.85,
            message=(
                f"The {last.size} latent variables{layer} say nothing at step {last.step}: their KL divergence "
                f"is {last.divergence:.2g} nats a sample, and their means differ by {last.between:.2g} between "
                "samples."
            ),
            why=(
                "The KL term is smallest when every sample gets the same distribution. If it weighs more than "
                "the reconstruction, the decoder learns to do without the latent variables."
            ),
            fix=(
                "Multiply the KL term by a smaller number (try 0.01), or sum the reconstruction error over the "
                "features (`reduction='sum'`, divided by the batch) as the KL term is summed."
            ),
            where=self._made,
            first_step=self._looks[1].step,
            last_step=last.step,
            evidence={
                "divergence": last.divergence,
                "divergence_at_start": first.divergence,
                "between": last.between,
                "latent_variables": float(last.size),
            },
        )
