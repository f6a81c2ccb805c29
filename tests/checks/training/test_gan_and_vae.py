from __future__ import annotations

import math
from typing import Any

from tests.checks.training.test_wrong_reparameterization import EXACT, look, reading
from tests.checks.training.test_wrong_reparameterization import look as sampling
from tests.fakes import findings_of, judged, model, only, optimizer, place, scalars
from torch_debugger.records import AutogradNode, Finding, FormFit, LatentLook, LatentSampling, LossGraph, Record

MODELS = [
    model({"netG": "Sequential"}, {"netG.0.weight": (8, 8)}, root="netG"),
    model({"netD": "Sequential"}, {"netD.0.weight": (1, 8)}, root="netD"),
]
OPTIMIZERS = [
    optimizer("Adam", 1e-2, ["netD.0.weight"], name="optimizerD", line=11),
    optimizer("Adam", 1e-5, ["netG.0.weight"], name="optimizerG", line=12),
]


def graph(site: str, *parameters: str, op: str = "BinaryCrossEntropyWithLogits") -> LossGraph:
    leaf = "torch::autograd::AccumulateGrad"
    leaves = [AutogradNode(leaf, (8, 8), (), parameter=name) for name in parameters]
    inputs = tuple(range(1, len(leaves) + 1))
    return LossGraph(site, place(20), 0.7, (AutogradNode(op, (), inputs), *leaves), (), 1)


def losses_of(discriminator: float, generator: float, arrived: int = 50) -> list[Record]:
    """Both begin at 0.7 and have arrived after a third of the run."""
    found: list[Record] = []
    for step in range(1, 151):
        share = min(1.0, step / arrived)
        values = {"loss/d": 0.7 + share * (discriminator - 0.7), "loss/g": 0.7 + share * (generator - 0.7)}
        found.append(scalars(step, values))
    return found


def game(*records: Record, op: str = "BinaryCrossEntropyWithLogits") -> list[Finding]:
    graphs = [graph("d", "netD.0.weight", op=op), graph("g", "netD.0.weight", "netG.0.weight", op=op)]
    return judged([*MODELS, *OPTIMIZERS, *graphs, *records], "discriminator-wins")


def test_a_discriminator_without_error_is_to_be_slowed_down() -> None:
    (finding,) = game(*losses_of(0.001, 9.0))
    assert finding.message == (
        "The discriminator `netD` has won: over the last third of the run its loss is 0.001, while the "
        "generator's (`g`) went from 0.87 to 9."
    )
    assert finding.fix.startswith("Lower `lr` of `optimizerD` from 0.01 to 0.0025")
    assert (finding.severity, finding.where.line) == ("warning", 11)


def test_a_game_that_goes_on_is_silent() -> None:
    assert not game(*losses_of(0.4, 2.0))
    assert not game(*losses_of(0.001, 2.0)), "the generator keeps up"
    assert not game(*losses_of(0.3, 9.0))
    assert not game(*losses_of(0.001, 9.0), op="Mean"), "a critic's loss has no zero"
    assert not game(*losses_of(0.001, 9.0)[:60]), "too short to tell"


def test_a_discriminator_may_win_within_the_first_steps() -> None:
    assert game(*losses_of(0.001, 9.0, arrived=8))


GRAPH = LossGraph("loss", place(33), 1.0, (), (), 1, made=place(31, code="loss = recon + kl"))


def latent(step: int, divergence: float, between: float) -> LatentLook:
    return LatentLook("vae.mean", 4, divergence, between, step)


collapsed = findings_of("posterior-collapse", GRAPH)


def test_latent_variables_that_say_nothing() -> None:
    (finding,) = collapsed(latent(1, 0.2, 0.3), latent(100, 0.002, 0.02), latent(300, 0.0005, 0.013))
    assert finding.message == (
        "The 4 latent variables of `vae.mean` say nothing at step 300: their KL divergence is 0.0005 nats a "
        "sample, and their means differ by 0.013 between samples."
    )
    assert finding.fix.startswith("Multiply the KL term by a smaller number")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 31, 100)


def test_latent_variables_that_are_used_or_not_yet_are_silent() -> None:
    assert not collapsed(latent(1, 0.2, 0.3), latent(100, 2.0, 0.5), latent(300, 6.0, 0.9))
    assert not collapsed(latent(1, 0.001, 0.01), latent(30, 0.002, 0.02), latent(100, 0.0005, 0.013)), "too early"
    assert not collapsed(latent(1, 0.1, 0.1), latent(100, 0.002, 0.02), latent(300, 1.0, 0.4)), "taken up later"
    assert not collapsed(latent(1, 0.1, 0.1), latent(100, 0.3, 0.3), latent(300, 0.0005, 0.02)), "one look"


