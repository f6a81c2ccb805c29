"""The language of conditions: what it understands, and what it says about the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from torch_debugger.probes.breakpoints_stops import StopMoment, moment_of
from torch_debugger.source.breakpoint_conditions import ConditionError, parse_break, parse_condition
from torch_debugger.system.errors import UsageError

UNDERSTOOD = [
    "nan(output)",
    "not finite(output) and step > 100",
    "norm(grad) > 100",
    "step == 500",
    "step % 100 == 0",
    "0 < mean(output) < 1",
    "any(output > 100) or all(output == 0)",
    "max(abs(output - input)) <= 1e-3",
    "shape(output)[0] != 32",
    "shape(output) == (None, 128)",
    "shape(output[0]) != (..., 3)",
    "nan(output['logits'])",
    "dtype(output) == 'float16'",
    "module == 'Linear' and zeros(output) > 0.9",
    "max(abs(parameter('weight_ih_l0'))) > 10",
    "nan(loss) or loss > 5",
    "not training",
    "-1 * min(weight) > +2 ** 3 // 2",
    "len(input) == 1 and dim(input) == 2 and numel(input) < 10",
    "device(input) != 'cpu'",
    "True",
    "  nan(output)\n  or inf(output) ",
]


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_it_understands(text: str) -> None:
    assert parse_condition(text).text == " ".join(text.splitlines()).strip()


REFUSED = {
    "": "A condition is expected, such as `nan(output)` or `norm(grad) > 100`.",
    "ouput": "There is no name `ouput` here; did you mean `output`?",
    "nan": "There is no name `nan` here; write nan(output).",
    "nam(output)": "There is no function `nam`; did you mean `nan`?",
    "nan()": "`nan` takes one thing, such as nan(output).",
    "nan(output, 3)": "`nan` takes one thing, such as nan(output).",
    "nan(x=output)": "`nan` takes one thing, such as nan(output).",
    "nan('x')": "`nan` takes a tensor or a number, and this is a text.",
    "norm(grad)": "A condition is true or false, and this is a number: compare it, such as norm(output) > 100.",
    "output > 3": "This is a tensor and not one truth: say any(output > 1), max(output) > 1 or nan(output).",
    "nan(output) and output": "This is a tensor and not one truth",
    "not output": "This is a tensor and not one truth",
    "1 < output < 3": "Tensors are compared two at a time: any(output > 1) and any(output < 2).",
    "step == 'a'": "A number cannot be compared with a text.",
    "module > 'a'": "A text is compared by == or !=, not by >.",
    "shape(output) == 3": "A shape cannot be compared with a number.",
    "shape(output) == (1.5, 2)": "A shape holds whole numbers, None for any size and ... for any number",
    "shape(output)['a'] == 3": "A number is expected in the brackets, and this is a text.",
    "step[0] == 1": "Only tensors and shapes have items, and this is a number.",
    "step + 'a' > 1": "`+` takes numbers and tensors, and this is a text.",
    "step in (1, 2)": "The comparisons here are == != < <= > >=.",
    "step @ 2 == 1": "The arithmetic here is + - * / // % **.",
    "~step == 1": "The arithmetic here is + - * / // % **.",
    "None": "A number or a text is expected here.",
    "b'x' == 1": "A number or a text is expected here.",
    "1j == 1": "A number or a text is expected here.",
    "nan(output": "This cannot be read: '(' was never closed.",
    "nan(output) nan(grad)": "This cannot be read: invalid syntax.",
    "step = 3": "This cannot be read: ",
    "output.grad": "Attributes are not part of conditions.",
    "parameter(module) == 1": "The parameter's name is expected, such as parameter('weight_ih_l0').",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text or "empty")
def test_it_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ConditionError) as raised:
        parse_condition(text)
    assert str(raised.value).startswith(REFUSED[text])
    assert isinstance(raised.value, UsageError)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch hacked')",
        "().__class__.__bases__[0].__subclasses__()",
        "(lambda: 1)() == 1",
        "[x for x in input]",
        "f'{output}' == ''",
        "nan(output) if step else True",
        "(step := 3) == 3",
        "exec('1')",
        "open('/etc/passwd')",
        "output.__reduce__()",
        "nan(*input)",
        "{'a': 1}['a'] == 1",
        "await step",
        "(yield)",
        "nan(output)[0:1]",
        "import os",
        "nan(output); step",
        "\x00",
    ],
)
def test_hostile_text_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        parse_condition(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 400 + "step" + ")" * 400 + " == 1",
        "not " * 240 + "training",
        "-" * 900 + "1 == 1",
        "+".join(["1"] * 400) + " == 1",
        "output" + "[0]" * 300 + " == 1",
        "abs(" * 150 + "step" + ")" * 150 + " == 1",
        "step == " + "9" * 2000,
    ],
    ids=["brackets", "nots", "signs", "sum", "items", "calls", "long"],
)
def test_what_is_too_deep_or_too_long_is_refused_politely(text: str) -> None:
    with pytest.raises(ConditionError) as raised:
        parse_condition(text)
    assert (
        "deep" in str(raised.value) or "at most 1000 characters" in str(raised.value) or "nested" in str(raised.value)
    )


def test_the_place_is_marked() -> None:
    with pytest.raises(ConditionError) as raised:
        parse_condition("step > 3 and nam(output)")
    assert str(raised.value).splitlines()[1:] == ["  step > 3 and nam(output)", "               ^^^"]


def test_the_place_is_marked_behind_letters_of_several_bytes() -> None:
    with pytest.raises(ConditionError) as raised:
        parse_condition("module == 'größe' and nam(output)")
    assert str(raised.value).splitlines()[2] == " " * 24 + "^^^"


@pytest.mark.parametrize(
    ("text", "expression", "glob"),
    [
        ("nan(output) @ encoder.*", "nan(output)", "encoder.*"),
        ("nan(output)@head", "nan(output)", "head"),
        ("step == 3", "step == 3", None),
        ("path == 'a@b'", "path == 'a@b'", None),
        ("path != 'a@b' @ net.*", "path != 'a@b'", "net.*"),
    ],
)
def test_the_command_line_s_form(text: str, expression: str, glob: str | None) -> None:
    condition, at = parse_break(text)
    assert (condition.text, at) == (expression, glob)


def test_a_place_is_expected_behind_the_at() -> None:
    with pytest.raises(ConditionError, match="After @ stands which modules are meant, such as `encoder"):
        parse_break("nan(output) @ ")


@pytest.mark.parametrize(
    ("text", "at", "moment"),
    [
        ("step == 3", None, StopMoment.STEP),
        ("step == 3", "head", StopMoment.CALL),
        ("nan(input)", None, StopMoment.CALL),
        ("max(weight) > 3", None, StopMoment.CALL),
        ("norm(parameter('x')) > 3", None, StopMoment.CALL),
        ("nan(input) and nan(output)", None, StopMoment.RETURN),
        ("norm(grad) > norm(output)", None, StopMoment.GRADIENT),
        ("loss > 3 and step > 10", None, StopMoment.LOSS),
        ("loss > 3 and max(output) > 1", None, StopMoment.RETURN),
    ],
)
def test_a_condition_is_asked_when_all_that_it_names_is_there(text: str, at: str | None, moment: StopMoment) -> None:
    assert moment_of(parse_condition(text), at) is moment


def test_the_language_is_read_without_torch() -> None:
    """The parent of `torch-debugger run` reads it before the script starts."""
    code = (
        "import sys\nfrom torch_debugger.source.breakpoint_conditions import parse_break\n"
        "parse_break('nan(output) @ x')\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
