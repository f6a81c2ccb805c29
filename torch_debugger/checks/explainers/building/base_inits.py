"""A base class that was never initialised: super().__init__() is missing, late, misspelt or miscalled."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import line_edit
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.building import InitFact

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
    one_liner = place.code is not None and place.code.startswith("def ")
    edit = None
    if place.file and place.line and place.code and not one_liner and not fact.written:
        edit = Edit(place.file, place.line, place.code, f"super().__init__()\n{place.code}")
    return _blame(
        fact,
        message,
        f"Put `super().__init__({fact.written})` as the first line of `__init__`, at {place_text(place)}.",
        edit,
    )


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
    fix = (
        f"Move `{fact.place.code}` up, before {line_text(fact.first)}; it must be the first line of `__init__`."
    )
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
    message = (
        f"`{fact.cls}` is a dataclass: the `__init__` that is made for it does not initialise `{fact.base}`."
    )
    fix = (
        f"Leave `@dataclass` off `{fact.cls}` and write its `__init__` "
        "yourself, with `super().__init__()` as the "
        "first line."
    )
    return _blame(fact, message, fix, None)
