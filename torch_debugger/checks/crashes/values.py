"""TD969: None was used where a tensor was meant."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import (
    Blame,
    a_kind,
    line_text,
    place_text,
    product_text,
    shape_text,
)
from torch_debugger.checks.crashes.user_code import (
    Change,
    line_replaced,
    respelled,
    statement_place,
    with_change,
    written,
)
from torch_debugger.records import CrashFact, Operand
from torch_debugger.records.crash import AbsentValue, AssertionEvidence, NumberEvidence
from torch_debugger.records.crash_modules import ValueFact


# None where a tensor was meant: which expression, and why it has no value.
def explain_absent_value(crash: CrashFact) -> Blame | None:
    absent = crash.evidence.absent
    if absent is None:
        return None
    updates = crash.evidence.autograd
    if absent.form == "grad" and updates is not None and updates.rebound:
        return None  # an update put another tensor in its place: loss-without-graph says so
    told, why, fix = _of_gradient(absent) if absent.form == "grad" else _without_value(absent)
    evidence: dict[str, float | str] = {"is None": absent.expression}
    evidence |= {"parameter": absent.parameter} if absent.parameter else {}
    evidence |= {"also without": ", ".join(absent.others)} if absent.others else {}
    evidence |= {"cause": line_text(absent.cause)} if absent.cause.file else {}
    return Blame(
        message=f"`{absent.expression}` is None at {place_text(absent.place)}: {told}.",
        why=why,
        fix=fix,
        where=absent.place,
        evidence=evidence | {"line": line_text(absent.place)},
        confidence=0.93,
    )


def _of_gradient(absent: AbsentValue) -> tuple[str, str, str]:
    name, cause = f"`{absent.parameter or absent.tensor}`", absent.cause
    skip = f"Where parameters without a gradient are to be expected, ask first: `if {absent.expression} is not None:`."
    owner = absent.parameter.rpartition(".")[0] or absent.parameter
    match absent.reason:
        case "not-a-leaf":
            return (
                f"{name} is the result of an op, and backward keeps gradients of leaves only",
                "Gradients of tensors in the middle of the graph are dropped once they have been passed on.",
                f"Call `{absent.tensor}.retain_grad()` before the backward.",
            )
        case "not-recorded":
            return (
                f"{name} does not require a gradient, so backward computes none for it",
                "Data has no `requires_grad` unless it is asked for.",
                f"Write `{absent.tensor}.requires_grad_()` before the forward whose gradient is wanted.",
            )
        case "frozen":
            return (
                f"{name} has requires_grad=False{f' (frozen at {line_text(cause)})' if cause.file else ''}",
                "A frozen parameter gets no gradient, and its `.grad` stays None.",
                f"Leave frozen parameters out: `if {absent.tensor}.requires_grad:`. If it is to be trained, unfreeze "
                "it before the optimizer is made.",
            )
        case "cleared":
            return (
                f"the gradients were cleared at {place_text(cause)}, after the backward",
                "`zero_grad()` sets gradients to None since torch 2.0 (`set_to_none=True`).",
                f"Read the gradients between `backward()` and `zero_grad()`: move this line above {place_text(cause)}.",
            )
        case "unused" if not absent.parameter:
            return (
                f"the loss does not depend on {name}",
                "A backward has run, and its graph does not lead to this tensor.",
                f"Compute the loss from {name} itself, not from a copy or a `.detach()`ed one. {skip}",
            )
        case "unused":
            more = f", as {len(absent.others)} more have none" if absent.others else ""
            never = "" if absent.mentioned else f" (`forward` never uses `{absent.parameter.split('.')[1]}`)"
            return (
                f"{name} is no part of what the loss was computed from{never}",
                "Other parameters of the model have gradients, so a backward has run; its graph "
                f"does not lead to `{owner}`{more}.",
                f"Use `{owner}` in the forward, or take it out of the model. {skip}",
            )
    none = f": none of the {absent.count} parameters has a gradient" if absent.count else ""
    return (
        f"no backward has run yet{none}",
        "`.grad` is None until the first `backward()`, and again after each `zero_grad()`. In a hook of a tensor or "
        "module it is filled only after the hook has returned.",
        "Read the gradients after `loss.backward()` and before `zero_grad()`; in a hook "
        "use the gradient that is handed in.",
    )


def _without_value(absent: AbsentValue) -> tuple[str, str, str]:
    """None from a hook, an attribute, a call that returns nothing, or as an argument."""
    cause, expression, text = absent.cause, absent.expression, absent.cause_text
    if absent.form == "hook":
        return (
            "the input of this module needs no gradient, so none was computed for it",
            "A backward hook is given one gradient for each input of the module, and None for those that require none: "
            "the first layer gets data.",
            f"Ask first: `if {expression} is not None:`. The gradient of the module's output is there in any case "
            "(`grad_output`).",
        )
    if absent.form == "attribute":
        by, advice = "", "Nothing in its class gives it another value: assign it before this line."
        if absent.setters:
            setter = absent.setters[0]
            by = f", and {line_text(setter)} has not run since"
            advice = (
                f"Find out why {place_text(setter)} has not run: a hook must be registered before the forward or "
                "backward that it is to see, on a module that takes part in it, and gradients flow only after "
                "`backward()`."
            )
        told = f"it has been so since {place_text(cause)}{by}"
        return told, "The attribute still has the value it was made with.", advice
    if absent.form == "call":
        return (
            f"`.{text}()` at {place_text(cause)} returns nothing",
            f"`.{text}()` does its work on the object and returns None.",
            f"Call it on a line of its own and keep what stood before it ({place_text(cause)}).",
        )
    asked = "ask `ctx.needs_input_grad` before its gradient is computed."
    also = f" `backward` then returns None for `{expression}`: {asked}" if absent.reason == "backward" else ""
    choice = f"`{text} if {expression} is not None else {absent.tensor}`"
    return (
        f"nothing was passed for it{f' ({line_text(cause)})' if cause.file else ''}, and `{text}` needs it",
        "A tensor and None have no arithmetic.",
        f"Where `{expression}` is optional, leave it out: {choice}.{also} Else pass a tensor for it.",
    )


class NoneForTensor(CrashCheck):
    """Something that should be a tensor is None, most often a `.grad`.

    Symptom:
        "'NoneType' object has no attribute 'norm'", "unsupported operand type(s) for *: 'float' and
        'NoneType'", "Got <class 'NoneType'>, but numpy array or torch tensor are expected" of `add_histogram`.
    Evidence:
        The expression of your line that is None. Of a gradient: which parameter of which model, whether it is
        frozen, whether the other parameters have gradients (then the loss does not lead to it), whether a
        `zero_grad()` stands between the backward and this line. Of an attribute: the line that set it to None
        and the lines that would give it a value. Of a hook: that it was called by autograd.
    Fix:
        By the reason: use the layer or leave it out, read gradients before they are cleared,
        `retain_grad()`, `requires_grad_()`, or ask for None first.
    Known limits:
        Only expressions that can be looked up without running code of yours are traced: names, attributes,
        entries and gradients.
    """

    id = "TD969"
    name = "none-for-tensor"
    title = "None where a tensor was meant"
    explainers = (explain_absent_value,)


# Something that is no tensor where one is wanted: a tuple of outputs, " "None, a list, an array, a result object.
_TWO_OUTPUTS = {
    "LSTM": "the output of every step and (hidden, cell)",
    "GRU": "the output of every step and the last hidden state",
    "RNN": "the output of every step and the last hidden state",
    "LSTMCell": "the hidden and the cell state",
    "MultiheadAttention": "the output and the attention weights",
}


def explain_odd_value(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.value if crash.evidence.building is not None else None
    if fact is None or (fact.kind == "float" and fact.receiver == ".backward"):  # a loss that lost its graph
        return None
    confidence = 0.97
    if fact.kind == "NoneType":
        if fact.maker_returns != "nothing":
            return None
        plain = "." not in fact.maker_kind
        name = f"{fact.maker_kind}.forward" if plain else fact.maker_kind
        if fact.maker and not fact.maker_path and plain and "." not in fact.maker:
            name = fact.maker_kind if fact.maker_kind in fact.maker.split("(")[0] else name
        told, change = f"`{name}` has no `return`", _add_return(fact, name)
        why = "A Python function without a `return` gives None to whoever called it."
    elif fact.kind == "tuple" and (fact.maker_returns == "several" or fact.maker_kind in _TWO_OUTPUTS):
        line = f" at {place_text(fact.returns)}" if fact.returns.file else ""
        outputs = _TWO_OUTPUTS.get(fact.maker_kind, f"a tuple{line}")
        maker = fact.maker_path or fact.maker
        kind = f" ({fact.maker_kind})" if maker and fact.maker_kind and fact.maker_kind not in fact.maker else ""
        told, change = f"`{maker or fact.maker_kind}`{kind} returns {outputs}", _take_apart(crash, fact)
        why = "Layers and losses compute with one tensor; a tuple of outputs must be taken apart first."
    elif fact.kind == "numpy.ndarray":
        told, change = fact.holds[0], _converted(crash, fact, "torch.from_numpy({})")
        why = "torch does not take numpy arrays by itself; `torch.from_numpy` makes a tensor of one without a copy."
    elif fact.kind in ("int", "float"):
        told, change, confidence = fact.holds[0], _converted(crash, fact, "torch.tensor({})"), 0.9
        why = "Layers and losses take tensors only, also for single numbers."
    elif fact.kind == "PackedSequence":
        name = fact.written or "out"
        unpacked = f"`{name}, lengths = nn.utils.rnn.pad_packed_sequence({name}, batch_first=True)`"
        told = "it is a batch of sequences, packed for a recurrent layer"
        change = Change(f"unpack it first: {unpacked}", None, crash.place)
        why = "Only recurrent layers take packed sequences, and what they return for one is packed as well."
    elif tensors := [item for item in fact.holds if "a tensor" in item]:
        entries = [item.split(" ", 1) for item in tensors[:3]]
        held = ", ".join(f"`{fact.written}{entry}` is {what}" for entry, what in entries)
        told, change = (
            f"it holds {len(tensors)} tensor{'s' if len(tensors) > 1 else ''}: {held}",
            _choose(crash, fact, tensors),
        )
        why = "Layers and losses compute with one tensor; take the one you mean out of what holds it."
        confidence = 0.97 if len(tensors) == 1 else 0.93
    elif fact.kind in ("list", "tuple") and fact.holds and _of_numbers(fact):
        told = f"it holds {', '.join(item.split(' ', 1)[1] for item in fact.holds[:3])}"
        why = "torch computes with tensors and does not convert lists by itself."
        change, confidence = _converted(crash, fact, "torch.tensor({})"), 0.93
    else:
        return None
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.holds:
        evidence[fact.written or "value"] = "; ".join(fact.holds)
    if fact.origin.file and fact.origin.line != crash.place.line:
        evidence["comes from"] = line_text(fact.origin)
    return with_change(crash, f"{_got(fact)}{told}.", why, change, evidence, confidence)


def _of_numbers(fact: ValueFact) -> bool:
    return all("a list" in item for item in fact.holds) or not any("a " in item for item in fact.holds)


def _got(fact: ValueFact) -> str:
    """`net.fc` was given / `torch.relu` was given / `.view` was asked of"""
    argument = f" as its {fact.argument}" if fact.argument not in ("", "input") else ""
    named = f"`{fact.written}`, " if fact.written else ""
    if fact.receiver.startswith("."):
        return f"`{fact.written}{fact.receiver}` asks {a_kind(fact.kind)} for what only a tensor has: "
    if fact.receiver.startswith("["):
        return f"`{fact.written}{fact.receiver}` indexes {a_kind(fact.kind)} like a tensor: "
    if fact.receiver.startswith("arithmetic"):
        return f"`{fact.written}` is no tensor and was used in arithmetic with one: "
    return f"`{fact.receiver}` was given {named}{a_kind(fact.kind)} and no tensor{argument}: "


def _take_apart(crash: CrashFact, fact: ValueFact) -> Change:
    """out = self.lstm(x) -> out, _ = self.lstm(x); an inner call gets [0]."""
    if not fact.maker:
        name = f"`{fact.maker_path}`" if fact.maker_path else f"the {fact.maker_kind}"
        return Change(
            f"take {name} out of the `nn.Sequential` and write a `forward` that keeps its first output: "
            "`out, _ = self.rnn(x)`", None, crash.place,
        )  # fmt: skip
    start, code = f"{fact.written} = ", fact.origin.code or ""
    if code.startswith(start):
        names = [fact.written, *["_"] * (max(len(fact.holds), 2) - 1)]
        after = f"{', '.join(names)} = {code.removeprefix(start)}"
        return Change(f"write `{after}` at {place_text(fact.origin)}", line_replaced(fact.origin, after), fact.origin)
    place = statement_place(crash)
    return respelled(place, fact.written, f"{written(place, fact.written) or fact.written}[0]")


def _add_return(fact: ValueFact, name: str) -> Change:
    code = fact.returns.code or ""
    target, equals, _ = code.partition(" = ")
    line = place_text(fact.returns)
    if equals and target.isidentifier():
        edit = line_replaced(fact.returns, f"{code}\nreturn {target}")
        return Change(f"write `return {target}` after {line_text(fact.returns)}", edit, fact.returns)
    if code and not equals and not code.startswith(("if", "for", "while", "with", ")", "print", "pass", "del")):
        edit = line_replaced(fact.returns, f"return {code}")
        return Change(f"write `return {code}` at {line}", edit, fact.returns)
    return Change(f"end `{name}` with `return` and its result, at {line}", None, fact.returns)


def _converted(crash: CrashFact, fact: ValueFact, pattern: str) -> Change:
    """The tensor in the dtype its receiver wants, as far as that is plain."""
    is_index = "mbedding" in fact.receiver or (fact.argument == "target" and "ross" in fact.receiver)
    cast = ".long()" if is_index else ".float()"
    if not fact.written:
        return Change(f"convert it first: `{pattern.format('x')}{cast}`", None, crash.place)
    place = statement_place(crash)
    return respelled(place, fact.written, f"{pattern.format(written(place, fact.written) or fact.written)}{cast}")


def _choose(crash: CrashFact, fact: ValueFact, tensors: list[str]) -> Change:
    """The entry that is meant: the only one, the logits of a result, the first of a batch for an input."""
    keys = [item.split(" ")[0] for item in tensors]
    is_batch = fact.argument == "input" and keys[0] == "[0]"
    meant = [key for key in (".logits", "['logits']", ".last_hidden_state") if key in keys] + keys[:1] * is_batch
    key = keys[0] if len(keys) == 1 else next(iter(meant), None)
    place = statement_place(crash)
    found = written(place, fact.written) or fact.written
    if key is None or not fact.written:
        return Change(f"give it one of them: `{found}{keys[0]}`", None, crash.place)
    return respelled(place, fact.written, f"{found}{key}")


class NotATensor(CrashCheck):
    """Something that is no tensor reached a layer, a loss or a tensor's method.

    Symptom:
        "linear(): argument 'input' must be Tensor, not tuple", "'NoneType' object has no attribute 'size'",
        "'tuple' object has no attribute 'view'", "tuple indices must be integers or slices, not tuple".
    Evidence:
        The value itself, from the frames; the line that made it; and what the function or `forward` that made
        it returns, from its source: a recurrent layer's pair, a tuple, or nothing at all.
    Fix:
        Take the tuple apart (`out, _ = self.lstm(x)`), add the missing `return`, convert arrays and lists,
        or choose the field that is meant.
    Known limits:
        A None is explained only where the function that gave it can be seen to return nothing. Of several
        tensors in a container the one that is meant is a guess, and told as such.
    """

    id = "TD958"
    name = "not-a-tensor"
    title = "something that is no tensor was used like one"
    explainers = (explain_odd_value,)


# A condition that the script itself asked for: the values that met in it, and what would make them fit.
_SAID = {"==": "", "!=": "anything but ", "<": "less than ", "<=": "at most ", ">": "more than ",
         ">=": "at least ",
         "is": "", "is not": "anything but ", "in": "one of ", "not in": "none of "}  # fmt: skip


def explain_assertion(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.assertion
    if fact is None or not crash.place.file:
        return None
    found = _of_shapes(fact) if fact.sizes or fact.wanted else _of_values(fact)
    if found is None:
        return None
    told, fix = found
    kind = "The assert" if fact.asserted else "The condition of the script's own"
    made = f" `{fact.tensor}` was made at {line_text(fact.made)}." if fact.made.file and fact.tensor else ""
    sides = {fact.left: fact.left_value, fact.right: fact.right_value}
    evidence: dict[str, float | str] = {
        text: value for text, value in sides.items() if text and value and text != value
    }
    if fact.tensor and f"{fact.tensor}.shape" not in evidence:
        evidence[f"{fact.tensor}.shape"] = shape_text(fact.shape)
    if fact.made.file:
        evidence["made"] = line_text(fact.made)
    return Blame(
        message=f"{kind} at {place_text(crash.place)} {'failed' if fact.asserted else 'was met'}: {told}.",
        why=f"`{fact.test}` is {'False' if fact.asserted else 'True'} with the values of this call.{made}",
        fix=fix,
        evidence=evidence | {"line": line_text(crash.place)},
        confidence=0.9,
    )


def _of_shapes(fact: AssertionEvidence) -> tuple[str, str] | None:
    got, wanted, name = fact.sizes, fact.wanted, fact.tensor or fact.left
    if fact.operation != "==":
        return None
    whole = f" (`{name}` is {shape_text(fact.shape)})" if fact.tensor and fact.shape != got else ""
    subject = fact.left if fact.left_value == shape_text(got) else fact.right
    told = f"`{subject}` is {shape_text(got)}{whole}"
    sought = f"Look at what makes `{name}`{f' at {place_text(fact.made)}' if fact.made.file else ''}"
    same_length = len(got) == len(wanted)
    if same_length:
        pairs = enumerate(zip(got, wanted, strict=True), fact.first)
        odd = [f"dimension {at} is {one} and not {other}" for at, (one, other) in pairs if one != other]
        told += f" and not {shape_text(wanted)}: {', '.join(odd)}"
    else:
        told += f", {len(got)} dimensions where {shape_text(wanted)} has {len(wanted)}"
    ones = [at for at, size in enumerate(wanted) if size == 1 and (*wanted[:at], *wanted[at + 1 :]) == tuple(got)]
    if same_length and sorted(got) == sorted(wanted):
        order = list(range(fact.first)) + [fact.first + at for at in _order(got, wanted)]
        turned = f"`{name}.permute({', '.join(map(str, order))})`"
        return told, f"The sizes are right and their order is not: {turned}. {sought}."
    if ones:
        return told, f"A dimension of size 1 is missing: `{name}.unsqueeze({fact.first + ones[0]})`. {sought}."
    if same_length and fact.first == 0 and got[1:] == wanted[1:]:
        return told, (
            f"Only the batch differs: the last batch of an epoch is often smaller. Compare `{name}.shape[1:]`, or drop "
            "that batch: `DataLoader(..., drop_last=True)`."
        )
    count = math.prod(got)
    if count == math.prod(wanted):
        return told, f"Both have {product_text(got)} = {count:,} values: a `reshape` is missing or wrong. {sought}."
    return told, f"{sought}; if its shape is as you want it, the condition is what is out of date."


def _order(got: Sequence[int], wanted: Sequence[int]) -> list[int]:
    free = list(range(len(got)))
    found = []
    for size in wanted:
        at = next(index for index in free if got[index] == size)
        free.remove(at)
        found.append(at)
    return found


def _of_values(fact: AssertionEvidence) -> tuple[str, str] | None:
    numbers, shape = fact.numbers, f"`{fact.tensor}` has shape {shape_text(fact.shape)}"
    where = f" at {place_text(fact.made)}" if fact.made.file else ""
    look = f"Look at what makes `{fact.tensor or fact.left}`{where}"
    if numbers is not None and (numbers.nans or numbers.infs):
        told = _not_finite(f"`{fact.tensor}`", fact.shape, numbers)
        return told, (
            f"Find the op or the data that made the first of them; this line only met it{where and f', made{where}'}. "
            "`torch-debugger run` on the script runs the step again and names it."
        )
    if not fact.operation:
        spread = f", values {numbers.low:.4g} to {numbers.high:.4g}" if numbers is not None and numbers.elements else ""
        told = f"`{fact.test}` {'does not hold' if fact.asserted else 'holds'}; {shape}{spread}"
        return (told, f"{look}; if it is as you want it, the condition is out of date.") if fact.tensor else None
    told = (
        f"`{fact.left}` is {fact.left_value}, and {_SAID[fact.operation]}{fact.right_value or fact.right} was asked for"
    )
    if not fact.asserted:
        told = f"`{fact.left}` is {fact.left_value} ({fact.operation} {fact.right_value})"
    if not fact.left.endswith((".dim()", ".ndim", ".ndimension()")):
        return told, f"{look}; if its value is as you want it, the condition is what is out of date."
    fix = f"Look at what makes `{fact.tensor}`{where}."
    if fact.operation == "==" and fact.right_value == str(len(fact.shape) + 1):
        unsqueezed = f"`{fact.tensor}.unsqueeze(0)` adds the dimension"
        fix = f"One sample without a batch? {unsqueezed}. Look at what makes it{where}."
    return f"{told}: {shape}", fix


class AssertionFailed(CrashCheck):
    """An assert of the script's own failed, or a raise below an `if` ended it.

    Symptom:
        "AssertionError", with or without a text: `assert x.shape == (32, 10)`, `assert x.dim() == 4`,
        `if x.size(1) != 3: raise ValueError(...)`.
    Evidence:
        The parts of the condition, worked out again from the variables of the frame: which comparison does
        not hold, with both its values; of shapes which dimension; and the line that made the tensor.
    Fix:
        The call that would bring the shape into order, where one does: `permute`, `unsqueeze`, `reshape`. Else
        the line that made the value.
    Known limits:
        Nothing of yours is called to find out: a condition with calls other than those of tensors that only
        look is not worked out, and the crash goes to `unexplained-crash`.
    """

    id = "TD968"
    name = "assertion-failed"
    title = "a condition that the script asked for did not hold"
    explainers = (explain_assertion,)


# NaN or Inf where only real numbers are taken: the crash is the last link of a chain.
def explain_not_finite(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.numbers
    if fact is None or not crash.place.file:
        return None
    given = " and ".join(
        _not_finite(f"`{each.name}`" if each.name else "a tensor", each.shape, each) for each in fact.tensors[:2]
    )
    end = f": {given}." if given else "."
    return Blame(
        message=f"A number that is not finite was to become an integer{end}"
        if fact.taker == "an integer"
        else f"`{fact.taker}` was given numbers that are not finite{end}",
        why=_why(fact),
        fix="Find the first of them; this line only met it. `with torch_debugger.detect_anomaly():` around the "
        "training step names the op that makes one there.",
        evidence={"line": line_text(crash.place), "taker": fact.taker},
        confidence=0.95,
    )


def _not_finite(name: str, shape: Sequence[int], numbers: Operand) -> str:
    wrong = [f"{numbers.nans:,} NaN"] if numbers.nans else []
    wrong += [f"{numbers.infs:,} Inf"] if numbers.infs else []
    return f"{name} ({shape_text(shape)}) holds {' and '.join(wrong)} among {numbers.elements:,} values"


def _why(fact: NumberEvidence) -> str:
    if fact.weights:
        held = " and ".join(f"`{name}`" for name in fact.weights[:2])
        return f"The weights are not finite either ({held}): an earlier update has left them so."
    finite = "The weights are finite, so they" if fact.weights_known else "They"
    return f"{finite} were made by an op before this line, or came in with the data."


# What torch's own anomaly mode says when it ends a backward: the node, and no more.
_MESSAGE = re.compile(r"^Function '(\w+)' returned nan values in its (\d+)th output")
_ENGINE = "autograd/graph.py", "autograd/__init__.py"
# Ops whose slope is not finite somewhere, and where.
_EDGES = {
    "sqrt": "sqrt has an infinite slope at 0", "rsqrt": "rsqrt has no slope at 0", "log": "log has none at 0",
    "log2": "log2 has none at 0", "log10": "log10 has none at 0", "div": "a division has none where it is by 0",
    "norm": "a norm has no slope at 0", "linalgvectornorm": "a norm has no slope at 0",
    "pow": "a power below 1 has an infinite slope at 0", "std": "std has no slope where all values are equal",
    "atan2": "atan2 has no slope at the origin", "acos": "acos has an infinite slope at 1 and -1",
    "asin": "asin has an infinite slope at 1 and -1", "cdist": "a distance has no slope where it is 0",
    "exp": "exp overflows", "mul": "0 times inf is NaN: an op behind it has an infinite slope",
    "logsoftmax": "a row that is -inf as a whole has no softmax",
    "softmax": "a row that is -inf as a whole has no softmax",
}  # fmt: skip


def explain_anomaly(crash: CrashFact) -> Blame | None:
    match = _MESSAGE.match(crash.message)
    files = [frame.file for frame in crash.frames]
    if match is None or (files and not any(file.endswith(_ENGINE) for file in files)):
        return None
    node = match[1]
    output = int(match[2])
    op = re.sub(r"Backward\d*$", "", node)
    custom = node.endswith("Backward")  # of a Function of the user's own; torch's are numbered
    edge = _EDGES.get(op.lower(), "")
    why = f"{edge[:1].upper()}{edge[1:]}. " if edge else ""
    where = f"the backward of your own Function `{op}`" if custom else f"the backward of `{op.lower()}`"
    return Blame(
        message=f"Autograd's anomaly mode ended the script: {where} (`{node}`) made a NaN, in the gradient of its "
        f"input {output + 1}.",
        why=f"{why}Anomaly mode names the first node whose gradients hold NaN; an inf before it goes unnoticed, so the "
        "op at fault may be the one that ran after it in the forward.",
        fix="Run the script with `torch-debugger run`: it runs the step again and names the op, its line and its "
        "numbers. A mask on the result does not help: 0 times NaN is NaN; keep the op's input inside its range.",
        evidence={"node": node, "output": output, **({"line": line_text(crash.place)} if crash.place.file else {})},
        confidence=0.8,
    )


class ValuesNotFinite(CrashCheck):
    """A distribution, a sampling, a decomposition or autograd's anomaly mode met NaN or Inf.

    Symptom:
        "Expected parameter logits ... to satisfy the constraint", "probability tensor contains either `inf`,
        `nan` or element < 0", "The algorithm failed to converge", "cannot convert float NaN to integer",
        "Function 'SqrtBackward0' returned nan values in its 0th output".
    Evidence:
        Tensors in the frames of the crash that hold NaN or Inf, and whether the weights do; of anomaly mode
        the node that it names. Under `torch-debugger run` the step is run again for the op: `loss-not-finite`.
    Fix:
        Not here: the crash is a symptom. Find the op that made the first of them.
    Known limits:
        Anomaly mode looks for NaN only, so the node it names may be the one behind an op whose slope was inf.
        Tensors on an accelerator are not read. Probabilities that are merely negative are no case of this.
    """

    id = "TD967"
    name = "values-not-finite"
    title = "NaN or Inf was given to something that takes only real numbers"
    explainers = explain_not_finite, explain_anomaly
