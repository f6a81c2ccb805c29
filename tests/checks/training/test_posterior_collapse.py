from __future__ import annotations

from tests.fakes import judged, place
from torch_debugger.records import Finding, LatentLook, LossGraph

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
