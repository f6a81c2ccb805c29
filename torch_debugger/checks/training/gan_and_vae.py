"""GANs whose discriminator has won; VAEs whose latents are unused or whose KL term is wrong."""

from __future__ import annotations

import dataclasses
import math
import re
import statistics
from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line, op_of
from torch_debugger.checks.call_edits import change_rate, highest_rate, with_keyword
from torch_debugger.checks.models import LARGEST_MISFIT, SamplingCheck, is_divergence, right_reading
from torch_debugger.checks.trends import start_level
from torch_debugger.records import (
    SAMPLING_ORDERS,
    Edit,
    Finding,
    LatentLook,
    LatentSampling,
    LossGraph,
    Place,
    Record,
    Scalars,
)

_LOSSES = ("BinaryCrossEntropy", "BinaryCrossEntropyWithLogits")


class DiscriminatorWins(Check):
    """The discriminator of a GAN tells real from fake without error, so the generator learns nothing more.

    Symptom:
        The discriminator's loss goes to 0, the generator's grows, and its samples do not get better.
    Evidence:
        Two optimizers, and a loss whose graph runs through both models: the generator's. Over the last third of
        the run the discriminator's binary cross-entropy was next to 0 and the generator's large and higher than
        at the start.
    Fix:
        Slow the discriminator down: a smaller learning rate, fewer steps, labels of 0.9, noise on its inputs;
        or give the generator a larger rate.
    Known limits:
        Only GANs with binary cross-entropy are judged; a Wasserstein or hinge loss has no such zero.
    """

    id = "TD553"
    name = "discriminator-wins"
    title = "the discriminator is too good for the generator to learn"
    reads = (LossGraph, Scalars)

    steps_needed = 100
    # In nats: 0.02 means 98 % sure and right on nearly every sample; two sums of it may count as one loss.
    discriminator_below = 0.03
    # The generator's samples are believed with a probability below e**-4.
    generator_above = 4.0
    generator_risen = 2.0

    def __init__(self) -> None:
        self._roots: dict[str, set[str]] = {}  # site -> models whose parameters its graph ends in
        self._curves: dict[str, list[float]] = {}

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LossGraph):
            if any(op_of(node) in _LOSSES for node in record.nodes):
                found = {(node.parameter or "").split(".", 1)[0] for node in record.nodes} & set(state.models)
                self._roots.setdefault(record.site, set()).update(found)
        elif isinstance(record, Scalars):
            for tag, value in record.values.items():
                if tag.startswith("loss/"):
                    self._curves.setdefault(tag.removeprefix("loss/"), []).append(value)

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(state.optimizers) != 2 or state.step < self.steps_needed:
            return
        sites = {site: roots for site, roots in self._roots.items() if site in self._curves}
        generators = [site for site, roots in sites.items() if len(roots) == 2]
        judges = [site for site, roots in sites.items() if len(roots) == 1]
        roots = {root for site in judges for root in sites[site]}
        if len(generators) == 1 and len(roots) == 1 and roots <= sites[generators[0]]:
            yield from self._judge(generators[0], judges, roots.pop(), state)

    def _judge(self, generator: str, judges: list[str], root: str, state: RunState) -> Iterable[Finding]:
        curve = self._curves[generator]
        start, now = start_level(list(enumerate(curve))), _late(curve)
        lost = max(_late(self._curves[site]) for site in judges)
        if lost > self.discriminator_below or now < max(self.generator_above, self.generator_risen * start):
            return
        owners = [
            one for one in state.optimizers.values() if any(name.startswith(f"{root}.") for name in one.parameters)
        ]
        optimizer = owners[0] if owners else None
        rate = highest_rate(optimizer)
        slower = (
            f"Lower `lr` of `{optimizer.name}` from {rate:g} to {rate / 4:g}"
            if optimizer is not None and rate is not None
            else f"Lower the learning rate of `{root}`'s optimizer"
        )
        yield self.finding(
            severity="warning",
            confidence=0.85,
            message=f"The discriminator `{root}` has won: over the last third of the run its loss is {lost:.2g}, "
            f"while the generator's (`{generator}`) went from {start:.2g} to {now:.3g}.",
            why="A discriminator that is sure of every sample has almost no slope left, so what it tells the "
            "generator is no longer a direction.",
            fix=f"{slower}, or train `{root}` on every second step only; labels of 0.9 instead of 1 help too.",
            where=optimizer.place if optimizer else Place(),
            steps=(1, state.step),
            evidence={"discriminator_loss": lost, "generator_loss": now, "generator_loss_start": start},
            edit=change_rate(optimizer, 0.25) if optimizer else None,
        )


