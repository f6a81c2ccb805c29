from __future__ import annotations

import pytest

from tests.fakes import findings_of, judged, losses, model, only, optimizer, place, rows
from torch_debugger.records import Finding, LossGraph, Record, Rectifier, SampleSpread

FLAT = losses([2.3] * 40)
FALLING = losses([2.3 * 0.9**step for step in range(40)])
NET = model({"net": "Net", "net.fc1": "Linear"})


def relu(step: int, dead: int, batch: int = 64, units: int = 32, **others: object) -> Rectifier:
    zeros = max(dead / units, 0.5)
    facts: dict[str, object] = {"name": "relu after net.fc1", "source": "net.fc1", **others}
    return Rectifier(units=units, dead_units=dead, zeros=zeros, batch=batch, step=step, **facts)  # type: ignore[arg-type]


def check_dead_relu(*records: Record, only: str = "dead-relu") -> list[Finding]:
    return judged([NET, *records], only)


def test_dead_from_the_first_look_blames_the_start_values() -> None:
    (finding,) = check_dead_relu(*FLAT, *[relu(step, 32) for step in (1, 2, 3, 12)])
    assert finding.message == (
        "32 of 32 units of relu after net.fc1 are dead from the first look, step 1, on: zero for every sample "
        "of the batch (64 samples)."
    )
    assert "check the start values of `net.fc1`" in finding.fix
    assert (finding.severity, finding.where.module, finding.where.line) == ("error", "net.fc1", 11)


def test_dead_later_blames_the_learning_rate_with_numbers() -> None:
    alive = [relu(step, 1) for step in (1, 2, 3)]
    (finding,) = check_dead_relu(optimizer("SGD", 0.5), *FLAT, *alive, *[relu(step, 31) for step in (8, 13, 18, 23)])
    assert finding.first_step == 8
    assert "lower the learning rate from 0.5 to 0.05" in finding.fix
    assert "dead since step 8" in finding.message


def test_half_dead_is_a_warning_unless_the_loss_falls() -> None:
    records = [relu(step, 20) for step in (1, 2, 3, 600)]
    assert only(check_dead_relu(*FLAT, *records)).severity == "warning"
    assert not check_dead_relu(*FLAT, *records[:3], relu(100, 20)), "a plateau at the start is not stuck"
    assert not check_dead_relu(*FALLING, *records)
    assert not check_dead_relu(*losses([2.3 * 0.99**step for step in range(40)]), *records), "slowly is not stuck"
    assert not check_dead_relu(*losses([-1.0, 2.0] * 20), *records), "a loss with changing signs cannot tell"


def test_the_loss_since_a_layer_died_says_how_grave_it_is() -> None:
    # dead as a whole while the loss falls is a note
    assert only(check_dead_relu(*FALLING, *[relu(step, 32) for step in (1, 2, 3, 12)])).severity == "note"
    # a layer that died late is judged by the loss since
    fell_then_stuck = losses([2.3 * max(0.9**step, 0.3) for step in range(60)])
    died_late = [relu(step, dead) for step, dead in ((1, 0), (30, 32), (40, 32), (50, 32))]
    assert only(check_dead_relu(*fell_then_stuck, *died_late)).severity == "error"


def test_the_line_is_that_of_the_relu_module_where_there_is_one() -> None:
    with_module = model({"net": "Net", "net.fc1": "Linear", "net.act": "ReLU", "net.fc2": "Linear"})
    (finding,) = judged([with_module, *FLAT, *[relu(step, 32) for step in (1, 2, 3)]], "dead-relu")
    assert (finding.where.module, finding.where.line) == ("net.act", 12)


def test_a_relu_as_the_models_output_is_to_be_removed() -> None:
    ends_here = model({"net": "Net", "net.fc1": "Linear"}, {"net.fc1.weight": (1, 4), "net.fc1.bias": (1,)})
    dead = [relu(step, 1, units=1) for step in (3, 4, 5)]
    (finding,) = judged([ends_here, *FLAT, *dead], "dead-relu")
    assert finding.message.startswith("The only unit of relu after net.fc1 is dead from the first look")
    assert finding.fix.startswith("Remove the ReLU after `net.fc1`: it is the model's output")


def zero_gradient(step: int, norm: float = 0.0) -> Record:
    columns = ("grad_norm", "weight_norm", "elements")
    return rows(step, "parameter", columns, {"net.fc1.weight": [norm, 1.0, 64.0], "net.fc2.weight": [1.0, 1.0, 8.0]})


