"""TD951: a module without a forward was called."""

from __future__ import annotations

import ast
import difflib
import math
import re
from dataclasses import replace

from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import (
    Blame,
    layer_name,
    line_text,
    listed,
    place_text,
    shape_text,
    user_frame,
)
from torch_debugger.checks.crashes.layers_and_losses import OutermostCall, constructor_place, model_entry
from torch_debugger.checks.crashes.user_code import (
    Change,
    argument_of,
    calls_of,
    edited_place,
    first_line,
    is_simple_statement,
    one_line,
    parse_expression,
    respelled,
    rewritten,
    statement_place,
    with_argument,
    with_change,
)
from torch_debugger.records import CrashFact, Edit, FlowStep, Place
from torch_debugger.records.crash_modules import (
    ArgumentsFact,
    BatchSource,
    ClassUseFact,
    ForwardFact,
    SingleValueFact,
)

# A module that was called and has no forward: misspelt, wrongly indented, or a list of modules.
_WHY = "Calling a module runs its method `forward`; `nn.Module` itself has none that does anything."


def explain_missing_forward(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.forward if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.cls in ("ModuleList", "ModuleDict"):
        return _called_container(crash, fact)
    if not fact.place.file:
        return None
    start, near, where, edit = f"{_name(fact)} has no `forward`", fact.near, fact.place, None
    if near is None:
        message = f"{_name(fact)} was called but its class has no `forward`."
        fix = f"Write `def forward(self, x):` in `class {fact.cls}` at {place_text(fact.place)}."
    else:
        where, line = near.place, place_text(near.place)
        if near.inside == "<module>":
            message = f"{start}: the one at {line} stands outside of the class."
            fix = f"Indent `{near.place.code}` and its body by one level, into the class."
        elif near.inside:
            message = f"{start}: the one at {line} stands inside `{near.inside}`."
            fix = f"Move `{near.place.code}` and its body one level out, beside `def {near.inside}`."
        else:
            message = f"{start}; it has a method `{near.name}` at {line}."
            fix = f"Rename `{near.name}` to `forward` at {line}."
            edit = replace_in_line(near.place, f"{near.name}(", "forward(")
    evidence: dict[str, float | str] = {"class": line_text(fact.place), "call": line_text(crash.place)}
    return Blame(message, _WHY, fix, where, evidence, 0.98, edit)


def _called_container(crash: CrashFact, fact: ForwardFact) -> Blame:
    """A list or dict of modules has no order of its own in which to run them."""
    where, edit = crash.place, None
    if fact.cls == "ModuleDict":
        last, code = fact.path.rpartition(".")[2], statement_place(crash).code or ""
        written = re.search(rf"[\w.]*\b{re.escape(last)}(?=\()", code) if last else None
        told = f", as in `{written[0]}[{fact.keys[0]!r}](...)`" if written and fact.keys else ""
        fix = f"Choose the module to run by its key{told}; the keys are {', '.join(map(repr, fact.keys))}."
    else:
        place = constructor_place(crash.layer) if crash.layer is not None else Place()
        edit = rewritten(place, "nn.ModuleList([", "nn.Sequential(*[") if place.file else None
        fix = (
            "Loop over it in `forward`, or build it as `nn.Sequential(*[...])`, which runs its layers one after the "
            "other."
        )
        if edit is not None:
            change = "Change `nn.ModuleList([` to `nn.Sequential(*[`"
            fix = f"{change} at {place_text(place)}, or loop over it in `forward`."
            where = Place(place.file, place.line, place.module, first_line(place))
    return Blame(
        f"{f'`{fact.path}`' if fact.path else 'a module'} is an `nn.{fact.cls}` of {len(fact.keys)} and was called "
        "like a layer.",
        f"An `nn.{fact.cls}` only holds modules; it has no `forward` that runs them.",
        fix,
        where,
        {"entries": ", ".join(fact.keys), "call": line_text(crash.place)},
        0.97,
        edit,
    )


def _name(fact: ForwardFact | ArgumentsFact) -> str:
    return f"`{fact.path}` ({fact.cls})" if fact.path else f"`{fact.cls}`"


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
    unknown = [name for name in fact.keywords if name not in fact.takes]
    missing = [name for name in fact.required[len(fact.given) :] if name not in fact.keywords]
    where, why, edit = crash.place, _CALL_WHY, None
    if fact.without_self and fact.place.file:
        message = f"`forward` of {_name(fact)} has no `self`: {line_text(fact.place)}"
        why = "Python hands the object itself to a method as its first argument."
        fix = f"Write `self` as the first argument at {place_text(fact.place)}."
        empty = "forward()" in (fact.place.code or "")
        edit = replace_in_line(
            fact.place, *(("forward()", "forward(self)") if empty else ("forward(", "forward(self, "))
        )
        where = fact.place
    elif unknown:
        name = unknown[0]
        message = f"{_name(fact)} was called with `{name}=`, and {_takes(fact)} has no such argument."
        close = difflib.get_close_matches(name, fact.takes, 1, 0.6)
        fix = f"Give it one of {listed(fact.takes)}, or add `{name}` to `forward`."
        if close:
            place = statement_place(crash)
            fix = f"Write `{close[0]}=` instead of `{name}=` at {place_text(crash.place)}."
            edit = replace_in_line(place, f"{name}=", f"{close[0]}=") if "\n" not in (place.code or "") else None
    elif missing:
        message, fix = _too_few(crash, fact, missing)
    elif len(fact.given) > len(fact.takes):
        message, fix = _too_many(crash, fact)
    else:
        return None
    given = [*fact.given, *(f"{name}=..." for name in fact.keywords)]
    evidence: dict[str, float | str] = {"given": ", ".join(given) or "nothing", "call": line_text(crash.place)}
    if fact.place.file:
        evidence["forward"] = line_text(fact.place)
    return Blame(message, why, fix, where, evidence, 0.98, edit)


def _takes(fact: ArgumentsFact) -> str:
    line = f" at {place_text(fact.place)}" if fact.place.file else ""
    names = fact.takes if len(fact.takes) <= _NAMES_SHOWN else (*fact.required, "...")
    return f"`forward({', '.join(names)})`{line}"


def _too_few(crash: CrashFact, fact: ArgumentsFact, missing: list[str]) -> tuple[str, str]:
    got = f"{len(fact.given) + len(fact.keywords)}" if fact.given or fact.keywords else "none"
    message = (
        f"{_name(fact)} was called without {listed(missing)}: {_takes(fact)} needs "
        f"{len(fact.required)} arguments and got {got}."
    )
    fix = f"Give {listed(missing)} too at {place_text(crash.place)}"
    if fact.caller:
        fix = (
            f"An `nn.Sequential` hands on one value. Take {_name(fact)} out of `{fact.caller}` and call "
            f"it yourself with {listed(fact.required)}"
        )
    elif fact.cls in _MEANT:
        fix += f": {_MEANT[fact.cls]}"
    elif fact.place.file:
        defaults = "it a default" if len(missing) == 1 else "them defaults"
        fix += f", or give {defaults} at {place_text(fact.place)}: `{missing[0]}=None`"
    return message, f"{fix}."


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
    name, given = f"`{fact.written}` is the class `{fact.cls}` itself", " and ".join(fact.tensors[:2])
    if not fact.tensors:
        message = f"{name}, not an object of it, so `{fact.call}` has nothing to work on."
    elif fact.assigned.file:
        message = f"{name}: `{fact.call}` builds a new object from {given} instead of running one."
    else:
        what = "a loss" if fact.is_loss else "a module"
        message = f"`{fact.call}` builds {what} with {given} as its settings instead of running it on them."
    change = _change(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(fact.place)}
    if fact.tensors:
        evidence["given"] = ", ".join(fact.tensors)
    if fact.assigned.file:
        evidence["class"] = line_text(fact.assigned)
    why = _TWO_STEPS.format(cls=fact.cls if fact.assigned.file else fact.written)
    if change.edit is None:
        change = replace(change, where=fact.place)
    return with_change(crash, message, why, change, evidence)


def _change(crash: CrashFact, fact: ClassUseFact) -> Change:
    needed = ", ".join(fact.needs)
    if fact.assigned.file:
        # model = Net -> model = Net()
        code, line = fact.assigned.code or "", place_text(fact.assigned)
        if fact.needs:
            return Change(f"build an object at {line}: `{code}({needed})`", None, fact.assigned)
        edit = replace_in_line(fact.assigned, code, f"{code}()") if code.endswith(fact.cls) else None
        return Change(f"write `{code}()` instead of `{code}` at {line}", edit, fact.assigned)
    named = [name for name in fact.objects if fact.call.startswith(f"{fact.written}(")]
    # The whole statement of the call, where it is the one that crashed.
    whole = statement_place(crash)
    lines = (whole.code or "").split("\n")
    same = whole.file == fact.place.file and whole.line is not None and fact.place.line is not None
    place = whole if same and 0 <= (fact.place.line or 0) - (whole.line or 0) < len(lines) else fact.place
    if named and not fact.is_loss and fact.written == fact.cls:
        return respelled(place, fact.call, fact.call.replace(f"{fact.written}(", f"{named[0]}(", 1))
    if not fact.tensors:
        return respelled(place, fact.call, fact.call.replace(fact.written, f"{fact.written}({needed})", 1))
    split = _split(crash, fact)
    if split is not None and fact.torchs and not fact.weights:
        return respelled(place, fact.call, split)
    # What has weights, or a mode, is built before the loop and not each time it runs.
    frame = user_frame(crash)
    inside = frame is not None and frame.module is not None and frame.function != "__init__"
    name = "self.layer" if inside else fact.cls.lower()
    where = "once in `__init__`" if inside else "once, before the loop"
    built = f"`{name} = {fact.written}({needed})`"
    return Change(f"build it {where}, {built}, and call `{name}(x)` at {place_text(fact.place)}", None, fact.place)


def _split(crash: CrashFact, fact: ClassUseFact) -> str | None:
    """nn.Softmax(x, dim=1) -> nn.Softmax(dim=1)(x); a loss takes its first two arguments to the call."""
    node = parse_expression(fact.call)
    if not isinstance(node, ast.Call) or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    count = 2 if fact.is_loss else 1
    inputs, settings = node.args[:count], node.args[count:]
    if fact.cls.startswith("Dropout"):
        # A dropout built anew each time is always in training mode: the function takes the model's.
        frame = user_frame(crash)
        if frame is None or frame.module is None or fact.cls != "Dropout" or not fact.written.startswith("nn."):
            return None
        given = [ast.unparse(part) for part in (*node.args, *node.keywords)]
        return f"nn.functional.dropout({', '.join(given)}, training=self.training)"
    words = list(node.keywords)
    if not inputs:
        inputs, words = [word.value for word in words[:count]], words[count:]
    built = ast.Call(node.func, settings, words)
    return f"{ast.unparse(built)}({', '.join(ast.unparse(part) for part in inputs)})"


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
    why, layer, shape = _WHY_OTHERS, crash.layer, shape_text(fact.shape)
    built = layer.place if layer is not None and layer.place.file else None
    name = f"`{fact.function}`"
    if layer is not None:
        name = f"{layer_name(layer)} ({layer.kind})" if layer.path else layer_name(layer)
    step = _pooling(crash) if len(fact.shape) > 2 or fact.function == "instance_norm" else None
    by = f"`{step.path}` ({step.kind}) made {shape_text(step.made[0])} of {shape_text(step.given[0])}" if step else ""
    if fact.function == "instance_norm":
        # It works out a spread for each sample and channel, whatever the batch holds.
        message = f"{name} got one value for each sample and channel, {shape}{f'; {by}' if step else ''}"
        text = (
            f"leave it out at {place_text(built) if built else 'that line'}, or give the model larger inputs, so that "
            "more than one place is left"
        )
        change = Change(text, None, layer.place if layer is not None else crash.place)
    elif fact.function == "group_norm":
        groups = f"{fact.groups} groups"
        message = f"{name} got one value for each of its {groups}, {shape}: {fact.shape[1]} channels in {groups}"
        where = built or crash.place
        text = f"build it with fewer groups at {place_text(where)}, so that each has more than one channel"
        change = Change(text, None, where)
    elif fact.shape[0] * math.prod(fact.shape[2:]) == 1:
        # Of an image pooled to one place: with more places left, one sample would have been enough.
        why = f"{_NORM_WHY}.{f' {by}: one place of one sample is left.' if step else ''}"
        mode = "in training mode" if fact.tracks else "and keeps no running statistics"
        told, change = _one_sample(crash, fact)
        message = f"{name} got one value for each channel, {shape}, {mode}{told}"
    else:
        return None
    evidence: dict[str, float | str] = {"input": shape}
    if fact.source is not None:
        evidence |= {"samples": float(fact.source.samples), "batch size": float(fact.source.batch_size)}
    if built is not None:
        evidence["layer"] = line_text(built)
    blame = with_change(crash, f"{message}.", why, change, evidence | {"line": line_text(crash.place)})
    return replace(blame, where=replace(edited_place(crash, change), module=None))


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


def _one_sample(crash: CrashFact, fact: SingleValueFact) -> MessageAndChange:
    entry = model_entry(crash)
    if fact.without_gradients:
        return ", while nothing is trained", _evaluate(crash, fact, entry)
    if fact.source is not None:
        because, change = (from_range if fact.source.is_range else from_loader)(fact.source)
        return f": {because}", change
    given = entry.inputs[0].shape if entry is not None and entry.inputs else ()
    if entry is not None and given[:1] not in ((), (1,)):
        layer = crash.layer
        where = layer.call if layer is not None and layer.call.file else crash.place
        text = (
            f"look at what makes the input of {place_text(where)}: of the {given[0]} samples one is left there. "
            "Keep the samples in dimension 0"
        )
        return f", although `{entry.module}` was given {shape_text(given)}", Change(text, None, where)
    if fact.trains:
        call = entry.statement.line if entry is not None else crash.place
        text = f"give it two samples or more at {place_text(call)}, or leave a batch of one out"
        return ": the batch holds one sample", Change(text, None, call)
    return ": the model was called with one sample", _evaluate(crash, fact, entry)


def _evaluate(crash: CrashFact, fact: SingleValueFact, entry: OutermostCall | None) -> Change:
    """Write model.eval() above the call, or above the loop that makes it."""
    if not fact.tracks:
        where = crash.layer.place if crash.layer is not None and crash.layer.place.file else crash.place
        text = (
            f"build it with `track_running_stats=True` at {place_text(where)}: with what it has seen in training, "
            "`model.eval()` lets it take a single sample"
        )
        return Change(text, None, where)
    name, call = "model", crash.place
    if entry is not None:
        node = parse_expression(entry.statement.failing)  # the model as the user's line calls it: self.net
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else entry.module
        call = entry.statement.whole
    if fact.source is not None:
        loop = fact.source.loop
        text = f"write `{name}.eval()` above the loop at {place_text(loop)}, and `{name}.train()` before you train"
        return Change(text, None, loop)
    first = first_line(call)
    text = f"write `{name}.eval()` above {place_text(call)}; `{name}.train()` goes back to training"
    plain = call.file and call.line and is_simple_statement(call.code or "") and not fact.trains
    edit = Edit(call.file, call.line, first, f"{name}.eval()\n{first}") if plain and call.file and call.line else None
    return Change(text, edit, call)


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
        size = argument_of(call, 1, "batch_size") if call else None
        written = f"`batch_size={size.text}`" if size is not None else "the batch size of one"
        text = (
            f"give the DataLoader at {place_text(place)} 2 samples or more instead of {written}, or build the "
            "model with GroupNorm or LayerNorm, which do without the rest of the batch"
        )
        return f"`{source.name}` gives one sample at a time", Change(text, None, place)
    sums = f"{source.samples} samples are {source.samples // source.batch_size} x {source.batch_size} + {source.last}"
    because = f"the last batch of `{source.name}` holds {source.last} sample ({sums})"
    if not call:
        text = f"give the DataLoader `{source.name}` `drop_last=True`, which leaves that batch out"
        return because, Change(text, None, place)
    dropped = argument_of(call, 99, "drop_last")
    changed = dropped.replaced("True") if dropped is not None else with_argument(call, "drop_last=True")
    text = f"change `{one_line(call)}` to `{one_line(changed)}` at {place_text(place)}: it leaves that batch out"
    return because, Change(text, rewritten(source.place, call, changed), place)


def from_range(source: BatchSource) -> MessageAndChange:
    node = parse_expression(source.name)
    assert isinstance(node, ast.Call)
    first, end, step = (ast.unparse(part) for part in node.args)
    changed = f"range({first}, {end} - 1, {step})"
    text = f"write `{changed}` at {place_text(source.loop)}: it leaves a batch of one out, and no other"
    because = f"the last round of `{source.name}` holds 1 sample"
    whole = source.samples // source.batch_size
    sums = f"{source.samples} = {whole} x {source.batch_size} + {source.last}"
    return f"{because} ({sums})", Change(text, rewritten(source.loop, source.name, changed), source.loop)
