"""TD950: the base class of an object was never initialised."""

from __future__ import annotations

from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, line_text, place_text
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    argument_of,
    calls_of,
    change_argument,
    line_replaced,
    rewritten,
    statement_place,
    with_change,
)
from torch_debugger.records import CrashFact, Edit
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
    place, cls, base, written, needed = fact.place, fact.cls, fact.base, fact.written, fact.needed
    line, code, edit = place_text(place), place.code or "", None
    why = (_WHY if base.endswith("Module") or fact.fault == "misspelt" else _WHY_OTHER).format(base=f"`{base}`")
    match fact.fault:
        case "missing":
            # What fails therefore: an attribute of the user's that is assigned, or one of the base class's own.
            lacking = f"its objects lack what `{base}` gives them{f', `{needed}` for one' if needed else ''}"
            if needed and not needed.startswith("_") and base.endswith("Module"):
                lacking = f"`self.{needed}` cannot be registered"
            message = f"`{cls}.__init__` never calls `super().__init__()`, so {lacking}."
            fix = f"Put `super().__init__({written})` as the first line of `__init__`, at {line}."
            if not code.startswith("def ") and not written:
                edit = line_replaced(place, f"super().__init__()\n{place.code}")
        case "late":
            message = f"`{cls}.__init__` assigns `self.{needed}` before it calls `super().__init__()` at {line}."
            fix = f"Move `{place.code}` up, before {line_text(fact.first)}; it must be the first line of `__init__`."
        case "not called" | "wrong super":
            message = f"`{cls}.__init__` does not initialise `{base}`: `{written}` {_wrong(fact)}."
            fix = f"Write `super().__init__()` instead of `{code}` at {line}."
            known = (place.file and place.line and "super" in code) or "__init__" in code
            if known and code in (written, f"{written}()", f"{written}.__init__()"):
                edit = Edit(str(place.file), place.line or 0, code, "super().__init__()")
        case "arguments":
            message = f"`{cls}.__init__` hands arguments on to `{base}`, which takes none: `{written}`."
            why = f"`{base}` keeps no settings: sizes and the like belong to your own class."
            fix = f"Write `super().__init__()` instead of `{place.code}` at {line}."
            edit = replace_in_line(place, code, "super().__init__()") if code == written else None
        case "misspelt":
            wanted = f"; `self.{needed}`, which it assigns, does not exist therefore" if needed else ""
            message = f"`{cls}` has no `__init__`: its constructor is spelt `{written}` at {line}{wanted}."
            why = "Python calls `__init__`, with two underscores on each side, when an object is made; no other name."
            fix = f"Rename `{written}` to `__init__` at {line}."
            edit = replace_in_line(place, f"{written}(", "__init__(")
        case _:  # a dataclass
            message = f"`{cls}` is a dataclass: the `__init__` that is made for it does not initialise `{base}`."
            fix = (
                f"Leave `@dataclass` off `{cls}` and write its `__init__` yourself, with `super().__init__()` as the "
                "first line."
            )
    return Blame(message, why, fix, place, {"class": cls, "line": line_text(place)}, 0.98, edit)


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
    if fact.fault in ("taken", "dot", "not a name"):
        message, change, why = _name(crash, fact)
    elif fact.fault == "kind" and fact.function in ("Sequential", "ModuleList", "ModuleDict", "add_module"):
        message, change, why = _entry(crash, fact)
    elif fact.fault == "kind":
        message, change, why = _kind(crash, fact)
    else:
        message, change, why = _form(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.given:
        evidence["given"] = fact.given
    if fact.place.file and fact.place.line != crash.place.line:
        evidence["name made at"] = line_text(fact.place)
    return with_change(crash, message, why or _REGISTRATION_WHY[fact.role], change, evidence)


def _kind(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    role = f"layer ({fact.held})" if fact.role == "module" and fact.held else fact.role
    message = f"`{fact.name}` of `{fact.owner}` is a {role}, and {a_kind(fact.given)} was assigned to it."
    place = statement_place(crash)
    code = place.code or ""
    target, equals, value = code.partition(" = ")
    if fact.role == "module":
        # self.fc = self.fc(x) in a forward
        local = fact.name if fact.name != "x" else "out"
        text = f"keep the result in a local variable, `{local} = {value or '...'}`, and leave `self.{fact.name}` to "
        made = f" at {place_text(fact.place)}" if fact.place.file else ""
        why = f"`self.{fact.name}` was made a layer ({fact.held}){made}; a result must not take its place."
        return message, Change(f"{text}the layer", None, place), why
    wrapper = "nn.Parameter" if fact.role == "parameter" and fact.given == "Tensor" else "torch.tensor"
    if fact.function == "__setattr__" and equals and "\n" not in code and place.file and place.line:
        edit = Edit(place.file, place.line, code, f"{target} = {wrapper}({value})")
        return message, Change(f"write `{edit.after}` at {place_text(place)}", edit, place), ""
    change = change_argument(place, fact.function, 1, "", f"{wrapper}({{}})", "")
    wrapped = change.edit if fact.given in ("Tensor", "float", "int", "list") else None
    return message, Change(f"wrap it: `{wrapper}(...)` at {place_text(place)}", wrapped, place), ""


def _form(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    """What was given has to be given in another form."""
    place = statement_place(crash)
    match fact.fault:
        case "several":
            calls = calls_of(place.code or "", fact.function)
            message = f"`nn.{fact.function}` was given {fact.size} modules one by one, where it takes one list."
            if len(calls) != 1:
                return message, Change(f"put them into a list at {place_text(place)}", None, place), ""
            opening, _, inside = calls[0].partition("(")
            edit = rewritten(place, calls[0], f"{opening}([{inside[:-1]}])")
            text = f"put them into a list: `nn.{fact.function}([...])` at {place_text(place)}"
            return message, Change(text, edit, place), ""
        case "no list":
            message = f"`nn.{fact.function}` was given {a_kind(fact.given)}, where it takes a list of modules."
            else_do = f"write `nn.{fact.function}([...])`"
            return message, change_argument(place, fact.function, 0, "", "[{}]", else_do), ""
        case "whole numbers":
            message = f"`nn.Parameter` was given a tensor of whole numbers ({fact.given}), which has no gradient."
            why = "A parameter is trained by its gradient, and only floating point tensors have one."
            else_do = "make it floating point: `.float()`"
            return message, change_argument(place, "Parameter", 0, "data", "{}.float()", else_do), why
        case "no tensor":
            message = f"`nn.Parameter` was given {a_kind(fact.given)} and no tensor."
            pattern = "torch.from_numpy({}).float()" if fact.given == "ndarray" else "torch.tensor({})"
            else_do = f"make it a tensor: `{pattern.format('...')}`"
            return message, change_argument(place, "Parameter", 0, "data", pattern, else_do), ""
    # No module: class Net: -> class Net(nn.Module):
    asked = "was called" if fact.function == "a call" else f"was asked for `{fact.function}`"
    message = f"An object of `{fact.name}` {asked} like a module, but the class does not derive from `nn.Module`."
    why = "Being callable, `parameters()`, `to()`, `train()` and `state_dict()` all come from `nn.Module`."
    code = fact.place.code or ""
    after = f"class {fact.name}(nn.Module):"
    plain = code in (f"class {fact.name}:", f"class {fact.name}():", f"class {fact.name}(object):")
    edit = replace_in_line(fact.place, code, after) if plain and fact.held else None
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


def _entry(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    kind, _, name = fact.given.partition(" ")
    holder = f"nn.{fact.function}" if fact.function != "add_module" else "add_module"
    place = statement_place(crash)
    code, line = place.code or "", place_text(place)
    if kind == "class":
        # nn.ReLU, -> nn.ReLU(),
        message = f"`{holder}` was given the class `{name}` as layer {fact.name}, and not an object of it."
        found = [end for end in (",", ")", "\n") if code.count(f"{name}{end}") == 1]
        edit = rewritten(place, f"{name}{found[0]}", f"{name}(){found[0]}") if found else None
        return message, Change(f"write `{name}()` instead of `{name}` at {line}", edit, place), ""
    if kind == "function":
        name = name.removeprefix("torch.")
        message = f"`{holder}` was given the function `{name}` as layer {fact.name}, and not a module."
        why = "A function has no place in a list of modules; its module form does."
        module = _MODULES.get(name)
        if module is None:
            text = f"write a small `nn.Module` whose `forward` calls it, or call it in `forward`, at {line}"
            return message, Change(text, None, place), why
        forms = f"torch.nn.functional.{name}", f"nn.functional.{name}", f"F.{name}", f"torch.{name}"
        written = next((form for form in forms if code.count(form) == 1), "")
        edit = rewritten(place, written, module) if written else None
        return message, Change(f"write `{module}` instead of `{written or name}` at {line}", edit, place), why
    if kind in ("list", "tuple", "generator") and fact.function == "Sequential":
        # nn.Sequential(layers) -> nn.Sequential(*layers)
        many = f" of {fact.size} modules" if fact.held == "modules" else ""
        message = f"`nn.Sequential` was given a {kind}{many}, where it takes the modules one by one."
        calls = calls_of(code, fact.function)
        argument = argument_of(calls[0], 0, "") if len(calls) == 1 else None
        edit = None
        if argument is not None:
            changed = argument.replaced(f"*{argument.text}")
            if kind == "generator" and argument.text.startswith("("):  # as the only argument it has no own parentheses
                changed = f"{calls[0].replace('(', '(*[', 1)[:-1]}])"
            # Where the list spans several lines, its beginning is what changes.
            over_lines = f"{fact.function}([", f"{fact.function}(*["
            edit = rewritten(place, argument.call, changed) or rewritten(place, *over_lines)
        return message, Change(f"put a star before it: `nn.Sequential(*...)` at {line}", edit, place), ""
    message = f"`{holder}` was given {a_kind(fact.given)} as entry {fact.name!r}, and not a module."
    return message, Change(f"give it modules only, at {line}", None, place), ""


# Names under which a module cannot take anything: in use, with a dot, or no text.
def _name(crash: CrashFact, fact: RegistrationRefusal) -> Explanation:
    place = statement_place(crash)
    code, line = place.code or "", place_text(place)

    def instead(before: str, after: str) -> Change:
        return Change(f"write `{after}` instead of `{before}` at {line}", rewritten(place, before, after), place)

    if fact.fault == "not a name":
        holder = f"nn.{fact.function}" if fact.function == "ModuleDict" else fact.function
        message = f"`{holder}` was given {fact.name}, of type {fact.given}, as a name, which must be text."
        if fact.function == "ModuleDict" and code.count(f"{fact.name}:") == 1:
            change = instead(f"{fact.name}:", f'"{fact.name}":')
            return message, change, "The key becomes part of the parameters' names."
        change = Change(f"make it text: `str(...)`, at {line}", None, place)
        return message, change, "The name becomes part of the parameters' names."
    if fact.fault == "dot":
        message = f"`{fact.name}` cannot be the name of a {fact.role}: it holds a dot."
        if not fact.name:
            message = "An empty name was given."
        why = "Dots separate the levels of a model, as in `encoder.0.weight`; a single name has none."
        new = fact.name.replace(".", "_")
        text = f"write the name without dots, `{new or 'layer'}`, at {line}"
    else:
        made = f", assigned at {place_text(fact.place)}" if fact.place.file else ""
        kind = fact.held.partition(" ")[0]
        held = "a method of it" if kind == "function" else f"a {kind}{made}"
        message = f"The name `{fact.name}` is taken in `{fact.owner}`: it is {held}."
        why = "A module, parameter or buffer is an attribute of its owner, so its name must not be in use."
        assigned = fact.place.code or ""
        if kind != "function" and fact.place.file and fact.place.line and assigned.startswith(f"self.{fact.name} = "):
            edit = None if f"self.{fact.name}" in code else Edit(fact.place.file, fact.place.line, assigned, "")
            text = f"register it only once: take `{assigned}` at {place_text(fact.place)} out"
            return message, Change(text, edit, fact.place), why
        new = f"{fact.name}_"
        text = f"choose another name, `{new}` for example, at {line}"
    # Another name in the place of one that is written as text, in either kind of quotes.
    quote = next((quote for quote in "'\"" if fact.name and code.count(f"{quote}{fact.name}{quote}") == 1), "")
    if quote:
        return message, instead(f"{quote}{fact.name}{quote}", f"{quote}{new}{quote}"), why
    return message, Change(text, None, place), why
