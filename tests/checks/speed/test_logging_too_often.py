from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import LOOP, STEP, Library, Path, Users, speed_settings, training
from tests.fakes import judged, place
from torch_debugger.records import Finding, LossSite, Place, Record, SampledStacks

PRINT = Users(17, 'print(step, loss.item(), "of all")')
_PACKAGES = "/v/lib/python3.11/site-packages"
WRITER = Library("SummaryWriter.add_histogram", f"{_PACKAGES}/torch/utils/tensorboard/writer.py")


def check(paths: dict[Path, int], count: int = 200, **parts_s: float) -> list[Finding]:
    return judged(training(paths, count, **parts_s), "logging-too-often")


def test_a_line_that_prints_in_every_step_is_named_with_what_it_costs() -> None:
    (finding,) = check({(PRINT,): 40})
    assert finding.severity == "warning"
    assert finding.message == (
        'Logging in every step takes 8 ms of the 20 ms of each step: `print(step, loss.item(), "of all")`.'
    )
    assert finding.fix == (
        "Write `if step % 50 == 0:` in front of it. Expected to save about 39 % of each step (7.84 ms)."
    )
    assert finding.edit is not None
    assert finding.edit.after == 'if step % 50 == 0:\n    print(step, loss.item(), "of all")'
    assert finding.where.line == 17
    assert finding.evidence["expected_gain"] == pytest.approx(0.392)
    assert (finding.evidence["lines_s"], finding.evidence["step_s"]) == (
        pytest.approx(0.008),
        pytest.approx(0.02),
    )


def test_the_loops_own_counter_is_used_and_without_one_the_words_say_how_often() -> None:
    counted = place(10, code="for i, (x, y) in enumerate(loader):")
    stacks = training({(Users(17, "print(loss)", (counted,)),): 40})
    plain = place(10, code="for x, y in loader:")
    assert not judged(stacks, "logging-too-often"), "another loop than the one that trains"
    for loop, words in ((counted, "Write `if i % 50 == 0:`"), (plain, "Run it every 50 steps only.")):
        inside = {(Users(17, "print(loss)", (loop,)),): 40}
        records = _in_loop(inside, loop)
        (finding,) = judged(records, "logging-too-often")
        assert finding.fix.startswith(words)


def _in_loop(paths: dict[Path, int], loop: Place) -> list[Record]:
    """The same training, in another loop."""
    records: list[Record] = []
    for record in training(paths):
        if isinstance(record, SampledStacks):
            nodes = [dataclasses.replace(node, loops=(loop,) if node.loops else ()) for node in record.nodes]
            record = dataclasses.replace(record, nodes=tuple(nodes))
        elif isinstance(record, LossSite):
            record = dataclasses.replace(record, loop=loop)
        records.append(record)
    return records


def test_loggers_and_plotters_are_known_by_their_files() -> None:
    line = Users(17, 'writer.add_histogram("w", weight, step)')
    (finding,) = check({(line, WRITER, Library("sort", "/lib/numpy/fromnumeric.py")): 30})
    assert finding.where.line == 17
    read = Users(12, "x, y = read(index)")
    assert not check({(read, Library("read_csv", "/lib/pandas/io.py")): 30})


@pytest.mark.parametrize(
    "code",
    ["history[name].append((p.grad.norm().item(), p.std().item()))", "norms[name] = p.grad.norm().item()"],
)
def test_numbers_that_are_kept_in_every_step_are_a_log_too(code: str) -> None:
    (finding,) = check({(Users(17, code),): 40})
    assert finding.where.line == 17
    norm = Library("norm", f"{_PACKAGES}/torch/functional.py")
    assert check({(Users(17, code), norm): 40})
    assert not check({(Users(17, code), Library("_call_impl", f"{_PACKAGES}/torch/nn/modules/module.py")): 40})
    assert not check({(Users(17, "memory.append((state, action))"),): 40})
    assert not check({(Users(17, "if totals[0] == other.item():"),): 40})


@pytest.mark.parametrize("inside", ["torch/nn/modules/conv.py", "numpy/aim/core.py"])
def test_a_folder_named_like_a_logger_makes_no_logger_of_what_lies_in_it(inside: str) -> None:
    file = f"/home/u/mlflow/.venv/lib/python3.11/site-packages/{inside}"
    assert not check({(Users(17, "loss = model(x)"), Library("forward", file)): 30})


def test_on_a_gpu_the_wait_for_the_device_is_no_time_of_the_line() -> None:
    """print(step, loss.item()): the host stands there for most of each step, the device works on."""
    records = training({(Users(17, "print(step, loss.item())"),): 90})
    assert judged(records, "logging-too-often")
    assert not judged([speed_settings("cuda"), *records], "logging-too-often")
    idle = training({(PRINT,): 90}, forward=0.01, backward=0.01, logging=0.02)
    (finding,) = judged([speed_settings("cuda"), *idle], "logging-too-often")
    assert finding.evidence["expected_gain"] == pytest.approx(0.5), "no more than the device stands idle there"


def test_a_function_of_the_users_counts_as_a_whole_where_much_of_it_writes() -> None:
    call = Users(17, "log(history, step, model)")
    write = Users(40, "history.write(json.dumps(row))", ())
    compute = Users(39, "row = numbers_of(model)", ())
    (finding,) = check({(call, write): 20, (call, compute): 30})
    assert finding.where.line == 17
    assert finding.evidence["expected_gain"] == pytest.approx(0.49)
    (small,) = check({(call, write): 10, (call, compute, Library("f", "/lib/x.py")): 20})
    assert small.where.line == 17
    assert not check({(call, write): 5, (call, compute): 55}), "a twelfth of it writes"


def test_a_call_that_trains_does_not_count_as_a_whole() -> None:
    call = Users(17, "train_step(model, batch)")
    write = Users(40, "print(loss)", ())
    inner = Users(41, "optimizer.step()", ())
    update = Library("Optimizer.profile_hook_step.<locals>.wrapper", "/lib/torch/optim/optimizer.py")
    (finding,) = check({(call, write): 30, (call, inner, update): 10, (STEP,): 1})
    assert finding.where.line == 40
    assert finding.evidence["expected_gain"] == pytest.approx(0.294)
    assert finding.edit is None


@pytest.mark.parametrize(
    "line",
    [
        Users(17, "print(loss)", condition=16),
        Users(30, "print(epoch)", (place(8, code="for epoch in range(3):"),)),
        Users(17, "metrics.update(loss)"),
    ],
    ids=["under a condition", "once an epoch", "no log"],
)
def test_rare_lines_and_others_are_silent(line: Users) -> None:
    assert not check({(line,): 40})


def test_a_condition_around_the_whole_loop_is_none() -> None:
    assert check({(Users(17, "print(loss)", (LOOP,), condition=4),): 40})


def test_a_condition_in_a_function_that_is_called_counts() -> None:
    assert not check({(Users(17, "log(step)"), Users(40, "print(step)", (), condition=39)): 40})


def test_little_is_not_worth_an_edit() -> None:
    assert not check({(PRINT,): 4})
    (note,) = check({(PRINT,): 15})
    assert note.severity == "note"


def test_short_runs_and_short_lines_are_silent() -> None:
    assert not check({(PRINT,): 40}, count=60), "1.2 s in all"
    assert not check({(PRINT,): 40}, count=3000, forward=0.001), "0.4 ms a step"


def test_too_few_samples_are_silent() -> None:
    assert not check({(PRINT,): 9}), "nine samples in the line"
