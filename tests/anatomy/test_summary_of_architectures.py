"""A summary of every architecture beside torchinfo's, whose users must find the same numbers here."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torchinfo

from tests.anatomy.architectures import ARCHITECTURES, Architecture
from tests.untouched_models import model_untouched
from torch_debugger import count_parameters, flops, summary
from torch_debugger.model.summary_table import Summary, TableStyle, chosen_columns

# Where torchinfo is wrong: each weight of a tied pair, the last entry of a dictionary, no keywords; and it
# refuses dataclasses.
TIED = {"gpt", "tied"}
LAST_ENTRY = {"dict-output", "own-parameters"}
NOT_SEEN = {"keywords"}
REFUSED = {"dataclass-output"}
INSIDE_TORCH = {"ParametrizationList", "_SpectralNorm", "_WeightNorm"}  # rows that belong to a layer's weight


def every_architecture(look: Callable[[str], None]) -> Callable[[], None]:
    """A test that looks at each, and names all that are not as they should be."""

    def test() -> None:
        complaints = []
        for name in ARCHITECTURES:
            try:
                look(name)
            except Exception as error:
                complaints.append(f"{name}: {type(error).__name__}: {error}")
        assert not complaints, "\n\n".join(complaints)

    return test


@functools.cache
def summed(name: str, device: str | None = None) -> Summary:
    arguments, keywords = ARCHITECTURES[name].inputs()
    return summary(ARCHITECTURES[name].model(), input_data=keywords or arguments, verbose=0, device=device)


def torchinfos(architecture: Architecture) -> Any:
    arguments, keywords = architecture.inputs()
    return torchinfo.summary(architecture.model(), input_data=keywords or list(arguments), verbose=0)


def called(result: Summary) -> list[tuple[str, list[int], list[int]]]:
    """Class, first input and first output of every call."""
    once = [((row.kind, row.input_size, row.output_size), row.calls) for row in result.rows if row.called]
    return sorted([call for call, times in once for _ in range(times)], key=str)


def their_calls(theirs: Any) -> list[tuple[str, list[int], list[int]]]:
    rows = [row for row in theirs.summary_list if row.executed and row.class_name not in INSIDE_TORCH]
    return sorted(
        [(row.class_name.removeprefix("Parametrized"), row.input_size, row.output_size) for row in rows],
        key=str,
    )


@every_architecture
def test_parameters_are_those_the_model_has(name: str) -> None:
    model = ARCHITECTURES[name].model()
    result = summed(name)
    assert result.total_params == sum(value.numel() for value in model.parameters())
    assert result.trainable_params == sum(value.numel() for value in model.parameters() if value.requires_grad)
    assert result.total_param_bytes == sum(value.nbytes for value in model.parameters())
    assert list(count_parameters(model)) == [result.total_params, result.trainable_params]


@every_architecture
def test_parameters_and_sizes_are_torchinfos_where_it_is_right(name: str) -> None:
    if name in REFUSED:
        return
    theirs, ours = torchinfos(ARCHITECTURES[name]), summed(name)
    if name not in TIED:
        assert (ours.total_params, ours.trainable_params) == (theirs.total_params, theirs.trainable_params)
    own, other = called(ours), their_calls(theirs)
    if name in LAST_ENTRY | NOT_SEEN:
        own, other = ([call for call in calls if call[0] != ours.model] for calls in (own, other))
    assert own == other


@every_architecture
def test_a_run_on_shapes_sees_what_a_real_one_sees(name: str) -> None:
    real, shapes = summed(name), summed(name, "meta")
    if name == "experts":
        assert shapes.ran == "" and "needs the values of tensors" in shapes.notes[0]
        return
    assert (real.ran, shapes.ran) == ("for real", "on shapes")
    assert called(shapes) == called(real)
    assert shapes.total == real.total
    assert [row.own for row in shapes.rows] == [row.own for row in real.rows]


@every_architecture
def test_operations_are_those_that_flops_counts(name: str) -> None:
    architecture = ARCHITECTURES[name]
    arguments, keywords = architecture.inputs()
    count = flops(architecture.model().eval(), *arguments, **keywords)
    assert summed(name).macs == count.macs
    assert summed(name).flops == count.flops


@every_architecture
def test_every_column_sums_up_to_its_total_at_every_depth(name: str) -> None:
    result = summed(name)
    columns = chosen_columns(["num_params", "mult_adds"], has_input=True)
    for depth in range(5):
        shown = Summary(result.rows, result.inputs, "", (), TableStyle(columns, depth, 99, frozenset()))
        table = str(shown).splitlines()[3:-4]
        numbers = [re.split(r"\s{2,}", line)[-2:] for line in table]
        assert sum(_number(params) for params, _ in numbers) == result.total_params, f"depth {depth}"
        assert sum(_number(macs) for _, macs in numbers) == result.macs, f"depth {depth}"


def _number(text: str) -> int:
    """A row that adds nothing says (tied), (reused) or --; frozen ones are in brackets; 3 × 72 are 216."""
    several, _, count = text.rpartition(" \N{MULTIPLICATION SIGN} ")
    count = count.strip("()").replace(",", "")
    return int(several or 1) * int(count) if count.isdigit() else 0


@every_architecture
def test_a_summary_leaves_nothing_behind(name: str) -> None:
    model = ARCHITECTURES[name].model()
    next(iter(model.children()), model).eval()  # part of it in another mode
    arguments, keywords = ARCHITECTURES[name].inputs()
    with model_untouched(model, *arguments, *keywords.values()):
        for device in (None, "meta"):
            summary(model, input_data=keywords or arguments, verbose=0, device=device, mode="train")


def test_an_architecture_that_is_not_as_it_should_be_is_named() -> None:
    @every_architecture
    def test(name: str) -> None:
        assert name != "gpt"

    with pytest.raises(AssertionError) as told:
        test()
    assert re.findall(r"^(\S+): AssertionError", str(told.value), re.MULTILINE) == ["gpt"]


def test_thirty_architectures_are_compared() -> None:
    assert len(ARCHITECTURES) >= 30
    assert len({type(architecture.model()) for architecture in ARCHITECTURES.values()}) >= 30


def test_the_sizes_of_weights_in_other_precisions_are_told() -> None:
    model = ARCHITECTURES["gpt"].model().to(torch.bfloat16)
    arguments, _ = ARCHITECTURES["gpt"].inputs()
    result = summary(model, input_data=arguments, verbose=0)
    assert result.total_param_bytes == 2 * result.total_params
    assert result["lm_head"].dtype == "bfloat16"
