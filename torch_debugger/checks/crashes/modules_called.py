"""TD951: a module without a forward was called."""

from __future__ import annotations

import ast
import difflib
import math
import re
from dataclasses import replace

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import (
    Blame,
    as_sentence,
    layer_name,
    line_text,
    listed,
    place_text,
    shape_text,
    user_frame,
)
from torch_debugger.checks.crashes.layers_and_losses import Entry, constructor_place, model_entry
from torch_debugger.checks.crashes.user_code import (
    Change,
    argument_of,
    calls_of,
    edited_place,
    is_simple_statement,
    line_edit,
    one_line,
    parse_expression,
    respelled,
    rewritten,
    statement_place,
    with_argument,
)
from torch_debugger.records import CrashFact, Edit, FlowStep, Place
from torch_debugger.records.crash_modules import (
    ArgumentsFact,
    BatchSource,
    ClassUseFact,
    ForwardFact,
    MethodFact,
    SingleValueFact,
)

# A module that was called and has no forward: misspelt, wrongly indented, or a list of modules.
_WHY = "Calling a module runs its method `forward`; `nn.Module` itself has none that does anything."


def explain_missing_forward(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.forward if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.cls in ("ModuleList", "ModuleDict"):
        return _container(crash, fact)
    if not fact.place.file:
        return None
    return _blame(crash, fact, *_method(fact, fact.near)) if fact.near is not None else _none_at_all(crash, fact)


def _blame(crash: CrashFact, fact: ForwardFact, message: str, fix: str, where: Place, edit: Edit | None) -> Blame:
    evidence: dict[str, float | str] = {"class": line_text(fact.place), "call": line_text(crash.place)}
    return Blame(message, _WHY, fix, where, evidence, 0.98, edit)


def _name(fact: ForwardFact | ArgumentsFact) -> str:
    return f"`{fact.path}` ({fact.cls})" if fact.path else f"`{fact.cls}`"


def _method(fact: ForwardFact, near: MethodFact) -> tuple[str, str, Place, Edit | None]:
    line = place_text(near.place)
    if near.inside == "<module>":
        message = f"{_name(fact)} has no `forward`: the one at {line} stands outside of the class."
        return message, f"Indent `{near.place.code}` and its body by one level, into the class.", near.place, None
    if near.inside:
        message = f"{_name(fact)} has no `forward`: the one at {line} stands inside `{near.inside}`."
        fix = f"Move `{near.place.code}` and its body one level out, beside `def {near.inside}`."
        return message, fix, near.place, None
    message = f"{_name(fact)} has no `forward`; it has a method `{near.name}` at {line}."
    edit = line_edit(near.place, f"{near.name}(", "forward(")
    return message, f"Rename `{near.name}` to `forward` at {line}.", near.place, edit


def _none_at_all(crash: CrashFact, fact: ForwardFact) -> Blame:
    message = f"{_name(fact)} was called but its class has no `forward`."
    fix = f"Write `def forward(self, x):` in `class {fact.cls}` at {place_text(fact.place)}."
    return _blame(crash, fact, message, fix, fact.place, None)


def _container(crash: CrashFact, fact: ForwardFact) -> Blame:
    """A list or dict of modules has no order of its own in which to run them."""
    name = f"`{fact.path}`" if fact.path else "a module"
    message = f"{name} is an `nn.{fact.cls}` of {len(fact.keys)} and was called like a layer."
    why = f"An `nn.{fact.cls}` only holds modules; it has no `forward` that runs them."
    evidence: dict[str, float | str] = {"entries": ", ".join(fact.keys), "call": line_text(crash.place)}
    if fact.cls == "ModuleDict":
        last = fact.path.rpartition(".")[2]
        written = re.search(rf"[\w.]*\b{re.escape(last)}(?=\()", statement_place(crash).code or "") if last else None
        told = f", as in `{written[0]}[{fact.keys[0]!r}](...)`" if written and fact.keys else ""
        fix = f"Choose the module to run by its key{told}; the keys are {', '.join(map(repr, fact.keys))}."
        return Blame(message, why, fix, crash.place, evidence, 0.97)
    place = constructor_place(crash.layer) if crash.layer is not None else Place()
    edit = rewritten(place, "nn.ModuleList([", "nn.Sequential(*[") if place.file else None
    fix = (
        "Loop over it in `forward`, or build it as `nn.Sequential(*[...])`, which runs its layers one after the other."
    )
    if edit is not None:
        fix = f"Change `nn.ModuleList([` to `nn.Sequential(*[` at {place_text(place)}, or loop over it in `forward`."
    where = Place(place.file, place.line, place.module, (place.code or "").partition("\n")[0]) if edit else crash.place
    return Blame(message, why, fix, where, evidence, 0.97, edit)


class ForwardMissing(CrashCheck):
    """A module was called that has no `forward`.

    Symptom:
        'Module [Net] is missing the required "forward" function'.
    Evidence:
        The module that was called and the source of its class: a method whose name is nearly `forward`, a
        `forward` that stands inside another method or outside of the class, or none. An `nn.ModuleList` or
        `nn.ModuleDict` holds modules and never has one.
    Fix:
        Rename or indent the method, or build an `nn.Sequential` where layers are to run one after the other.
    Known limits:
        A wrong indentation is told in words, not as an edit.
    """

    id = "TD951"
    name = "forward-missing"
    title = "a module without a forward was called"
    explainers = (explain_missing_forward,)


# A forward that was called with too few, too many or unknown arguments.
_CALL_WHY = "Calling a module hands its arguments on to `forward`, which must take exactly those."
_NAMES_SHOWN = 5
_MEANT = {
    "MultiheadAttention": "for self-attention give it the same tensor three times: query, key and value",
    "TransformerDecoder": "give it the target and the encoder's output, called memory",
    "TransformerDecoderLayer": "give it the target and the encoder's output, called memory",
    "Transformer": "give it the source and the target sequence",
}


def explain_forward_call(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.arguments if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.without_self and fact.place.file:
        return _without_self(crash, fact)
    unknown = [name for name in fact.keywords if name not in fact.takes]
    missing = [name for name in fact.required[len(fact.given) :] if name not in fact.keywords]
    edit: Edit | None = None
    if unknown:
        message, fix, edit = _unknown(crash, fact, unknown[0])
    elif missing:
        message, fix = _too_few(crash, fact, missing)
    elif len(fact.given) > len(fact.takes):
        message, fix = _too_many(crash, fact)
    else:
        return None
    return _call_blame(crash, fact, message, fix, crash.place, edit)


def _takes(fact: ArgumentsFact) -> str:
    line = f" at {place_text(fact.place)}" if fact.place.file else ""
    names = fact.takes if len(fact.takes) <= _NAMES_SHOWN else (*fact.required, "...")
    return f"`forward({', '.join(names)})`{line}"


def _call_blame(
    crash: CrashFact,
    fact: ArgumentsFact,
    message: str,
    fix: str,
    where: Place,
    edit: Edit | None = None,
    why: str = _CALL_WHY,
) -> Blame:
    given = [*fact.given, *(f"{name}=..." for name in fact.keywords)]
    evidence: dict[str, float | str] = {"given": ", ".join(given) or "nothing", "call": line_text(crash.place)}
    if fact.place.file:
        evidence["forward"] = line_text(fact.place)
    return Blame(message, why, fix, where, evidence, 0.98, edit)


def _without_self(crash: CrashFact, fact: ArgumentsFact) -> Blame:
    message = f"`forward` of {_name(fact)} has no `self`: {line_text(fact.place)}"
    why = "Python hands the object itself to a method as its first argument."
    written = "forward(self)" if "forward()" in (fact.place.code or "") else "forward(self, "
    before = "forward()" if written == "forward(self)" else "forward("
    edit = line_edit(fact.place, before, written)
    return _call_blame(
        crash, fact, message, f"Write `self` as the first argument at {place_text(fact.place)}.", fact.place, edit, why
    )


def _unknown(crash: CrashFact, fact: ArgumentsFact, name: str) -> tuple[str, str, Edit | None]:
    message = f"{_name(fact)} was called with `{name}=`, and {_takes(fact)} has no such argument."
    close = difflib.get_close_matches(name, fact.takes, 1, 0.6)
    place = statement_place(crash)
    if not close:
        fix = f"Give it one of {listed(fact.takes)}, or add `{name}` to `forward`."
        return message, fix, None
    edit = line_edit(place, f"{name}=", f"{close[0]}=") if "\n" not in (place.code or "") else None
    return message, f"Write `{close[0]}=` instead of `{name}=` at {place_text(crash.place)}.", edit


def _too_few(crash: CrashFact, fact: ArgumentsFact, missing: list[str]) -> tuple[str, str]:
    got = f"{len(fact.given) + len(fact.keywords)}" if fact.given or fact.keywords else "none"
    message = (
        f"{_name(fact)} was called without {listed(missing)}: {_takes(fact)} needs "
        f"{len(fact.required)} arguments and got {got}."
    )
    if fact.caller:
        fix = (
            f"An `nn.Sequential` hands on one value. Take {_name(fact)} out of `{fact.caller}` and call "
            f"it yourself with {listed(fact.required)}."
        )
        return message, fix
    meant = _MEANT.get(fact.cls, "")
    fix = f"Give {listed(missing)} too at {place_text(crash.place)}"
    fix += f": {meant}." if meant else _or_default(fact, missing)
    return message, fix


def _or_default(fact: ArgumentsFact, missing: list[str]) -> str:
    if not fact.place.file:
        return "."
    defaults = "it a default" if len(missing) == 1 else "them defaults"
    return f", or give {defaults} at {place_text(fact.place)}: `{missing[0]}=None`."


def _too_many(crash: CrashFact, fact: ArgumentsFact) -> tuple[str, str]:
    count = "one argument" if len(fact.takes) == 1 else f"{len(fact.takes) or 'no'} arguments"
    message = f"{_name(fact)} was called with {len(fact.given)} arguments, and {_takes(fact)} takes {count}."
    if fact.cls == "Sequential":
        fix = (
            "An `nn.Sequential` hands one tensor from layer to layer: join the inputs first, as in "
            "`torch.cat([a, b], dim=1)`, or write a module whose `forward` takes both."
        )
    elif fact.place.file:
        fix = f"Leave the rest out at {place_text(crash.place)}, or take it in `forward` at {place_text(fact.place)}."
    else:
        fix = f"Give it {listed(fact.takes)} only, at {place_text(crash.place)}; join tensors first with `torch.cat`."
    return message, fix


class ForwardArguments(CrashCheck):
    """A module was called with other arguments than its `forward` takes.

    Symptom:
        "forward() missing 1 required positional argument", "forward() takes 2 positional arguments but 3
        were given", "got an unexpected keyword argument".
    Evidence:
        The signature of the module's `forward` and what the call gave it, taken from the frame that
        called it. That the two do not fit is tried, not read from the message.
    Fix:
        Give what is missing, leave out what is too much, or change `forward`; the finding names the arguments.
    Known limits:
        Calls of your own functions and constructors with wrong arguments are not explained. Where either the
        call or `forward` may be wrong, both are named and no edit is offered.
    """

    id = "TD952"
    name = "forward-arguments"
    title = "a forward was called with other arguments than it takes"
    explainers = (explain_forward_call,)


# A module class used where an object of it is meant: built from tensors, or asked for its parameters.
_TWO_STEPS = (
    "A module is used in two steps: `{cls}(...)` with settings builds an object, and calling that object runs it."
)


def explain_class_use(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.class_use if crash.evidence.building is not None else None
    if fact is None:
        return None
    change = _change(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(fact.place)}
    if fact.tensors:
        evidence["given"] = ", ".join(fact.tensors)
    if fact.assigned.file:
        evidence["class"] = line_text(fact.assigned)
    why = _TWO_STEPS.format(cls=fact.cls if fact.assigned.file else fact.written)
    place = edited_place(crash, change if change.edit is not None else Change("", None, fact.place))
    return Blame(_message(fact), why, as_sentence(change.text), place, evidence, 0.97, change.edit)


def _message(fact: ClassUseFact) -> str:
    name, given = f"`{fact.written}` is the class `{fact.cls}` itself", " and ".join(fact.tensors[:2])
    if not fact.tensors:
        return f"{name}, not an object of it, so `{fact.call}` has nothing to work on."
    if fact.assigned.file:
        return f"{name}: `{fact.call}` builds a new object from {given} instead of running one."
    what = "a loss" if fact.is_loss else "a module"
    return f"`{fact.call}` builds {what} with {given} as its settings instead of running it on them."


def _change(crash: CrashFact, fact: ClassUseFact) -> Change:
    if fact.assigned.file:
        return _instantiate(fact)
    named = [name for name in fact.objects if fact.call.startswith(f"{fact.written}(")]
    # The whole statement of the call, where it is the one that crashed.
    whole = statement_place(crash)
    lines = (whole.code or "").split("\n")
    inside = whole.file == fact.place.file and whole.line is not None and fact.place.line is not None
    place = whole if inside and 0 <= (fact.place.line or 0) - (whole.line or 0) < len(lines) else fact.place
    if named and not fact.is_loss and fact.written == fact.cls:
        return respelled(place, fact.call, fact.call.replace(f"{fact.written}(", f"{named[0]}(", 1))
    if not fact.tensors:
        needed = ", ".join(fact.needs)
        owner = f"{fact.written}({needed})"
        return respelled(place, fact.call, fact.call.replace(fact.written, owner, 1))
    split = _split(crash, fact)
    if fact.weights or not fact.torchs or split is None:
        return _build_once(crash, fact)
    return respelled(place, fact.call, split)


def _build_once(crash: CrashFact, fact: ClassUseFact) -> Change:
    """What has weights, or a mode, is built before the loop and not each time it runs."""
    frame = user_frame(crash)
    inside = frame is not None and frame.module is not None and frame.function != "__init__"
    name = "self.layer" if inside else fact.cls.lower()
    needed = ", ".join(fact.needs)
    built = f"`{name} = {fact.written}({needed})`"
    where = "once in `__init__`" if inside else "once, before the loop"
    return Change(f"build it {where}, {built}, and call `{name}(x)` at {place_text(fact.place)}", None, fact.place)


def _instantiate(fact: ClassUseFact) -> Change:
    """model = Net -> model = Net()"""
    code = fact.assigned.code or ""
    if fact.needs:
        return Change(
            f"build an object at {place_text(fact.assigned)}: `{code}({', '.join(fact.needs)})`", None, fact.assigned
        )
    edit = line_edit(fact.assigned, code, f"{code}()") if code.endswith(fact.cls) else None
    return Change(f"write `{code}()` instead of `{code}` at {place_text(fact.assigned)}", edit, fact.assigned)


def _split(crash: CrashFact, fact: ClassUseFact) -> str | None:
    """nn.Softmax(x, dim=1) -> nn.Softmax(dim=1)(x); a loss takes its first two arguments to the call."""
    node = parse_expression(fact.call)
    if not isinstance(node, ast.Call) or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    count = 2 if fact.is_loss else 1
    inputs, settings = node.args[:count], node.args[count:]
    if fact.cls.startswith("Dropout"):
        return _dropout(crash, node, fact)
    words = list(node.keywords)
    if not inputs:
        inputs, words = [word.value for word in words[:count]], words[count:]
    built = ast.Call(node.func, settings, words)
    return f"{ast.unparse(built)}({', '.join(ast.unparse(part) for part in inputs)})"


def _dropout(crash: CrashFact, node: ast.Call, fact: ClassUseFact) -> str | None:
    """A dropout built anew each time is always in training mode: the function takes the model's."""
    frame = user_frame(crash)
    if frame is None or frame.module is None or fact.cls != "Dropout" or not fact.written.startswith("nn."):
        return None
    given = [ast.unparse(part) for part in (*node.args, *node.keywords)]
    return f"nn.functional.dropout({', '.join(given)}, training=self.training)"


class ClassNotObject(CrashCheck):
    """A module class was used where an object of it is meant.

    Symptom:
        `nn.CrossEntropyLoss(output, target)` stops with "Boolean value of Tensor with more than one value is
        ambiguous"; `x = nn.ReLU(x)` makes the next layer refuse a ReLU; `model = Net` makes
        `model.parameters()` miss its `self`.
    Evidence:
        What the call on your line names is a class derived from nn.Module, and it was given tensors; or the
        object that a layer, loss or method refused is a module that such a call built.
    Fix:
        Build the object first, then call it: `nn.CrossEntropyLoss()(output, target)`; for a layer with weights
        build it once in `__init__`.
    Known limits:
        Where an argument is a longer expression, that it is a tensor is taken from the function that makes it.
    """

    id = "TD957"
    name = "class-not-object"
    title = "a module class was used where an object of it is meant"
    explainers = (explain_class_use,)


# A normalization layer that got one value for each channel, which has no spread to divide by.
_NORM_WHY = (
    "In training mode BatchNorm subtracts the mean of each channel over the batch and divides by its spread; "
    "one value alone has none"
)
_WHY_OTHERS = "It subtracts a mean and divides by the spread of the values it is the mean of; one alone has none."


def explain_single_value(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.single_value if crash.evidence.building is not None else None
    if fact is None or crash.kind != "ValueError" or len(fact.shape) < 2:
        return None
    settings = crash.layer.settings if crash.layer is not None else {}
    built_for = settings.get("num_channels", settings.get("num_features"))
    if built_for not in (None, fact.shape[1]):
        return None  # other channels than the layer has weights for, which would be refused next
    if fact.function == "instance_norm":
        return _norm_blame(crash, fact, _one_place(crash, fact), _WHY_OTHERS)
    if fact.function == "group_norm":
        return _norm_blame(crash, fact, _one_channel(crash, fact), _WHY_OTHERS)
    if fact.shape[0] * math.prod(fact.shape[2:]) != 1:
        return None
    # Of an image pooled to one place: with more places left, one sample would have been enough.
    step = _pooling(crash) if len(fact.shape) > 2 else None
    pooled = f" {_by(step)}: one place of one sample is left." if step is not None else ""
    return _norm_blame(crash, fact, _one_sample(crash, fact), f"{_NORM_WHY}.{pooled}")


def _norm_blame(crash: CrashFact, fact: SingleValueFact, told: MessageAndChange, why: str) -> Blame:
    message, change = told
    where = replace(edited_place(crash, change), module=None)
    evidence: dict[str, float | str] = {"input": shape_text(fact.shape)}
    if fact.source is not None:
        evidence["samples"], evidence["batch size"] = float(fact.source.samples), float(fact.source.batch_size)
    if crash.layer is not None and crash.layer.place.file:
        evidence["layer"] = line_text(crash.layer.place)
    evidence["line"] = line_text(crash.place)
    return Blame(f"{message}.", why, as_sentence(change.text), where, evidence, 0.97, change.edit)


def _one_sample(crash: CrashFact, fact: SingleValueFact) -> MessageAndChange:
    mode = "in training mode" if fact.tracks else "and keeps no running statistics"
    got = f"{_norm_name(crash, fact)} got one value for each channel, {shape_text(fact.shape)}, {mode}"
    entry = model_entry(crash)
    if fact.without_gradients:
        return f"{got}, while nothing is trained", _evaluate(crash, fact, entry)
    if fact.source is not None:
        told = from_range if fact.source.is_range else from_loader
        because, change = told(fact.source)
        return f"{got}: {because}", change
    given = entry.inputs[0].shape if entry is not None and entry.inputs else ()
    if entry is not None and given[:1] not in ((), (1,)):
        return f"{got}, although `{entry.module}` was given {shape_text(given)}", _on_the_way(crash, given[0])
    if fact.trains:
        return f"{got}: the batch holds one sample", _skip(crash, entry)
    return f"{got}: the model was called with one sample", _evaluate(crash, fact, entry)


def _norm_name(crash: CrashFact, fact: SingleValueFact) -> str:
    layer = crash.layer
    if layer is None:
        return f"`{fact.function}`"
    return f"{layer_name(layer)} ({layer.kind})" if layer.path else layer_name(layer)


def _callee(entry: Entry | None) -> str:
    """The model as the user's line calls it: self.net"""
    node = parse_expression(entry.statement.failing) if entry is not None else None
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return entry.module if entry is not None else "model"


def _evaluate(crash: CrashFact, fact: SingleValueFact, entry: Entry | None) -> Change:
    """Write model.eval() above the call, or above the loop that makes it."""
    if not fact.tracks:
        return _track(crash)
    name, call = _callee(entry), entry.statement.whole if entry is not None else crash.place
    if fact.source is not None:
        loop = fact.source.loop
        text = f"write `{name}.eval()` above the loop at {place_text(loop)}, and `{name}.train()` before you train"
        return Change(text, None, loop)
    first = (call.code or "").partition("\n")[0]
    text = f"write `{name}.eval()` above {place_text(call)}; `{name}.train()` goes back to training"
    plain = call.file and call.line and is_simple_statement(call.code or "") and not fact.trains
    edit = Edit(call.file, call.line, first, f"{name}.eval()\n{first}") if plain and call.file and call.line else None
    return Change(text, edit, call)


def _track(crash: CrashFact) -> Change:
    where = crash.layer.place if crash.layer is not None and crash.layer.place.file else crash.place
    text = (
        f"build it with `track_running_stats=True` at {place_text(where)}: with what it has seen in training, "
        "`model.eval()` lets it take a single sample"
    )
    return Change(text, None, where)


def _on_the_way(crash: CrashFact, samples: int) -> Change:
    layer = crash.layer
    where = layer.call if layer is not None and layer.call.file else crash.place
    text = (
        f"look at what makes the input of {place_text(where)}: of the {samples} samples one is left there. "
        "Keep the samples in dimension 0"
    )
    return Change(text, None, where)


def _skip(crash: CrashFact, entry: Entry | None) -> Change:
    call = entry.statement.line if entry is not None else crash.place
    text = f"give it two samples or more at {place_text(call)}, or leave a batch of one out"
    return Change(text, None, call)


def _by(step: FlowStep) -> str:
    return f"`{step.path}` ({step.kind}) made {shape_text(step.made[0])} of {shape_text(step.given[0])}"


def _pooling(crash: CrashFact) -> FlowStep | None:
    """The innermost module that left one place of several."""
    found = [
        step
        for step in crash.flow
        if step.given
        and step.made
        and len(step.given[0]) == len(step.made[0]) > 2
        and math.prod(step.made[0][2:]) == 1 < math.prod(step.given[0][2:])
    ]
    return max(found, key=lambda step: step.depth, default=None)


def _one_place(crash: CrashFact, fact: SingleValueFact) -> MessageAndChange:
    """InstanceNorm works out a spread for each sample and channel, whatever the batch holds."""
    message = f"{_norm_name(crash, fact)} got one value for each sample and channel, {shape_text(fact.shape)}"
    step = _pooling(crash)
    line = place_text(crash.layer.place) if crash.layer is not None and crash.layer.place.file else "that line"
    where = crash.layer.place if crash.layer is not None else crash.place
    by = f"; {_by(step)}" if step else ""
    text = f"leave it out at {line}, or give the model larger inputs, so that more than one place is left"
    return f"{message}{by}", Change(text, None, where)


def _one_channel(crash: CrashFact, fact: SingleValueFact) -> MessageAndChange:
    message = (
        f"{_norm_name(crash, fact)} got one value for each of its {fact.groups} groups, "
        f"{shape_text(fact.shape)}: {fact.shape[1]} channels in {fact.groups} groups"
    )
    where = crash.layer.place if crash.layer is not None and crash.layer.place.file else crash.place
    text = f"build it with fewer groups at {place_text(where)}, so that each has more than one channel"
    return message, Change(text, None, where)


class BatchOfOne(CrashCheck):
    """A BatchNorm layer in training mode got a batch of one sample, most often the last of a DataLoader.

    Symptom:
        "Expected more than 1 value per channel when training, got input size torch.Size([1, 48])", often at
        the end of the first epoch; "Expected more than 1 spatial element when training" from InstanceNorm.
    Evidence:
        The shape that reached the layer, the loop around the call, the number of samples and the batch size of
        its DataLoader, and whether gradients are switched off around the call.
    Fix:
        `drop_last=True` for the DataLoader; `model.eval()` before a call that is no training; larger batches.
    Known limits:
        A loop that goes through a generator of your own is not counted: the finding then names the call.
    """

    id = "TD905"
    name = "batch-of-one"
    title = "a normalization layer was given one value for each channel"
    explainers = (explain_single_value,)


# Loops whose last batch holds one sample: the numbers, and how to leave that batch out.
MessageAndChange = tuple[str, Change]


def from_loader(source: BatchSource) -> MessageAndChange:
    place = source.place if source.place.file else source.loop
    calls = calls_of(source.place.code or "", "DataLoader")
    call = calls[0] if len(calls) == 1 else ""
    if source.batch_size == 1:
        return f"`{source.name}` gives one sample at a time", _larger(source, call)
    if not call:
        text = f"give the DataLoader `{source.name}` `drop_last=True`, which leaves that batch out"
        return _numbers(source), Change(text, None, place)
    written = argument_of(call, 99, "drop_last")
    changed = written.replaced("True") if written is not None else with_argument(call, "drop_last=True")
    text = f"change `{one_line(call)}` to `{one_line(changed)}` at {place_text(place)}: it leaves that batch out"
    return _numbers(source), Change(text, rewritten(source.place, call, changed), place)


def _numbers(source: BatchSource) -> str:
    whole = source.samples // source.batch_size
    sums = f"{source.samples} samples are {whole} x {source.batch_size} + {source.last}"
    return f"the last batch of `{source.name}` holds {source.last} sample ({sums})"


def _larger(source: BatchSource, call: str) -> Change:
    place = source.place if source.place.file else source.loop
    size = argument_of(call, 1, "batch_size") if call else None
    written = f"`batch_size={size.text}`" if size is not None else "the batch size of one"
    text = (
        f"give the DataLoader at {place_text(place)} 2 samples or more instead of {written}, or build the "
        "model with GroupNorm or LayerNorm, which do without the rest of the batch"
    )
    return Change(text, None, place)


def from_range(source: BatchSource) -> MessageAndChange:
    node = ast.parse(source.name, mode="eval").body
    assert isinstance(node, ast.Call)
    first, end, step = (ast.unparse(part) for part in node.args)
    changed = f"range({first}, {end} - 1, {step})"
    text = f"write `{changed}` at {place_text(source.loop)}: it leaves a batch of one out, and no other"
    because = f"the last round of `{source.name}` holds 1 sample"
    whole = source.samples // source.batch_size
    sums = f"{source.samples} = {whole} x {source.batch_size} + {source.last}"
    return f"{because} ({sums})", Change(text, rewritten(source.loop, source.name, changed), source.loop)
