from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.checks.speed.sampled_loops import BACKWARD, Users, sampled
from tests.fakes import findings_of, judged, place, scalars
from torch_debugger.checks.base import RunState
from torch_debugger.checks.speed.slowdown_and_memory_leak import StepsGetSlower
from torch_debugger.records import (
    Finding,
    HeldByVariable,
    KeptGraphs,
    MemoryLook,
    PassFact,
    Place,
    RankFact,
    Record,
    Request,
    RootInput,
)

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


def slower(records: list[Record]) -> list[Finding]:
    return judged(records, "steps-get-slower")


def test_the_part_and_the_line_that_grow_are_named_with_their_times() -> None:
    finding = slower(training())[-1]
    assert finding.message.startswith("Steps take longer and longer: ")
    assert finding.message.endswith(
        "at step 400, with inputs of the same sizes. What grows is what comes between the update and the next "
        f"batch, most of all at `{MEAN.code}`."
    )
    assert finding.fix == (
        f"Bound what `{MEAN.code}` works through: count up instead of keeping everything (`total += value`), "
        "or keep the last entries only (`history = history[-1000:]`, `collections.deque(maxlen=1000)`)."
    )
    assert (finding.severity, finding.where.line) == ("warning", MEAN.line)
    assert 1.5 < finding.evidence["rise"] < 3.0


def test_a_backward_pass_that_grows_is_a_graph_of_earlier_steps() -> None:
    made = training(lambda step: 0.006 + growing(step), "backward")
    finding = slower(made)[-1]
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


def test_steps_that_stay_as_they_are_or_jump_or_rise_little_are_silent() -> None:
    assert not slower(training(lambda step: 0.005)), "steps that stay as they are"
    # Somebody else began to use the machine.
    assert not slower(training(lambda step: 0.002 if step < 200 else 0.03)), "a jump is no growth"
    assert not slower(training(lambda step: 0.002 + 0.00001 * step)), "less than half slower"
    assert not slower(training(lambda step: growing(4 * step) / 4, count=100)), "short runs"


def test_time_in_line_for_a_core_is_not_the_script_s() -> None:
    assert not slower(training(queued=lambda step: growing(step) - growing(0)))
    assert slower(training(queued=lambda step: 0.002)), "a busy machine hides nothing"
    assert not slower(training(queued=lambda step: 0.03 if step < 150 else 0.0)), "nothing is known of its start"


def test_a_machine_that_gets_slower_is_not_the_script_s_fault() -> None:
    made: list[Record] = [size(1, 64, 10)]
    for step in range(1, 401):
        parts_s = {"forward": 0.1 * growing(step), "backward": growing(step), "optimizer": 0.1 * growing(step)}
        made.append(scalars(step, {f"split/{name}_s": value for name, value in parts_s.items()}, loss=1.0))
        if step in (100, 300):
            made += [sampled({(MEAN,): 10, (BACKWARD,): 5}, step), size(step, 64, 10)]
    assert not slower(made)


def test_of_several_ranks_the_wait_for_the_slowest_is_not_the_script_s() -> None:
    rank = RankFact(0, 0, 2, "gloo", "here", 100)
    assert slower([rank, *training(lambda step: 0.006 + growing(step), "backward")]) == []
    assert slower([rank, *training()]) != []


def test_larger_inputs_explain_it() -> None:
    assert not slower([*training()[:300], size(250, 64, 20), *training()[300:]])
    assert not slower([*training()[:300], size(250, 128, 10), *training()[300:]])
    assert slower([*training()[:300], size(250, 13, 10), *training()[300:]])  # the last one of a pass


def test_sizes_must_be_known_after_the_first_quarter() -> None:
    made = [record for record in training() if not isinstance(record, RootInput) or record.step == 1]
    assert not slower(made)
    assert slower([*made[:100], size(100, 64, 10), *made[100:]])


def test_growth_that_no_part_explains_is_silent() -> None:
    made: list[Record] = [size(1, 64, 10)]
    for step in range(1, 401):
        parts_s = dict.fromkeys(("forward", "backward", "optimizer", "data_wait"), growing(step))
        made.append(scalars(step, {f"split/{name}_s": value for name, value in parts_s.items()}, loss=1.0))
        if step in (100, 300):
            made += [sampled({(MEAN,): 10, (BACKWARD,): 5}, step), size(step, 64, 10)]
    assert not slower(made)


