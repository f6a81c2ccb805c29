"""TD950: the base class of an object was never initialised."""

from __future__ import annotations

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, as_sentence, line_text, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    argument_of,
    calls_of,
    change_argument,
    edited_place,
    line_edit,
    line_replaced,
    rewritten,
    statement_place,
)
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash_modules import InitFact, RegistrationRefusal

# A base class that was never initialised: super().__init__() is missing, late, misspelt or miscalled.
_WHY = (
    "{base} makes its own tables of layers, parameters and buffers in its `__init__`; until that has run, "
    "nothing can be registered in the object and it cannot be called."
)
_WHY_OTHER = "The attributes that {base} works with are made in its `__init__`, and that has not run."


def explain_base_init(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.init if crash.evidence.building is not None else None
    if fact is None:
        return None
    explain = {
        "missing": _missing, "late": _late, "not called": _miscalled, "wrong super": _miscalled,
        "arguments": _arguments, "misspelt": _misspelt, "dataclass": _dataclass,
    }[fact.fault]  # fmt: skip
    return explain(fact)


def _blame(fact: InitFact, message: str, fix: str, edit: Edit | None, why: str = "") -> Blame:
    words = _WHY if fact.base.endswith("Module") or fact.fault == "misspelt" else _WHY_OTHER
    evidence: dict[str, float | str] = {"class": fact.cls, "line": line_text(fact.place)}
    why = why or words.format(base=f"`{fact.base}`")
    return Blame(message, why, fix, fact.place, evidence, 0.98, edit)


def _missing(fact: InitFact) -> Blame:
    place = fact.place
    message = f"`{fact.cls}.__init__` never calls `super().__init__()`, so {_lacking(fact)}."
    fix = f"Put `super().__init__({fact.written})` as the first line of `__init__`, at {place_text(place)}."
    one_liner = (place.code or "").startswith("def ")
    edit = None if one_liner or fact.written else line_replaced(place, f"super().__init__()\n{place.code}")
    return _blame(fact, message, fix, edit)


def _lacking(fact: InitFact) -> str:
    """What fails therefore: an attribute of the user's that is assigned, or one of the base class's own."""
    if fact.needed and not fact.needed.startswith("_") and fact.base.endswith("Module"):
        return f"`self.{fact.needed}` cannot be registered"
    needed = f", `{fact.needed}` for one" if fact.needed else ""
    return f"its objects lack what `{fact.base}` gives them{needed}"


def _late(fact: InitFact) -> Blame:
    message = (
        f"`{fact.cls}.__init__` assigns `self.{fact.needed}` before it calls `super().__init__()` at "
        f"{place_text(fact.place)}."
    )
    fix = f"Move `{fact.place.code}` up, before {line_text(fact.first)}; it must be the first line of `__init__`."
    return _blame(fact, message, fix, None)


def _miscalled(fact: InitFact) -> Blame:
    message = f"`{fact.cls}.__init__` does not initialise `{fact.base}`: `{fact.written}` {_wrong(fact)}."
    code = fact.place.code or ""
    edit = None
    if (fact.place.file and fact.place.line and "super" in code) or "__init__" in code:
        edit = Edit(str(fact.place.file), fact.place.line or 0, code, "super().__init__()")
    plain = code in (fact.written, f"{fact.written}()", f"{fact.written}.__init__()")
    return _blame(
        fact,
        message,
        f"Write `super().__init__()` instead of `{code}` at {place_text(fact.place)}.",
        edit if plain else None,
    )


def _wrong(fact: InitFact) -> str:
    written = fact.written
    if fact.fault == "not called":
        return "only names the method and does not call it"
    if written.startswith("super.") or written == "super.__init__()":
        return "asks the class `super` itself: the parentheses behind `super` are missing"
    if written.startswith("super("):
        name = written.removeprefix("super(").partition(",")[0]
        if written.endswith(")") and "," in written:
            return f"names `{name}`, and `{fact.cls}` is not derived from that"
        return "is no method of it: the name is `__init__`"
    return "is called without `self`"


def _arguments(fact: InitFact) -> Blame:
    message = f"`{fact.cls}.__init__` hands arguments on to `{fact.base}`, which takes none: `{fact.written}`."
    why = f"`{fact.base}` keeps no settings: sizes and the like belong to your own class."
    fix = f"Write `super().__init__()` instead of `{fact.place.code}` at {place_text(fact.place)}."
    code = fact.place.code or ""
    edit = line_edit(fact.place, code, "super().__init__()") if code == fact.written else None
    return _blame(fact, message, fix, edit, why)


def _misspelt(fact: InitFact) -> Blame:
    wanted = f"; `self.{fact.needed}`, which it assigns, does not exist therefore" if fact.needed else ""
    message = (
        f"`{fact.cls}` has no `__init__`: its constructor is spelt `{fact.written}` "
        f"at {place_text(fact.place)}{wanted}."
    )
    why = "Python calls `__init__`, with two underscores on each side, when an object is made; no other name."
    fix = f"Rename `{fact.written}` to `__init__` at {place_text(fact.place)}."
    return _blame(fact, message, fix, line_edit(fact.place, f"{fact.written}(", "__init__("), why)


def _dataclass(fact: InitFact) -> Blame:
    message = f"`{fact.cls}` is a dataclass: the `__init__` that is made for it does not initialise `{fact.base}`."
    fix = (
        f"Leave `@dataclass` off `{fact.cls}` and write its `__init__` yourself, with `super().__init__()` as the "
        "first line."
    )
    return _blame(fact, message, fix, None)


class SuperInitMissing(CrashCheck):
    """A class derived from a library's does not let its base class initialise itself.

    Symptom:
        "cannot assign module before Module.__init__() call", "object has no attribute '_parameters'",
        "takes no arguments", or a layer that does not exist although the constructor assigns it.
    Evidence:
        The object that lacks what its base class would have made, and the source of its class: an
        `__init__` without `super().__init__()`, with it too late, called wrongly, or under a misspelt name.
    Fix:
        Make `super().__init__()` the first line of `__init__`.
    Known limits:
        Where the call exists but comes too late it must be moved, which is told in words and not as an edit.
        Classes whose source cannot be read are left alone.
    """

    id = "TD950"
    name = "super-init-missing"
    title = "a base class was never initialised"
    explainers = (explain_base_init,)


# Something a module cannot take: a list, a function, a class, a plain tensor, a name that is in use.
_REGISTRATION_WHY = {
    "module": "A module keeps its children by name and moves, saves and trains them; only modules can be children.",
    "parameter": "A name that stands for a parameter can only hold an `nn.Parameter`, or None.",
    "buffer": "A buffer is a tensor that is saved and moved with the module; the name can hold a tensor or None.",
}


def explain_registration(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.registration if crash.evidence.building is not None else None
    if fact is None:
        return None
    in_container = fact.function in ("Sequential", "ModuleList", "ModuleDict", "add_module")
    explain = {
        "several": explain_several,
        "no list": explain_no_list,
        "taken": explain_taken,
        "dot": explain_dotted,
        "not a name": explain_not_a_name,
        "whole numbers": _whole_numbers,
        "no tensor": _no_tensor,
        "no module": _no_module,
        "kind": explain_entry if in_container else _kind,
    }[fact.fault]
    message, change, why = explain(crash, fact)
    where = edited_place(crash, change)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.given:
        evidence["given"] = fact.given
    if fact.place.file and fact.place.line != crash.place.line:
        evidence["name made at"] = line_text(fact.place)
    return Blame(
        message, why or _REGISTRATION_WHY[fact.role], as_sentence(change.text), where, evidence, 0.97, change.edit
    )


def _kind(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    role = f"layer ({fact.held})" if fact.role == "module" and fact.held else fact.role
    message = f"`{fact.name}` of `{fact.owner}` is a {role}, and {a_kind(fact.given)} was assigned to it."
    place = statement_place(crash)
    if fact.role == "module":
        return message, *_over_a_layer(crash, place, fact)
    wrapper = "nn.Parameter" if fact.role == "parameter" and fact.given == "Tensor" else "torch.tensor"
    code = place.code or ""
    target, equals, value = code.partition(" = ")
    if fact.function == "__setattr__" and equals and "\n" not in code and place.file and place.line:
        edit = Edit(place.file, place.line, code, f"{target} = {wrapper}({value})")
        return message, Change(f"write `{edit.after}` at {place_text(place)}", edit, place), ""
    change = change_argument(place, fact.function, 1, "", f"{wrapper}({{}})", "")
    wrapped = change.edit if fact.given in ("Tensor", "float", "int", "list") else None
    return message, Change(f"wrap it: `{wrapper}(...)` at {place_text(place)}", wrapped, place), ""


def _over_a_layer(crash: CrashFact, place: Place, fact: RegistrationRefusal) -> tuple[Change, str]:
    """self.fc = self.fc(x) in a forward"""
    value = (place.code or "").partition(" = ")[2] or "..."
    local = fact.name if fact.name != "x" else "out"
    text = f"keep the result in a local variable, `{local} = {value}`, and leave `self.{fact.name}` to the layer"
    made = f" at {place_text(fact.place)}" if fact.place.file else ""
    why = f"`self.{fact.name}` was made a layer ({fact.held}){made}; a result must not take its place."
    return Change(text, None, place), why


def _whole_numbers(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    message = f"`nn.Parameter` was given a tensor of whole numbers ({fact.given}), which has no gradient."
    why = "A parameter is trained by its gradient, and only floating point tensors have one."
    place = statement_place(crash)
    return (
        message,
        change_argument(place, "Parameter", 0, "data", "{}.float()", "make it floating point: `.float()`"),
        why,
    )


def _no_tensor(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    message = f"`nn.Parameter` was given {a_kind(fact.given)} and no tensor."
    pattern = "torch.from_numpy({}).float()" if fact.given == "ndarray" else "torch.tensor({})"
    else_do = f"make it a tensor: `{pattern.format('...')}`"
    return message, change_argument(statement_place(crash), "Parameter", 0, "data", pattern, else_do), ""


def _no_module(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    """class Net: -> class Net(nn.Module):"""
    asked = "was called" if fact.function == "a call" else f"was asked for `{fact.function}`"
    message = f"An object of `{fact.name}` {asked} like a module, but the class does not derive from `nn.Module`."
    why = "Being callable, `parameters()`, `to()`, `train()` and `state_dict()` all come from `nn.Module`."
    code = fact.place.code or ""
    after = f"class {fact.name}(nn.Module):"
    plain = code in (f"class {fact.name}:", f"class {fact.name}():", f"class {fact.name}(object):")
    edit = line_edit(fact.place, code, after) if plain and fact.held else None
    rest = "" if fact.held else ", and `super().__init__()` as the first line of its `__init__`"
    return message, Change(f"write `{after}` at {place_text(fact.place)}{rest}", edit, fact.place), why


class NotAModule(CrashCheck):
    """A module was given something it cannot hold, or a name it cannot use.

    Symptom:
        "list is not a Module subclass", "cannot assign 'torch.FloatTensor' as parameter 'weight'", "attribute
        'mean' already exists", "module name can't contain", "'Net' object has no attribute 'parameters'".
    Evidence:
        What was to be registered and under which name, from the frame that refused it; what holds the name
        already and the line that assigned it; the class statement of an object that is no module.
    Fix:
        The module form of a function, an object instead of a class, a star before a list, `nn.Parameter`
        around a tensor, another name.
    Known limits:
        A function without a module form needs a module of your own, which is told in words.
    """

    id = "TD956"
    name = "not-a-module"
    title = "a module was given something it cannot hold"
    explainers = (explain_registration,)


# What a container of modules was given and cannot hold: a list, a function, a class.
_MODULES = {
    "relu": "nn.ReLU()", "sigmoid": "nn.Sigmoid()", "tanh": "nn.Tanh()", "gelu": "nn.GELU()", "elu": "nn.ELU()",
    "silu": "nn.SiLU()", "leaky_relu": "nn.LeakyReLU()", "softplus": "nn.Softplus()", "dropout": "nn.Dropout()",
    "flatten": "nn.Flatten()", "softmax": "nn.Softmax(dim=1)", "log_softmax": "nn.LogSoftmax(dim=1)",
}  # fmt: skip


def explain_entry(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    kind, _, name = fact.given.partition(" ")
    holder = f"nn.{fact.function}" if fact.function != "add_module" else "add_module"
    place = statement_place(crash)
    if kind == "class":
        message = f"`{holder}` was given the class `{name}` as layer {fact.name}, and not an object of it."
        return message, _built(place, name), ""
    if kind == "function":
        name = name.removeprefix("torch.")
        message = f"`{holder}` was given the function `{name}` as layer {fact.name}, and not a module."
        why = "A function has no place in a list of modules; its module form does."
        return message, _as_module(place, name), why
    if kind in ("list", "tuple", "generator") and fact.function == "Sequential":
        return _one_by_one(place, kind, fact)
    message = f"`{holder}` was given {a_kind(fact.given)} as entry {fact.name!r}, and not a module."
    return message, Change(f"give it modules only, at {place_text(place)}", None, place), ""


def _one_by_one(place: Place, kind: str, fact: RegistrationRefusal) -> Explanation:
    """nn.Sequential(layers) -> nn.Sequential(*layers)"""
    many = f" of {fact.size} modules" if fact.held == "modules" else ""
    message = f"`nn.Sequential` was given a {kind}{many}, where it takes the modules one by one."
    calls = calls_of(place.code or "", fact.function)
    argument = argument_of(calls[0], 0, "") if len(calls) == 1 else None
    text = f"put a star before it: `nn.Sequential(*...)` at {place_text(place)}"
    if argument is None:
        return message, Change(text, None, place), ""
    changed = argument.replaced(f"*{argument.text}")
    if kind == "generator" and argument.text.startswith("("):  # as the only argument it has no own parentheses
        changed = f"{calls[0].replace('(', '(*[', 1)[:-1]}])"
    edit = rewritten(place, argument.call, changed) or _starred(place, fact.function)
    return message, Change(text, edit, place), ""


def _starred(place: Place, function: str) -> Edit | None:
    """nn.Sequential([ -> nn.Sequential(*[, where the list spans several lines."""
    return rewritten(place, f"{function}([", f"{function}(*[")


def _built(place: Place, name: str) -> Change:
    """nn.ReLU, -> nn.ReLU(),"""
    code = place.code or ""
    found = [end for end in (",", ")", "\n") if code.count(f"{name}{end}") == 1]
    edit = rewritten(place, f"{name}{found[0]}", f"{name}(){found[0]}") if found else None
    return Change(f"write `{name}()` instead of `{name}` at {place_text(place)}", edit, place)


def _as_module(place: Place, name: str) -> Change:
    module = _MODULES.get(name)
    if module is None:
        text = f"write a small `nn.Module` whose `forward` calls it, or call it in `forward`, at {place_text(place)}"
        return Change(text, None, place)
    for written in (f"torch.nn.functional.{name}", f"nn.functional.{name}", f"F.{name}", f"torch.{name}"):
        if (place.code or "").count(written) == 1:
            text = f"write `{module}` instead of `{written}` at {place_text(place)}"
            return Change(text, rewritten(place, written, module), place)
    return Change(f"write `{module}` instead of `{name}` at {place_text(place)}", None, place)


def explain_several(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.function)
    message = f"`nn.{fact.function}` was given {fact.size} modules one by one, where it takes one list."
    if len(calls) != 1:
        return message, Change(f"put them into a list at {place_text(place)}", None, place), ""
    opening, _, inside = calls[0].partition("(")
    changed = f"{opening}([{inside[:-1]}])"
    return (
        message,
        Change(
            f"put them into a list: `nn.{fact.function}([...])` at {place_text(place)}",
            rewritten(place, calls[0], changed),
            place,
        ),
        "",
    )


def explain_no_list(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    message = f"`nn.{fact.function}` was given {a_kind(fact.given)}, where it takes a list of modules."
    else_do = f"write `nn.{fact.function}([...])`"
    return message, change_argument(statement_place(crash), fact.function, 0, "", "[{}]", else_do), ""


# Names under which a module cannot take anything: in use, with a dot, or no text.
def _swap(crash: CrashFact, before: str, after: str) -> Change:
    place = statement_place(crash)
    return Change(
        f"write `{after}` instead of `{before}` at {place_text(place)}", rewritten(place, before, after), place
    )


def _quoted(crash: CrashFact, name: str, new: str) -> Change | None:
    """Another name in the place of one that is written as text, in either kind of quotes."""
    code = statement_place(crash).code or ""
    quote = next((quote for quote in "'\"" if code.count(f"{quote}{name}{quote}") == 1), None)
    return _swap(crash, f"{quote}{name}{quote}", f"{quote}{new}{quote}") if quote else None


def explain_taken(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    line = f", assigned at {place_text(fact.place)}" if fact.place.file else ""
    kind = fact.held.partition(" ")[0]
    held = "a method of it" if kind == "function" else f"a {kind}{line}"
    message = f"The name `{fact.name}` is taken in `{fact.owner}`: it is {held}."
    why = "A module, parameter or buffer is an attribute of its owner, so its name must not be in use."
    place = statement_place(crash)
    assigned = fact.place.code or ""
    if kind != "function" and fact.place.file and fact.place.line and assigned.startswith(f"self.{fact.name} = "):
        in_use = f"self.{fact.name}" in (place.code or "")
        edit = None if in_use else Edit(fact.place.file, fact.place.line, assigned, "")
        text = f"register it only once: take `{assigned}` at {place_text(fact.place)} out"
        return message, Change(text, edit, fact.place), why
    new = f"{fact.name}_"
    else_do = Change(f"choose another name, `{new}` for example, at {place_text(place)}", None, place)
    return message, _quoted(crash, fact.name, new) or else_do, why


def explain_dotted(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    message = (
        f"`{fact.name}` cannot be the name of a {fact.role}: it holds a dot."
        if fact.name
        else "An empty name was given."
    )
    why = "Dots separate the levels of a model, as in `encoder.0.weight`; a single name has none."
    new = fact.name.replace(".", "_")
    place = statement_place(crash)
    else_do = Change(f"write the name without dots, `{new or 'layer'}`, at {place_text(place)}", None, place)
    return message, (_quoted(crash, fact.name, new) if fact.name else None) or else_do, why


def explain_not_a_name(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    holder = f"nn.{fact.function}" if fact.function == "ModuleDict" else fact.function
    message = f"`{holder}` was given {fact.name}, of type {fact.given}, as a name, which must be text."
    place = statement_place(crash)
    before, after = f"{fact.name}:", f'"{fact.name}":'
    if fact.function == "ModuleDict" and (place.code or "").count(before) == 1:
        return message, _swap(crash, before, after), "The key becomes part of the parameters' names."
    return (
        message,
        Change(f"make it text: `str(...)`, at {place_text(place)}", None, place),
        "The name becomes part of the parameters' names.",
    )