def _late(curve: list[float]) -> float:
    return statistics.median(curve[-max(1, len(curve) // 3) :])


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

    def see(self, record: Record, state: RunState) -> None:
        if isinstance(record, LatentLook):
            self._looks.append(record)
            del self._looks[1:-2]
        elif isinstance(record, LossGraph):
            self._made = record.made or record.place
            self._errors |= {op_of(node): node.place for node in record.nodes if node.place is not None}
        elif isinstance(record, LatentSampling) and record.order == SAMPLING_ORDERS[0]:
            self._sampling = record

    def finish(self, state: RunState) -> Iterable[Finding]:
        if len(self._looks) < 3:
            return
        first, *between, last = self._looks
        factor = self._factor()
        unused = last.step >= self.first_late_step and all(
            look.divergence < self.smallest_divergence * look.size and look.between < self.smallest_deviation
            for look in self._looks[-2:]
        )
        small = last.divergence < self.largest_early_divergence * last.size
        falls = small and last.divergence < min(look.divergence for look in (first, *between))
        if not unused and not (factor and falls):
            return
        layer = f" of `{last.source}`" if last.source else ""
        error = Place()
        edit: Edit | None = None
        evidence: dict[str, float | str] = {
            "divergence": last.divergence, "divergence_at_start": first.divergence, "between": last.between,
            "latent_variables": float(last.size),
        }  # fmt: skip
        if factor and self._sampling is not None:
            error = self._errors.get(self._sampling.error_op, Place())
            of_batch = factor == math.prod(self._sampling.error_shape)
            message = (
                f"The KL term weighs {factor} times as much as the reconstruction, of which{at_line(error)} a "
                f"mean is taken over the {factor} numbers of {'the batch' if of_batch else 'a sample'}. It fell from "
                f"{first.divergence:.2g} to {last.divergence:.2g} nats a sample by step {last.step}, for {last.size} "
                f"latent variables{layer}."
            )
            fix = _SUM_BOTH.format(factor=factor)
            edit = _summed(error, self._sampling.error_op, of_batch)
            evidence["weight_of_the_divergence"] = float(factor)
        else:
            message = (
                f"The {last.size} latent variables{layer} say nothing at step {last.step}: their KL divergence is "
                f"{last.divergence:.2g} nats a sample, and their means differ by {last.between:.2g} between samples."
            )
            fix = _WEIGH_LESS
        yield self.finding(
            severity="warning",
            confidence=0.9 if factor else 0.85,
            message=message,
            why="The KL term is smallest when every sample gets the same distribution. If it weighs more than "
            "the reconstruction, the decoder learns to do without the latent variables.",
            fix=fix,
            where=error or self._made,
            steps=(self._looks[1].step, last.step),
            evidence=evidence,
            edit=edit,
        )

    def _factor(self) -> int:
        """By how much the KL term outweighs the reconstruction, where it is the number of their elements."""
        look = self._sampling
        if look is None or not look.error_mean or not is_divergence(look.agreement) or not look.error_weight > 0:
            return 0
        ratio = look.agreement.first / look.error_weight
        elements = math.prod(look.error_shape[1:])
        exact = [
            count
            for count in (elements, elements * look.error_shape[0])
            if count >= self.fewest_elements and abs(ratio / count - 1) < self.largest_difference
        ]
        return exact[0] if exact else 0


_FUNCTIONS = {
    "MseLoss": "mse_loss",
    "BinaryCrossEntropy": "binary_cross_entropy",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits",
    "SmoothL1Loss": "smooth_l1_loss",
}
_SUM_BOTH = (
    "Sum the reconstruction error over the features as the KL term is summed (`reduction='sum'`; divide both "
    "by the batch size, or neither), or divide the KL term by {factor}."
)
_WEIGH_LESS = (
    "Multiply the KL term by a smaller number (try 0.01), or sum the reconstruction error over the "
    "features (`reduction='sum'`, divided by the batch) as the KL term is summed."
)


def _summed(error: Place, op: str, of_batch: bool) -> Edit | None:
    """The error as a sum, and over the batch a mean, as the divergence is."""
    if "(" not in (error.code or "") or "Loss(" in (error.code or ""):
        return None
    maker = _FUNCTIONS.get(op, "")
    edit = with_keyword(error, maker, "reduction", '"sum"')
    if edit is None or of_batch:
        return edit
    call = re.search(rf"[\w.]*\b{maker}\((\w+), (\w+), reduction=\"sum\"\)", edit.after)
    if call is None:
        return None
    return dataclasses.replace(edit, after=edit.after.replace(call[0], f"{call[0]} / len({call[2]})"))


_FAULTS = {
    "no logarithm": (
        "has no logarithm of the variance: it is lowest where the deviation is 0",
        "Add it: the model drives the noise to 0 and becomes an autoencoder without a prior.",
    ),
    "no variance": (
        "has no variance: it falls without end as the deviation grows",
        "Add it: only the reconstruction keeps the noise from growing.",
    ),
    "sign of the logarithm": (
        "has the logarithm of the variance with a plus: it falls without end as the deviation goes to 0",
        "Turn the sign of the logarithm: it keeps the deviation away from 0.",
    ),
    "sign of the variance": (
        "has the variance with a minus: it falls without end as the deviation grows",
        "Turn the sign of the variance: it keeps the deviation from growing.",
    ),
    "sign of the mean": (
        "has the squared mean with a minus: it falls without end as the means move away from 0",
        "Turn the sign of the squared mean: it keeps the means near 0.",
    ),
}


class WrongKlTerm(SamplingCheck):
    """The KL term of a variational autoencoder is written with a wrong sign, or a part of it is missing.

    Symptom:
        The loss falls steadily or goes below zero, the latent variables grow or lose their noise, and samples
        from the prior look like nothing.
    Evidence:
        The gradient of the KL term by mean and deviation, read from the autograd graph. That of a divergence
        to the standard normal is (weight * mean, weight * (deviation - 1 / deviation)); here one of the three
        parts has the other sign or is missing, and the others have one and the same weight.
    Fix:
        -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    Known limits:
        For normal posteriors with a diagonal covariance and a term in closed form. Where all signs are turned,
        it is `loss-sign`. A mean that the term leaves out is not told: that may be on purpose.
    """

    id = "TD583"
    name = "wrong-kl-term"
    title = "the KL term of a VAE has a wrong sign or lacks a part"
    explains = ("posterior-collapse", "loss-not-finite", "overflow-ahead", "exploding-gradient", "lr-too-high")

    # Between the weights of the parts, as a share.
    largest_difference = 0.01

    def fault_in(self, look: LatentSampling) -> tuple[str, ...]:
        first, second, mean = look.agreement.first, look.agreement.second, look.mean_factor
        if (
            look.order != SAMPLING_ORDERS[0]
            or look.agreement.misfit > LARGEST_MISFIT / 10
            or not math.isfinite(first + second + mean)
        ):
            return ()
        weight = max(abs(first), abs(second))
        signs = tuple(0 if abs(part) < self.largest_difference * weight else part for part in (first, -second, mean))
        sizes = [abs(part) for part in signs if part]
        if not weight or max(sizes) - min(sizes) > self.largest_difference * weight:
            return ()
        known: dict[tuple[int, ...], str] = {
            (1, 0, 1): "no logarithm", (0, 1, 1): "no variance", (1, -1, 1): "sign of the logarithm",
            (-1, 1, 1): "sign of the variance", (1, 1, -1): "sign of the mean",
        }  # fmt: skip
        fault = known.get(tuple(int(math.copysign(1, part)) if part else 0 for part in signs), "")
        # What is sampled may be wrong instead: a tensor that the divergence takes for something else.
        return (fault,) if fault and (fault == "sign of the mean" or right_reading(look) is None) else ()

    def judge(self, fault: str, looks: list[LatentSampling], state: RunState) -> Finding:
        last, (what, fix) = looks[-1], _FAULTS[fault]
        where, by_inverse = last.divergence or last.written.place, last.agreement.second
        return self.finding(
            severity="error" if fault.startswith("sign") else "warning",
            confidence=0.94 if fault.startswith("sign") else 0.85,
            message=f"The KL term{at_line(where)} {what}. Its gradient by the deviation is {last.agreement.first:.3g} "
            f"* deviation {'-' if by_inverse < 0 else '+'} {abs(by_inverse):.3g} / deviation, and "
            f"{last.mean_factor:.3g} * mean by the mean.",
            why="The divergence of a normal distribution from the standard normal is 0.5 * (mean**2 + variance "
            "- log(variance) - 1); each part holds another one back.",
            fix=f"{fix} `-0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())`.",
            where=where,
            steps=(looks[0].step, max(last.step, state.step)),
            evidence={
                "fault": fault,
                "by_deviation": last.agreement.first,
                "by_inverse_deviation": by_inverse,
                "by_mean": last.mean_factor,
                "misfit": last.agreement.misfit,
            },
        )