MB = 2**20
APPEND = place(22, code="features.append(z.detach())")


def pass_end(step: int, updates: int = 10) -> PassFact:
    return PassFact(step, 0, Place(), 10, updates, updates, (), True, step, False)


def look(step: int, entries: int, *, each: int = MB, **held: object) -> MemoryLook:
    facts: dict[str, object] = {"grown": True, "since": 2, "place": APPEND, "added": "z.detach()", **held}
    variable = HeldByVariable("features", entries * each, entries, **facts)  # type: ignore[arg-type]
    parts = {"parameters": 20 * MB, "kept": entries * each}
    return MemoryLook(step, "cpu", "after the update", parts, (), (variable,))


GROWS: list[Record] = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60)]
pile_up = findings_of("tensors-pile-up")


def with_looks(**changes: object) -> list[Record]:
    return [
        dataclasses.replace(record, **changes) if isinstance(record, MemoryLook) else record  # type: ignore[arg-type]
        for record in GROWS
    ]


def test_a_list_that_outlives_epochs_is_named_with_its_bytes_and_its_growth() -> None:
    (finding,) = pile_up(*GROWS)
    assert finding.message == (
        "`features` holds 60 tensors of 62.9 MB on the CPU, 75 % of all that is in use, and gets 1.05 MB more "
        "with every step: 2 passes over the data have ended and none of it was let go."
    )
    assert finding.fix == (
        "Empty it when an epoch is over, `features.clear()`, or keep what you compute of the tensors instead "
        "of them: that frees 62.9 MB now and 1.05 GB with every 1,000 steps to come."
    )
    assert (finding.severity, finding.where.line, finding.first_step, finding.last_step) == ("warning", 22, 2, 61)
    assert finding.evidence["expected_gain"] == 0.75


def test_on_a_gpu_the_memory_of_the_machine_is_a_way_out() -> None:
    (finding,) = pile_up(*with_looks(device="cuda:0"))
    assert "on cuda:0" in finding.message
    assert finding.fix.endswith("add `z.detach().cpu()`: the memory of the GPU stays free.")


def test_a_small_share_is_a_note_and_a_smaller_one_is_silent() -> None:
    found = pile_up(*with_looks(parts={"parameters": 500 * MB, "kept": 60 * MB}))
    assert [finding.severity for finding in found] == ["note"]
    assert not pile_up(*with_looks(parts={"parameters": 2000 * MB, "kept": 60 * MB}))


def test_what_may_be_the_list_of_one_epoch_or_does_not_grow_is_silent() -> None:
    assert not pile_up(look(3, 2), look(10, 9), look(18, 17), pass_end(20), look(61, 60)), "one pass"
    evaluations = [each if isinstance(each, MemoryLook) else pass_end(10, updates=0) for each in GROWS]
    assert not pile_up(*evaluations)
    emptied = [look(3, 2), look(10, 9), pass_end(10), look(18, 7, since=11), pass_end(20)]
    assert not pile_up(*emptied, look(61, 60, since=21))
    full = [look(3, 2), look(10, 60), pass_end(10), look(18, 60), pass_end(20), look(61, 60)]
    assert not pile_up(*full), "a cache that has everything after one epoch"
    slow = [look(3, 50), look(10, 51), pass_end(10), look(18, 52), pass_end(20), look(61, 60)]
    assert not pile_up(*slow), "one entry for many steps: checkpoints"
    assert not pile_up(look(3, 2), pass_end(10), look(18, 17), pass_end(20), look(61, 60)), "three looks"
    bounded = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60, grown=False)]
    assert not pile_up(*bounded), "a deque with a maxlen"
    # little memory and kept graphs are none of its business
    small = [look(3, 2), look(10, 9), pass_end(10), look(18, 17), pass_end(20), look(61, 60, each=MB // 2)]
    assert not pile_up(*small)
    assert not pile_up(KeptGraphs("features", "container", 3, 2, False, APPEND, "z", 5), *GROWS)
