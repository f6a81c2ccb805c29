from __future__ import annotations

from tests.fakes import judged, model, optimizer, place, scalars
from torch_debugger.records import Finding, GraphNode, LossGraph, Record

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
    leaves = [GraphNode(leaf, (8, 8), (), parameter=name) for name in parameters]
    inputs = tuple(range(1, len(leaves) + 1))
    return LossGraph(site, place(20), 0.7, (GraphNode(op, (), inputs), *leaves), (), 1)


def losses_of(discriminator: float, generator: float, arrived: int = 50) -> list[Record]:
    """Both begin at 0.7 and have arrived after a third of the run."""
    found: list[Record] = []
    for step in range(1, 151):
        share = min(1.0, step / arrived)
        values = {"loss/d": 0.7 + share * (discriminator - 0.7), "loss/g": 0.7 + share * (generator - 0.7)}
        found.append(scalars(step, values))
    return found


def check(*records: Record, op: str = "BinaryCrossEntropyWithLogits") -> list[Finding]:
    graphs = [graph("d", "netD.0.weight", op=op), graph("g", "netD.0.weight", "netG.0.weight", op=op)]
    return judged([*MODELS, *OPTIMIZERS, *graphs, *records], "discriminator-wins")


def test_a_discriminator_without_error_is_to_be_slowed_down() -> None:
    (finding,) = check(*losses_of(0.001, 9.0))
    assert finding.message == (
        "The discriminator `netD` has won: over the last third of the run its loss is 0.001, while the "
        "generator's (`g`) went from 0.87 to 9."
    )
    assert finding.fix.startswith("Lower `lr` of `optimizerD` from 0.01 to 0.0025")
    assert (finding.severity, finding.where.line) == ("warning", 11)


def test_a_game_that_goes_on_is_silent() -> None:
    assert not check(*losses_of(0.4, 2.0))
    assert not check(*losses_of(0.001, 2.0)), "the generator keeps up"
    assert not check(*losses_of(0.3, 9.0))
    assert not check(*losses_of(0.001, 9.0), op="Mean"), "a critic's loss has no zero"
    assert not check(*losses_of(0.001, 9.0)[:60]), "too short to tell"


def test_a_discriminator_may_win_within_the_first_steps() -> None:
    assert check(*losses_of(0.001, 9.0, arrived=8))
