from __future__ import annotations

from tests.checks.training.test_wrong_reparameterization import EXACT
from tests.checks.training.test_wrong_reparameterization import look as sampling
from tests.fakes import judged, place
from torch_debugger.records import Finding, GraphNode, LatentLook, LatentSampling, LossGraph

GRAPH = LossGraph("loss", place(33), 1.0, (), (), 1, made=place(31, code="loss = recon + kl"))


def latent(step: int, divergence: float, between: float) -> LatentLook:
    return LatentLook("vae.mean", 4, divergence, between, step)


def check(*looks: LatentLook) -> list[Finding]:
    return judged([GRAPH, *looks], "posterior-collapse")


def test_latent_variables_that_say_nothing() -> None:
    (finding,) = check(latent(1, 0.2, 0.3), latent(100, 0.002, 0.02), latent(300, 0.0005, 0.013))
    assert finding.message == (
        "The 4 latent variables of `vae.mean` say nothing at step 300: their KL divergence is 0.0005 nats a "
        "sample, and their means differ by 0.013 between samples."
    )
    assert finding.fix.startswith("Multiply the KL term by a smaller number")
    assert (finding.severity, finding.where.line, finding.first_step) == ("warning", 31, 100)


def test_latent_variables_that_are_used_or_not_yet_are_silent() -> None:
    assert not check(latent(1, 0.2, 0.3), latent(100, 2.0, 0.5), latent(300, 6.0, 0.9))
    assert not check(latent(1, 0.001, 0.01), latent(30, 0.002, 0.02), latent(100, 0.0005, 0.013)), "too early"
    assert not check(latent(1, 0.1, 0.1), latent(100, 0.002, 0.02), latent(300, 1.0, 0.4)), "taken up later"
    assert not check(latent(1, 0.1, 0.1), latent(100, 0.3, 0.3), latent(300, 0.0005, 0.02)), "one look"


ERROR = GraphNode("MseLoss", (), (), place=place(22, code="error = F.mse_loss(output, x)"))
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
    assert finding.edit is not None
    assert finding.edit.after == 'error = F.mse_loss(output, x, reduction="sum") / len(x)'


def test_weights_of_the_users_choice_are_silent() -> None:
    assert not told(1.0, *FALLING), "two sums"
    assert not told(1 / 4, *FALLING), "a beta"
    assert not told(1 / 300, *FALLING), "another weight"
    assert not told(1 / 20, *FALLING, mean=False), "no mean"
    assert not told(1 / 20, latent(1, 0.05, 0.2), latent(2, 0.04, 0.2), latent(3, 0.06, 0.2)), "it is used"
    assert not told(1 / 20, latent(1, 6.0, 0.2), latent(2, 5.0, 0.2), latent(3, 4.0, 0.2)), "it says much"