def test_one_look_and_gradients_of_exactly_zero_are_proof_too() -> None:
    dead_output = relu(3, 1, units=1)
    silent = [zero_gradient(step) for step in range(4, 20)]
    (finding,) = check_dead_relu(*FLAT, relu(1, 0, units=1), dead_output, *silent)
    assert (finding.severity, finding.first_step, finding.last_step) == ("error", 3, 19)
    assert not check_dead_relu(*FLAT, dead_output, *silent[:6], zero_gradient(10, norm=0.1))
    assert not check_dead_relu(*FLAT, relu(3, 30), *silent), "only a layer that is dead as a whole passes nothing back"


def test_a_relu_that_is_satisfied_or_alive_at_one_of_two_places_is_silent() -> None:
    # a hinge that is satisfied is no dead layer
    done = losses([2.3, 1.0, 0.5, 0.1, *([0.0] * 30)])
    assert not check_dead_relu(*done, *[relu(step, 1, units=1) for step in (8, 9, 10, 22)])
    # a relu that runs twice a step is dead only if both are
    both = [relu(step, dead) for step in (1, 2, 3, 12, 20) for dead in (32, 0)]
    assert not check_dead_relu(*FLAT, *both)
    assert not check_dead_relu(*FLAT, relu(1, 32), relu(1, 32), relu(1, 32))


@pytest.mark.parametrize(
    "healthy",
    [
        [relu(step, 15) for step in (1, 2, 3, 12)],
        [relu(1, 32), relu(2, 32)],
        [relu(1, 32), relu(2, 32), relu(3, 2), relu(12, 32)],
        [relu(step, 6, units=7) for step in (1, 2, 3, 12)],
        [relu(step, 20, batch=1) for step in (1, 2, 3, 12)],
    ],
    ids=["less than half", "two looks", "came back", "narrow layer", "batch of one"],
)
def test_sparse_but_alive_layers_are_silent(healthy: list[Record]) -> None:
    assert not check_dead_relu(*FLAT, *healthy)


def test_a_layer_dead_as_a_whole_shows_in_any_batch_and_at_the_end() -> None:
    # a layer dead as a whole shows in any batch
    assert check_dead_relu(*FLAT, *[relu(step, 32, batch=1) for step in (1, 2, 3, 12)])
    # three looks close together wait for the end of the run
    assert check_dead_relu(*FLAT, *[relu(step, 32) for step in (1, 2, 3)])


FLOOR = losses([1.0 * 0.9**step for step in range(120)])
COSINE = losses([-0.1 - 0.9 * min(1.0, step / 50) for step in range(120)])
GRAPH = LossGraph("loss", place(23), 1.0, (), (), 1, made=place(20, code="loss = F.mse_loss(z1, z2)"))


def looks(*values: float, names: tuple[str, ...] = ("z1", "z2"), directions: bool = False) -> list[Record]:
    found: list[Record] = []
    for step, value in zip((1, 30, 100, 300), values, strict=True):
        turned, between = (value, 0.8) if directions else (0.8, value)
        found.append(SampleSpread(names, (turned,) * len(names), (between,) * len(names), step))
    return found


check_collapse = findings_of("collapsed-representation", GRAPH)


def test_embeddings_that_shrink_to_nothing_while_the_loss_goes_to_zero() -> None:
    (finding,) = check_collapse(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001))
    assert finding.message == (
        "All samples get the same embedding: the rows of `z1` and `z2` differ by 0.001 at step 300, by 0.3 at "
        "step 1, and the loss is at its floor."
    )
    assert "take `z2.detach()` as the target" in finding.fix
    assert (finding.severity, finding.where.line) == ("error", 20)


def test_one_direction_for_all_with_a_cosine_loss() -> None:
    (finding,) = check_collapse(*COSINE, *looks(0.8, 0.4, 0.1, 0.005, directions=True))
    assert "the rows of `z1` and `z2` differ in direction by 0.005 at step 300" in finding.message


def test_samples_that_differ_or_a_loss_that_does_not_fall_are_silent() -> None:
    assert not check_collapse(*FLOOR, *looks(0.8, 0.5, 0.4, 0.3))
    assert not check_collapse(*losses([1.0] * 120), *looks(0.3, 0.1, 0.02, 0.001))
    assert not check_collapse(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001, names=("logits",))), (
        "one tensor is no pair of views"
    )
    assert not check_collapse(*FLOOR, *looks(0.3, 0.1, 0.02, 0.001)[:2]), "too early"