ERROR = AutogradNode("MseLoss", (), (), place=place(22, code="error = F.mse_loss(output, x)"))
WITH_ERROR = LossGraph("loss", place(33), 1.0, (ERROR,), (), 1, made=place(31, code="loss = error + kl"))
FALLING = (latent(1, 0.05, 0.2), latent(2, 0.04, 0.2), latent(3, 0.03, 0.15))


def weighted(weight: float, *, mean: bool = True) -> LatentSampling:
    known = {"agreement": EXACT, "error_op": "MseLoss", "error_shape": (64, 20), "error_mean": mean}
    return sampling(error_weight=weight, **known)


def told(weight: float, *looks: LatentLook, mean: bool = True) -> list[Finding]:
    return judged([WITH_ERROR, weighted(weight, mean=mean), *looks], "posterior-collapse")


def test_a_mean_beside_a_sum_is_told_by_its_factor_in_a_short_run() -> None:
    (finding,) = told(1 / 1280, *FALLING)
    assert finding.message == (
        "The KL term weighs 1280 times as much as the reconstruction, of which at train.py:22 a mean is taken "
        "over the 1280 numbers of the batch. It fell from 0.05 to 0.03 nats a sample by step 3, for 4 latent "
        "variables of `vae.mean`."
    )
    assert finding.edit is not None and finding.edit.after == 'error = F.mse_loss(output, x, reduction="sum")'
    (finding,) = told(1 / 20, *FALLING)
    assert finding.evidence["weight_of_the_divergence"] == 20
    assert finding.edit is not None and finding.edit.after == 'error = F.mse_loss(output, x, reduction="sum") / len(x)'


def test_weights_of_the_users_choice_are_silent() -> None:
    assert not told(1.0, *FALLING), "two sums"
    assert not told(1 / 4, *FALLING), "a beta"
    assert not told(1 / 300, *FALLING), "another weight"
    assert not told(1 / 20, *FALLING, mean=False), "no mean"
    assert not told(1 / 20, latent(1, 0.05, 0.2), latent(2, 0.04, 0.2), latent(3, 0.06, 0.2)), "it is used"
    assert not told(1 / 20, latent(1, 6.0, 0.2), latent(2, 5.0, 0.2), latent(3, 4.0, 0.2)), "it says much"


def kl_term(first: float, second: float, mean: float, misfit: float = 1e-7, **changed: Any) -> list[Finding]:
    known = {"agreement": FormFit(first, second, misfit), "mean_factor": mean, "divergence": place(40), **changed}
    return judged([look(1, **known), look(2, **known)], "wrong-kl-term")


def test_signs_and_missing_parts() -> None:
    told = {
        (1.0, -1.0, -1.0): "sign of the mean", (1.0, 1.0, 1.0): "sign of the logarithm",
        (-1.0, -1.0, 1.0): "sign of the variance", (1.0, 0.0, 1.0): "no logarithm",
        (0.0, -1.0, 1.0): "no variance",
    }  # fmt: skip
    for numbers, fault in told.items():
        (finding,) = kl_term(*numbers)
        assert (finding.evidence["fault"], finding.where.line) == (fault, 40), numbers
        assert finding.severity == ("error" if fault.startswith("sign") else "warning"), numbers


def test_the_message() -> None:
    assert only(kl_term(0.5, -0.5, -0.5)).message == (
        "The KL term at train.py:40 has the squared mean with a minus: it falls without end as the means move away "
        "from 0. Its gradient by the deviation is 0.5 * deviation - 0.5 / deviation, and -0.5 * mean by the mean."
    )


def test_what_may_be_on_purpose_is_silent() -> None:
    assert not kl_term(1.0, -1.0, 1.0), "the divergence"
    assert not kl_term(4.0, -1.0, 4.0), "a prior of another deviation"
    assert not kl_term(1.0, 0.0, 0.3), "two penalties, each with its weight"
    assert not kl_term(1.0, -1.0, math.nan), "a mean that is not known"
    assert not kl_term(-1.0, 1.0, -1.0), "all of it turned: loss-sign"
    assert not kl_term(1.0, 0.0, 1.0, misfit=0.01), "does not fit"
    assert not kl_term(1.0, 0.0, 1.0, readings=(reading("as it is"),)), "the sampling is wrong instead"
