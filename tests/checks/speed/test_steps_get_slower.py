from __future__ import annotations

from collections.abc import Callable

from tests.checks.speed.sampled_loops import BACKWARD, Users, sampled
from tests.fakes import judged, place, scalars
from torch_debugger.checks.base import RunState
from torch_debugger.checks.speed.slowdown_and_memory_leak import StepsGetSlower
from torch_debugger.records import Finding, RankFact, Record, Request, RootInput

MEAN = Users(16, "accuracy = np.mean(np.array(predicted) == np.array(true))")
INPUT = "net"


def size(step: int, *shape: int) -> RootInput:
    return RootInput(INPUT, True, shape, 0.0, 1.0, place(12, code="net(x)"), step)


def growing(step: int) -> float:
    return 0.002 + 0.00005 * step


def training(
    slow: Callable[[int], float] = growing,
    part: str = "logging",
    count: int = 400,
    queued: Callable[[int], float] = lambda step: 0.0,
) -> list[Record]:
    """Steps of 10 ms, one part that takes as long as said, and what of a step is spent waiting for a core."""
    made: list[Record] = [size(1, 64, 10)]
    queued_s = 0.0
    for step in range(1, count + 1):
        parts_s = {"forward": 0.004, "backward": 0.006, part: slow(step)}
        split = {f"split/{name}_s": value for name, value in parts_s.items()}
        queued_s += queued(step)
        made.append(scalars(step, {**split, "time/queued_s": queued_s}, loss=1.0))
        if step in (100, 300):
            made.append(sampled({(MEAN,): 10 if step == 100 else 40}, step))
            made.append(size(step, 64, 10))
    return made


def check(records: list[Record]) -> list[Finding]:
    return judged(records, "steps-get-slower")


def test_the_part_and_the_line_that_grow_are_named_with_their_times() -> None:
    finding = check(training())[-1]
    assert finding.severity == "warning"
    assert finding.message.startswith("Steps take longer and longer: ")
    assert finding.message.endswith(
        "at step 400, with inputs of the same sizes. What grows is what comes between the update and the next "
        f"batch, most of all at `{MEAN.code}`."
    )
    assert finding.fix == (
        f"Bound what `{MEAN.code}` works through: count up instead of keeping everything (`total += value`), "
        "or keep the last entries only (`history = history[-1000:]`, `collections.deque(maxlen=1000)`)."
    )
    assert finding.where.line == MEAN.line
    assert 1.5 < finding.evidence["rise"] < 3.0


def test_a_backward_pass_that_grows_is_a_graph_of_earlier_steps() -> None:
    made = training(lambda step: 0.006 + growing(step), "backward")
    finding = check(made)[-1]
    assert "What grows is the backward pass" in finding.message
    assert "`state = state.detach()`" in finding.fix


def test_a_profile_is_asked_for_once() -> None:
    rule, state = StepsGetSlower(), RunState()
    wishes = []
    for record in training():
        state.see(record)
        wishes += [finding.request for finding in rule.see(record, state)]
    assert wishes[0] == Request(5, reason="steps-get-slower", profile=True)
    assert wishes[1:] and not any(wishes[1:])


def test_steps_that_stay_as_they_are_are_silent() -> None:
    assert not check(training(lambda step: 0.005))


def test_a_jump_is_no_growth() -> None:
    """Somebody else began to use the machine."""
    assert not check(training(lambda step: 0.002 if step < 200 else 0.03))


def test_time_in_line_for_a_core_is_not_the_script_s() -> None:
    assert not check(training(queued=lambda step: growing(step) - growing(0)))
    assert check(training(queued=lambda step: 0.002)), "a busy machine hides nothing"
    assert not check(training(queued=lambda step: 0.03 if step < 150 else 0.0)), "nothing is known of its start"


def test_a_machine_that_gets_slower_is_not_the_script_s_fault() -> None:
    made: list[Record] = [size(1, 64, 10)]
    for step in range(1, 401):
        parts_s = {"forward": 0.1 * growing(step), "backward": growing(step), "optimizer": 0.1 * growing(step)}
        made.append(scalars(step, {f"split/{name}_s": value for name, value in parts_s.items()}, loss=1.0))
        if step in (100, 300):
            made += [sampled({(MEAN,): 10, (BACKWARD,): 5}, step), size(step, 64, 10)]
    assert not check(made)


def test_of_several_ranks_the_wait_for_the_slowest_is_not_the_script_s() -> None:
    rank = RankFact(0, 0, 2, "gloo", "here", 100)
    assert check([rank, *training(lambda step: 0.006 + growing(step), "backward")]) == []
    assert check([rank, *training()]) != []


def test_less_than_half_slower_is_silent() -> None:
    assert not check(training(lambda step: 0.002 + 0.00001 * step))


def test_larger_inputs_explain_it() -> None:
    assert not check([*training()[:300], size(250, 64, 20), *training()[300:]])
    assert not check([*training()[:300], size(250, 128, 10), *training()[300:]])
    assert check([*training()[:300], size(250, 13, 10), *training()[300:]])  # the last one of a pass


def test_sizes_must_be_known_after_the_first_quarter() -> None:
    made = [record for record in training() if not isinstance(record, RootInput) or record.step == 1]
    assert not check(made)
    assert check([*made[:100], size(100, 64, 10), *made[100:]])


def test_short_runs_are_silent() -> None:
    assert not check(training(lambda step: growing(4 * step) / 4, count=100))


def test_growth_that_no_part_explains_is_silent() -> None:
    made: list[Record] = [size(1, 64, 10)]
    for step in range(1, 401):
        parts_s = dict.fromkeys(("forward", "backward", "optimizer", "data_wait"), growing(step))
        made.append(scalars(step, {f"split/{name}_s": value for name, value in parts_s.items()}, loss=1.0))
        if step in (100, 300):
            made += [sampled({(MEAN,): 10, (BACKWARD,): 5}, step), size(step, 64, 10)]
    assert not check(made)
