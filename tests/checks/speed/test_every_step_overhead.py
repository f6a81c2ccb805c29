from __future__ import annotations

import dataclasses

import pytest

from tests.checks.speed.sampled_loops import LOOP, STEP, Library, Path, Users, speed_settings, training
from tests.fakes import judged, only, place
from torch_debugger.records import Finding, LossSite, Place, Record, SampledStacks

PRINT = Users(17, 'print(step, loss.item(), "of all")')
_PACKAGES = "/v/lib/python3.11/site-packages"
WRITER = Library("SummaryWriter.add_histogram", f"{_PACKAGES}/torch/utils/tensorboard/writer.py")


def logged(paths: dict[Path, int], count: int = 200, **parts_s: float) -> list[Finding]:
    return judged(training(paths, count, **parts_s), "logging-too-often")


def test_a_line_that_prints_in_every_step_is_named_with_what_it_costs() -> None:
    (finding,) = logged({(PRINT,): 40})
    assert finding.message == (
        'Logging in every step takes 8 ms of the 20 ms of each step: `print(step, loss.item(), "of all")`.'
    )
    assert finding.fix == (
        "Write `if step % 50 == 0:` in front of it. Expected to save about 39 % of each step (7.84 ms)."
    )
    assert finding.edit and finding.edit.after == 'if step % 50 == 0:\n    print(step, loss.item(), "of all")'
    assert (finding.severity, finding.where.line) == ("warning", 17)
    assert finding.evidence["expected_gain"] == pytest.approx(0.392)
    assert (finding.evidence["lines_s"], finding.evidence["step_s"]) == (pytest.approx(0.008), pytest.approx(0.02))


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
    assert only(logged({(line, WRITER, Library("sort", "/lib/numpy/fromnumeric.py")): 30})).where.line == 17
    read = Users(12, "x, y = read(index)")
    assert not logged({(read, Library("read_csv", "/lib/pandas/io.py")): 30})


@pytest.mark.parametrize(
    "code", ["history[name].append((p.grad.norm().item(), p.std().item()))", "norms[name] = p.grad.norm().item()"]
)
def test_numbers_that_are_kept_in_every_step_are_a_log_too(code: str) -> None:
    assert only(logged({(Users(17, code),): 40})).where.line == 17
    norm = Library("norm", f"{_PACKAGES}/torch/functional.py")
    assert logged({(Users(17, code), norm): 40})
    assert not logged({(Users(17, code), Library("_call_impl", f"{_PACKAGES}/torch/nn/modules/module.py")): 40})
    assert not logged({(Users(17, "memory.append((state, action))"),): 40})
    assert not logged({(Users(17, "if totals[0] == other.item():"),): 40})


@pytest.mark.parametrize("inside", ["torch/nn/modules/conv.py", "numpy/aim/core.py"])
def test_a_folder_named_like_a_logger_makes_no_logger_of_what_lies_in_it(inside: str) -> None:
    file = f"/home/u/mlflow/.venv/lib/python3.11/site-packages/{inside}"
    assert not logged({(Users(17, "loss = model(x)"), Library("forward", file)): 30})


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
    (finding,) = logged({(call, write): 20, (call, compute): 30})
    assert finding.where.line == 17
    assert finding.evidence["expected_gain"] == pytest.approx(0.49)
    assert only(logged({(call, write): 10, (call, compute, Library("f", "/lib/x.py")): 20})).where.line == 17
    assert not logged({(call, write): 5, (call, compute): 55}), "a twelfth of it writes"


def test_a_call_that_trains_does_not_count_as_a_whole() -> None:
    call = Users(17, "train_step(model, batch)")
    write = Users(40, "print(loss)", ())
    inner = Users(41, "optimizer.step()", ())
    update = Library("Optimizer.profile_hook_step.<locals>.wrapper", "/lib/torch/optim/optimizer.py")
    (finding,) = logged({(call, write): 30, (call, inner, update): 10, (STEP,): 1})
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
    assert not logged({(line,): 40})


def test_conditions_count_where_they_stand_around_the_line_alone() -> None:
    assert logged({(Users(17, "print(loss)", (LOOP,), condition=4),): 40}), "a condition around the whole loop is none"
    # a condition in a function that is called counts
    assert not logged({(Users(17, "log(step)"), Users(40, "print(step)", (), condition=39)): 40})


def test_a_little_logging_is_not_worth_an_edit() -> None:
    assert not logged({(PRINT,): 4})
    assert only(logged({(PRINT,): 15})).severity == "note"


