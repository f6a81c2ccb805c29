"""Something that is no tensor where one is wanted: a tuple of outputs, "
"None, a list, an array, a result object."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import edited_place, respelled, statement_place, written
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import a_kind, as_sentence
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.building import ValueFact

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
    if fact.kind == "NoneType":
        return _nothing(crash, fact) if fact.maker_returns == "nothing" else None
    if fact.kind == "tuple" and (fact.maker_returns == "several" or fact.maker_kind in _TWO_OUTPUTS):
        return _several(crash, fact)
    if fact.kind in ("numpy.ndarray", "int", "float"):
        return _plain_data(crash, fact)
    return _packed(crash, fact) if fact.kind == "PackedSequence" else _container(crash, fact)


def _packed(crash: CrashFact, fact: ValueFact) -> Blame:
    message = f"{_got(fact)}it is a batch of sequences, packed for a recurrent layer."
    why = "Only recurrent layers take packed sequences, and what they return for one is packed as well."
    name = fact.written or "out"
    text = f"unpack it first: `{name}, lengths = nn.utils.rnn.pad_packed_sequence({name}, batch_first=True)`"
    return _blame(crash, fact, message, why, Change(text, None, crash.place))


def _blame(
    crash: CrashFact, fact: ValueFact, message: str, why: str, change: Change, confidence: float = 0.97
) -> Blame:
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.holds:
        evidence[fact.written or "value"] = "; ".join(fact.holds)
    if fact.origin.file and fact.origin.line != crash.place.line:
        evidence["comes from"] = line_text(fact.origin)
    where = edited_place(crash, change)
    return Blame(message, why, as_sentence(change.text), where, evidence, confidence, change.edit)


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


def _maker(fact: ValueFact) -> str:
    kind = f" ({fact.maker_kind})" if fact.maker_kind and fact.maker_kind not in fact.maker else ""
    return (
        f"`{fact.maker_path or fact.maker or fact.maker_kind}`{kind if fact.maker_path or fact.maker else ''}"
    )


def _several(crash: CrashFact, fact: ValueFact) -> Blame:
    parts = _TWO_OUTPUTS.get(fact.maker_kind)
    line = f" at {place_text(fact.returns)}" if fact.returns.file else ""
    told = f"returns {parts}" if parts else f"returns a tuple{line}"
    message = f"{_got(fact)}{_maker(fact)} {told}."
    why = "Layers and losses compute with one tensor; a tuple of outputs must be taken apart first."
    return _blame(crash, fact, message, why, _take_apart(crash, fact))


def _take_apart(crash: CrashFact, fact: ValueFact) -> Change:
    """out = self.lstm(x) -> out, _ = self.lstm(x); an inner call gets [0]."""
    code = fact.origin.code or ""
    if not fact.maker:
        name = f"`{fact.maker_path}`" if fact.maker_path else f"the {fact.maker_kind}"
        return Change(
            f"take {name} out of the `nn.Sequential` and write a `forward` that keeps its first output: "
            "`out, _ = self.rnn(x)`", None, crash.place,
        )  # fmt: skip
    start = f"{fact.written} = "
    if code.startswith(start):
        count = max(len(fact.holds), 2)
        after = f"{', '.join([fact.written, *['_'] * (count - 1)])} = {code.removeprefix(start)}"
        edit = Edit(fact.origin.file or "", fact.origin.line or 0, code, after)
        return Change(f"write `{after}` at {place_text(fact.origin)}", edit, fact.origin)
    place = statement_place(crash)
    found = written(place, fact.written)
    return respelled(place, fact.written, f"{found or fact.written}[0]")


def _nothing(crash: CrashFact, fact: ValueFact) -> Blame:
    name = (
        fact.maker_kind
        if fact.maker_kind.endswith(".forward") or "." in fact.maker_kind
        else f"{fact.maker_kind}.forward"
    )
    is_function = (
        fact.maker
        and not fact.maker_path
        and "." not in fact.maker_kind
        and fact.maker_kind in fact.maker.split("(")[0]
    )
    name = fact.maker_kind if is_function and "." not in fact.maker else name
    message = f"{_got(fact)}`{name}` has no `return`."
    why = "A Python function without a `return` gives None to whoever called it."
    return _blame(crash, fact, message, why, _add_return(fact, name))


def _add_return(fact: ValueFact, name: str) -> Change:
    code = fact.returns.code or ""
    target, equals, _ = code.partition(" = ")
    line = place_text(fact.returns)
    if equals and target.isidentifier():
        edit = Edit(fact.returns.file or "", fact.returns.line or 0, code, f"{code}\nreturn {target}")
        return Change(f"write `return {target}` after {line_text(fact.returns)}", edit, fact.returns)
    if code and not equals and not code.startswith(("if", "for", "while", "with", ")", "print", "pass", "del")):
        edit = Edit(fact.returns.file or "", fact.returns.line or 0, code, f"return {code}")
        return Change(f"write `return {code}` at {line}", edit, fact.returns)
    return Change(f"end `{name}` with `return` and its result, at {line}", None, fact.returns)


def _plain_data(crash: CrashFact, fact: ValueFact) -> Blame:
    message = f"{_got(fact)}{fact.holds[0]}."
    if fact.kind == "numpy.ndarray":
        why = (
            "torch does not take numpy arrays by itself; `torch.from_numpy` "
            "makes a tensor of one without a copy."
        )
        return _blame(crash, fact, message, why, _converted(crash, fact, "torch.from_numpy({})"))
    why = "Layers and losses take tensors only, also for single numbers."
    return _blame(crash, fact, message, why, _converted(crash, fact, "torch.tensor({})"), 0.9)


def _converted(crash: CrashFact, fact: ValueFact, pattern: str) -> Change:
    """The tensor in the dtype its receiver wants, as far as that is plain."""
    is_index = "mbedding" in fact.receiver or (fact.argument == "target" and "ross" in fact.receiver)
    cast = ".long()" if is_index else ".float()"
    if not fact.written:
        return Change(f"convert it first: `{pattern.format('x')}{cast}`", None, crash.place)
    place = statement_place(crash)
    found = written(place, fact.written)
    return respelled(place, fact.written, f"{pattern.format(found or fact.written)}{cast}")


def _container(crash: CrashFact, fact: ValueFact) -> Blame | None:
    tensors = [item for item in fact.holds if "a tensor" in item]
    if not tensors:
        return _numbers(crash, fact) if fact.kind in ("list", "tuple") and fact.holds else None
    held = ", ".join(
        f"`{fact.written}{item.split(' ', 1)[0]}` is {item.split(' ', 1)[1]}" for item in tensors[:3]
    )
    message = f"{_got(fact)}it holds {len(tensors)} tensor{'s' if len(tensors) > 1 else ''}: {held}."
    why = "Layers and losses compute with one tensor; take the one you mean out of what holds it."
    return _blame(crash, fact, message, why, _choose(crash, fact, tensors), 0.97 if len(tensors) == 1 else 0.93)


def _choose(crash: CrashFact, fact: ValueFact, tensors: list[str]) -> Change:
    key = _wanted(fact, tensors)
    place = statement_place(crash)
    found = written(place, fact.written) or fact.written
    if key is None or not fact.written:
        return Change(f"give it one of them: `{found}{tensors[0].split(' ')[0]}`", None, crash.place)
    return respelled(place, fact.written, f"{found}{key}")


def _wanted(fact: ValueFact, tensors: list[str]) -> str | None:
    """The entry that is meant: the only one, the logits of a result, the first of a batch for an input."""
    keys = [item.split(" ")[0] for item in tensors]
    if len(keys) == 1:
        return keys[0]
    for name in (".logits", "['logits']", ".last_hidden_state"):
        if name in keys:
            return name
    return keys[0] if fact.argument == "input" and keys[0] == "[0]" else None


def _numbers(crash: CrashFact, fact: ValueFact) -> Blame | None:
    if any("a " in item for item in fact.holds) and not all("a list" in item for item in fact.holds):
        return None
    message = f"{_got(fact)}it holds {', '.join(item.split(' ', 1)[1] for item in fact.holds[:3])}, ..."
    why = "torch computes with tensors and does not convert lists by itself."
    return _blame(
        crash, fact, message.removesuffix(", ...") + ".", why, _converted(crash, fact, "torch.tensor({})"), 0.93
    )