def test_short_runs_and_few_samples_are_silent() -> None:
    assert not logged({(PRINT,): 40}, count=60), "1.2 s in all"
    assert not logged({(PRINT,): 40}, count=3000, forward=0.001), "0.4 ms a step"
    assert not logged({(PRINT,): 9}), "nine samples in the line"


SAVE = Users(18, 'torch.save(model.state_dict(), "latest.pt")')
TORCH = Library("save", "/lib/torch/serialization.py")


def saved(paths: dict[Path, int]) -> list[Finding]:
    return judged(training(paths), "checkpoint-each-step")


def test_a_save_in_every_step_is_named_with_what_it_costs() -> None:
    (finding,) = saved({(SAVE, TORCH): 45})
    assert finding.message == (
        'Saving in every step takes 9 ms of the 20 ms of each step: `torch.save(model.state_dict(), "latest.pt")`.'
    )
    assert finding.fix == (
        "Write `if step % 500 == 0:` in front of it, or move it behind the loop, to the end of the epoch. "
        "Expected to save about 45 % of each step (8.98 ms)."
    )
    assert finding.edit is not None and finding.edit.after.startswith("if step % 500 == 0:\n    torch.save(")
    assert (finding.severity, finding.where.line) == ("warning", 18)


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("model.save_pretrained(folder)", Library("PreTrainedModel.save_pretrained", "/lib/transformers/x.py")),
        ("save_file(weights, path)", Library("save_file", "/lib/safetensors/torch.py")),
        ("pickle.dump(weights, file)", Library("Tensor.__reduce_ex__", "/lib/torch/_tensor.py")),
    ],
)
def test_other_ways_to_save(code: str, called: Library) -> None:
    assert only(saved({(Users(18, code), called): 45})).where.code == code


def test_a_method_that_saves_is_named_where_the_loop_calls_it() -> None:
    (finding,) = saved({(Users(18, "self.save()"), Users(40, "torch.save(state, path)", ()), TORCH): 45})
    assert finding.where.line == 18


@pytest.mark.parametrize(
    "line",
    [
        Users(18, "torch.save(state, path)", condition=17),
        Users(30, "torch.save(state, path)", (place(8, code="for epoch in range(3):"),)),
    ],
    ids=["when it is the best", "once an epoch"],
)
def test_rare_saves_are_silent(line: Users) -> None:
    assert not saved({(line, TORCH): 45})


def test_other_functions_and_small_models_are_silent() -> None:
    # other functions of that name
    assert not saved({(Users(18, "figure.save(path)"), Library("Image.save", "/lib/PIL/Image.py")): 45})
    assert not saved({(SAVE, TORCH): 4}), "a small model is saved in no time"


COLLECT = Users(18, "gc.collect()")


def cleaned(paths: dict[Path, int]) -> list[Finding]:
    return judged(training(paths), "memory-cleaned-each-step")


def test_a_collection_in_every_step_is_to_be_deleted() -> None:
    (finding,) = cleaned({(COLLECT,): 60})
    assert finding.severity == "warning"
    assert finding.message == ("Cleaning memory in every step takes 12 ms of the 20 ms of each step: `gc.collect()`.")
    assert finding.fix == (
        "Delete the line, or run it once an epoch. Expected to save about 60 % of each step (12 ms)."
    )
    assert "finds only cycles" in finding.why
    assert finding.edit is not None and (finding.edit.before, finding.edit.after) == ("gc.collect()", "")


def test_the_cache_of_the_device_has_its_own_reason() -> None:
    line = Users(18, "torch.cuda.empty_cache()")
    (finding,) = cleaned({(line, Library("empty_cache", "/lib/torch/cuda/memory.py")): 30})
    assert "the next step has to ask for the same memory again" in finding.why


def test_a_function_that_cleans_is_named_where_the_loop_calls_it() -> None:
    assert only(cleaned({(Users(18, "free_memory()"), Users(4, "gc.collect()", ())): 60})).where.line == 18


@pytest.mark.parametrize(
    "line",
    [
        Users(18, "gc.collect()", condition=17),
        Users(30, "gc.collect()", (place(8, code="for epoch in range(3):"),)),
        Users(18, "self.collect(batch)"),
    ],
    ids=["now and then", "once an epoch", "something else"],
)
def test_rare_collections_and_others_are_silent(line: Users) -> None:
    assert not cleaned({(line,): 60})


def test_a_little_cleaning_is_not_worth_an_edit() -> None:
    assert not cleaned({(COLLECT,): 4})
