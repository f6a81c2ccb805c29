"""What the program's own variables tell of a run: its hyperparameters and seeds, read once.

When the first step is over the program is set up: what it was told is in the variables of the frames that
led there. It costs that one step a fraction of a millisecond.
"""

from __future__ import annotations

import enum
import os
import random
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import torch

from torch_debugger.probes.probe import Probe
from torch_debugger.records import HparamsFact, OptimizerFact, SeedFact
from torch_debugger.records.run import HparamValue
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import frames, locals_of
from torch_debugger.system.redaction import redact_value

_MOST_FRAMES = 20


class FirstStep(Probe):
    name = "hyperparameters"
    deep_only = True  # the first step is

    done = False

    def end_step(self) -> None:
        if self.done:
            return
        self.done = True
        step = self.watch.step
        found = find_hparams(_scopes(), step)
        for fact in (*found, *optimizer_hparams(self._optimizers(), step)):
            self.watch.emit(fact)
        self._tell_seeds(found, step)

    def _optimizers(self) -> list[OptimizerFact]:
        return [fact for fact in self.watch.sinks.standing if isinstance(fact, OptimizerFact)]

    def _tell_seeds(self, found: list[HparamsFact], step: int) -> None:
        seeds = find_seeds(torch.initial_seed(), found)
        if seeds:
            self.watch.emit(SeedFact(seeds, step))


def _scopes() -> list[dict[str, Any]]:
    """The variables of the user's frames, the innermost first, and of the main module."""
    own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)][:_MOST_FRAMES]
    scopes = [locals_of(frame) for frame in own if frame.f_code.co_name != "<module>"]
    modules = {id(frame.f_globals): frame.f_globals for frame in own if frame.f_code.co_name == "<module>"}
    main = sys.modules.get("__main__")
    modules |= {id(vars(main)): vars(main)} if main is not None else {}
    return [*scopes, *map(dict, modules.values())]


# The hyperparameters of a program, found in its own variables.
_MOST_OBJECTS = 12
_MOST_NAMES = 5000
CONSTANTS = "constants"


def find_hparams(scopes: Sequence[Mapping[str, Any]], step: int) -> list[HparamsFact]:
    """`scopes` are variables by name, the innermost frame's first. Each object is told once."""
    facts: list[HparamsFact] = []
    seen: set[int] = set()
    numbers: dict[str, HparamValue] = {}
    for scope in scopes:
        numbers = constants(scope) | numbers
        for name, value in _variables(scope):
            if len(facts) < _MOST_OBJECTS and id(value) not in seen and is_config(name.split(".")[-1], value):
                seen.add(id(value))
                values = flatten(value)
                facts += [HparamsFact(values, name, step)] if values else []
    return [*facts, HparamsFact(numbers, CONSTANTS, step)] if numbers else facts


def optimizer_hparams(optimizers: Sequence[OptimizerFact], step: int) -> list[HparamsFact]:
    """The optimizers' settings; those of later groups only where they differ from the first's."""
    facts: list[HparamsFact] = []
    for fact in optimizers[:_MOST_OBJECTS]:
        groups = fact.settings
        first = groups[0] if groups else {}
        values: dict[str, HparamValue] = {f"{fact.name}.kind": fact.kind}
        values |= {f"{fact.name}.{key}": item for key, item in first.items()}
        for number, group in enumerate(groups[1:], 1):
            other = {key: item for key, item in group.items() if item != first.get(key)}
            values |= {f"{fact.name}.groups.{number}.{key}": item for key, item in other.items()}
        facts.append(HparamsFact(dict(list(values.items())[:MOST_VALUES]), fact.name, step))
    return facts


def _variables(scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in list(scope.items())[:_MOST_NAMES]:
        if not name.startswith("_"):
            yield name, value
    if "self" in scope:  # a trainer keeps its settings
        for name, value in instance_dict(scope["self"]).items():
            yield f"self.{name}", value


# What an object of the user's holds, read without running a line of the user's code.
#
# No attribute is asked for: an instance's dictionary, its slots and its class are read past every property,
# `__getattr__` and metaclass.
_MOST = 1000  # entries looked at in one object
_OF_CLASSES = type.__dict__
_CLASS_DICT = _OF_CLASSES["__dict__"].__get__
_MRO = _OF_CLASSES["__mro__"].__get__


def identities(*kinds: type) -> frozenset[int]:
    """For `id(type(value)) in ...`: to compare classes themselves may run the code of a metaclass."""
    return frozenset(map(id, kinds))


PLAIN = identities(bool, int, float, str)
_KEYS = identities(str, int)
_DESCRIPTORS = identities(types.GetSetDescriptorType, types.MemberDescriptorType)


def is_a(value: Any, module: str, name: str) -> bool:
    """Whether the value is of this class; a module that the program has not imported is left alone."""
    home = sys.modules.get(module)
    wanted = vars(home).get(name) if type(home) is types.ModuleType else None
    return wanted is not None and any(kind is wanted for kind in _MRO(type(value)))


def is_by_user(kind: type) -> bool:
    """Whether a class is written in a file of the user's: no library's, no builtin."""
    home = _CLASS_DICT(kind).get("__module__")
    return home == "__main__" or (type(home) is str and is_users_module(sys.modules.get(home)))


def is_users_module(module: Any) -> bool:
    file = vars(module).get("__file__") if type(module) is types.ModuleType else None
    if type(file) is not str:
        return False
    installed = "site-packages" in file or "dist-packages" in file
    return not installed and not file.startswith(os.path.dirname(os.__file__))


def has_in_class(value: Any, *names: str) -> bool:
    """Whether a class of the value's says so; `__dataclass_fields__` makes a dataclass."""
    return any(name in _CLASS_DICT(kind) for kind in _MRO(type(value)) for name in names)


def instance_dict(value: Any) -> dict[str, Any]:
    """The instance's own attributes, those in slots too."""
    attributes: dict[str, Any] = {}
    for kind in reversed(_MRO(type(value))):
        for name, entry in list(_CLASS_DICT(kind).items()):
            if name == "__dict__" and id(type(entry)) in _DESCRIPTORS:
                inside = entry.__get__(value)
                attributes |= inside if type(inside) is dict else {}
            elif type(entry) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    attributes[name] = entry.__get__(value)
                except AttributeError:  # a slot that was never filled
                    continue
    return attributes


def class_name(kind: type) -> str:
    return str(_OF_CLASSES["__name__"].__get__(kind))


def class_attributes(kind: type) -> dict[str, Any]:
    """Those that the class and its parents define: `class CFG: lr = 1e-3`."""
    attributes: dict[str, Any] = {}
    for each in reversed(_MRO(kind)):
        if each is not object:
            attributes |= _CLASS_DICT(each)
    return attributes


def entries(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """A dictionary's pairs with plain keys, also of a subclass that has an `items` of its own."""
    for key, item in list(dict.items(value))[:_MOST]:
        if id(type(key)) in _KEYS:
            yield str(key), item


def plain_value(value: Any) -> bool | int | float | str | None:
    """A number, a text or a truth value; None for everything else."""
    kind = type(value)
    if id(kind) in PLAIN:
        return value  # type: ignore[no-any-return]
    if _is_of_library(kind, "torch") and kind.__name__ in ("device", "dtype"):
        return str(value)
    if _is_of_library(kind, "numpy") and kind.__name__.startswith(("bool", "float", "int", "uint")):
        return value.item()  # type: ignore[no-any-return]
    if issubclass(kind, PurePath) and _is_of_library(kind, "pathlib"):
        return str(value)
    if issubclass(kind, enum.Enum):
        name = instance_dict(value).get("_name_")
        return name if type(name) is str else None
    return None


def _is_of_library(kind: type, library: str) -> bool:
    """The very class of this library, none that only calls itself so."""
    home = sys.modules.get(library)
    return home is not None and vars(home).get(class_name(kind)) is kind


# Which of a program's variables hold hyperparameters, and what is in them, flattened with dots.
MOST_VALUES = 500
_DEEPEST = 5
_CONFIGS_MOST_OBJECTS = 200  # inside one
_TEXT_LENGTH = 200
_READ_LENGTH = 2000  # of a text: a constant may hold a whole corpus
_LIST_LENGTH = 16
_TELLING = re.compile(
    r"(?:\w*_)?(?:args?|arguments|cfgs?|conf|configs?|configuration|hparams?|hps?|hyper_?params?|hyper_?parameters"
    r"|params|opts?|options|settings|flags)",
    re.IGNORECASE,
)
# class TrainConfig, but not class Metrics: what a step brings forth is no setting of the run.
_TELLING_CLASS = re.compile(
    r"\w*(?:config|cfg|conf|args|arguments|settings|hparams|hyperparameters|options|params)", re.IGNORECASE
)
_RESULT_CLASS = re.compile(
    r"\w*(?:batch|event|example|item|log|losses|meters?|metrics?|outputs?|point|record|results?|samples?|state|stats"
    r"|step)",
    re.IGNORECASE,
)
_FEWEST_SETTINGS = 2  # of a class that is not called a config
_SEQUENCES = identities(list, tuple)
_NEVER = PLAIN | _SEQUENCES | identities(type(None), types.FunctionType, types.BuiltinFunctionType)
# Upper-case names, and lower-case ones that stand for nothing but a hyperparameter.
_CONSTANT = re.compile(
    r"[A-Z][A-Z0-9_]*|"
    r"lr|learning_rate|(?:train_|eval_|val_|test_)?batch_size|bs|(?:num_|n_|max_)?epochs|(?:num_|n_|max_)steps"
    r"|weight_decay|wd|momentum|dropout|p_drop|hidden_(?:size|dim|units)|embed(?:ding)?_(?:size|dim)|d_model"
    r"|(?:num_|n_)(?:layers|heads|classes|workers)|gamma|beta[12]|temperature|seed|warmup_steps"
    r"|max_(?:grad_)?norm|(?:max_)?seq_len|max_len(?:gth)?|block_size|accum(?:ulation)?_steps|label_smoothing|clip"
)
_MARKS = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__", "__fields__", "model_fields")


def is_config(name: str, value: Any) -> bool:
    """Whether this variable holds the settings of a run. A parsed command line does under any name."""
    if id(type(value)) in _NEVER:
        return False
    if _TELLING.fullmatch(name) is not None:
        return _contents(value) is not None
    parsed = is_a(value, "argparse", "Namespace") or is_a(value, "absl.flags", "FlagValues")
    return parsed or _is_by_its_class(value)


def _is_by_its_class(value: Any) -> bool:
    """A TrainConfig of the user's is one under any name, and so is a dataclass of mostly plain values."""
    kind = type(value)
    if issubclass(kind, type | types.ModuleType) or not is_by_user(kind) or not has_in_class(value, *_MARKS):
        return False
    name = class_name(kind)
    if _TELLING_CLASS.fullmatch(name) is not None:
        return True
    values = list(instance_dict(value).values())
    plain = sum(plain_value(item) is not None for item in values)
    return _RESULT_CLASS.fullmatch(name) is None and plain >= _FEWEST_SETTINGS and 2 * plain > len(values)


def constants(variables: Mapping[str, Any]) -> dict[str, HparamValue]:
    """LR = 1e-3, BATCH_SIZE = 64, and the few lower-case names that mean the same."""
    plain = ((name, value) for name, value in variables.items() if id(type(value)) in PLAIN)
    return _kept((name, value) for name, value in plain if _CONSTANT.fullmatch(name))


def flatten(value: Any) -> dict[str, HparamValue]:
    """The plain values inside: {"optimizer": {"lr": 0.1}} is optimizer.lr = 0.1."""
    return _kept(_walk("", value, {id(value)}, 1))


def _walk(path: str, value: Any, met: set[int], depth: int) -> Iterator[tuple[str, HparamValue | None]]:
    for name, item in _contents(value) or ():
        if name.startswith("_"):
            continue
        full = f"{path}.{name}" if path else name
        item = item if id(type(item)) in PLAIN else _unwrapped(item)
        plain = plain_value(item)
        if plain is not None:
            yield full, plain
        elif id(type(item)) in _SEQUENCES:
            yield full, _listed(item)
        elif depth < _DEEPEST and len(met) < _CONFIGS_MOST_OBJECTS and id(item) not in met and _is_part(item):
            met.add(id(item))
            yield from _walk(full, item, met, depth + 1)


def _is_part(value: Any) -> bool:
    """A config may hold others; what else it holds, a module or a class, is no part of it."""
    return not issubclass(type(value), type | types.ModuleType)


def _kept(pairs: Any) -> dict[str, HparamValue]:
    kept: dict[str, HparamValue] = {}
    for name, value in pairs:
        if value is not None and len(kept) < MOST_VALUES:
            redacted = redact_value(name, value[:_READ_LENGTH] if type(value) is str else value)
            kept[name[:_TEXT_LENGTH]] = redacted[:_TEXT_LENGTH] if type(redacted) is str else redacted
    return kept


def _listed(items: Any) -> str | None:
    """[64, 128]: a short list of plain values as text."""
    plain = [plain_value(item) for item in items[:_LIST_LENGTH]]
    if not items or len(items) > _LIST_LENGTH or None in plain:
        return None
    return f"[{', '.join(str(item) for item in plain)}]"


def _contents(value: Any) -> list[tuple[str, Any]] | None:
    """The pairs of a config object; None for any other."""
    for serves, read in _READERS:
        if serves(value):
            return list(entries(read(value)))
    return None


def _unwrapped(value: Any) -> Any:
    """OmegaConf keeps each value in a node of its own."""
    if is_a(value, "omegaconf.nodes", "ValueNode"):
        return instance_dict(value).get("_val")
    if is_a(value, "omegaconf", "ListConfig"):
        content = instance_dict(value).get("_content")
        return [_unwrapped(item) for item in content] if type(content) is list else None
    return value


def _flags(value: Any) -> dict[str, Any]:
    """The program's own absl flags, without those that absl defines for itself."""
    by_module = instance_dict(value).get("__flags_by_module", {})
    own = [flag for module, flags in dict.items(by_module) if not module.startswith("absl") for flag in flags]
    flag_dicts = [instance_dict(flag) for flag in own]
    return {
        flag_dict["name"]: flag_dict.get("_value") for flag_dict in flag_dicts if type(flag_dict.get("name")) is str
    }


def _inner(name: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        inner = instance_dict(value).get(name)
        return inner if type(inner) is dict else {}

    return read


def _is_plain_object(value: Any) -> bool:
    """An instance of a class that the user wrote to hold values: no model, no dataset."""
    return is_by_user(type(value)) and not has_in_class(value, "__call__", "forward", "__iter__", "__len__")


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], dict[Any, Any]]], ...] = (
    (lambda value: issubclass(type(value), dict), lambda value: value),
    (lambda value: is_a(value, "omegaconf", "DictConfig"), _inner("_content")),
    (lambda value: is_a(value, "ml_collections", "ConfigDict"), _inner("_fields")),
    (lambda value: is_a(value, "absl.flags", "FlagValues"), _flags),
    (lambda value: is_a(value, "argparse", "Namespace"), instance_dict),
    (lambda value: type(value) is types.SimpleNamespace, instance_dict),
    (lambda value: issubclass(type(value), type) and is_by_user(value), class_attributes),
    (is_users_module, instance_dict),
    (lambda value: has_in_class(value, *_MARKS), instance_dict),
    (_is_plain_object, lambda value: class_attributes(type(value)) | instance_dict(value)),
)


# Which seed a generator began with, told from its state. No random number of the program's is drawn.
#
# torch remembers its seed. Python's and numpy's generators do not, but what a seed makes of a fresh one can be
# compared: with the seeds the program is known to have used, for the first thousands of numbers.
_WORDS = 624  # of a Mersenne twister; drawn up, all of them change at once
_TELL = 8  # as many words tell two states apart
_TURNS = 6
_MOST_SEEDS = 4
_UNSEEDED = 67280421310721  # what torch begins with when nobody seeds it


def find_seeds(torch_seed: int, hparams: Iterable[HparamsFact]) -> dict[str, int]:
    seeds = {"torch": torch_seed} if torch_seed != _UNSEEDED else {}
    candidates = _candidates(torch_seed, hparams)
    python = _first_fit(random.getstate()[1][:_TELL], {seed: _python(seed) for seed in candidates})
    seeds |= {"python": python} if python is not None else {}
    numpy = sys.modules.get("numpy")
    state = _numpy_state(numpy) if numpy is not None else None
    if numpy is not None and state is not None:
        found = _first_fit(state, {seed: _numpy(numpy, seed) for seed in candidates if seed < 2**32})
        seeds |= {"numpy": found} if found is not None else {}
    return seeds


def _candidates(torch_seed: int, hparams: Iterable[HparamsFact]) -> list[int]:
    named = [value for fact in hparams for name, value in fact.values.items() if "seed" in name.lower()]
    numbers = [value for value in named if type(value) is int and value >= 0]
    known = [torch_seed] if torch_seed != _UNSEEDED else []
    return list(dict.fromkeys([*known, *numbers]))[:_MOST_SEEDS]


def _first_fit(state: tuple[int, ...], fresh: Mapping[int, Any]) -> int | None:
    """The seed whose generator passes through this state; each is asked for its state, then turned on."""
    for _ in range(_TURNS):
        for seed, (read, turn) in fresh.items():
            if read() == state:
                return seed
            turn()
    return None


def _python(seed: int) -> Any:
    generator = random.Random(seed)
    return lambda: generator.getstate()[1][:_TELL], lambda: generator.getrandbits(32 * _WORDS)


def _numpy(numpy: Any, seed: int) -> Any:
    generator = numpy.random.RandomState(seed)
    return lambda: _key(generator.get_state()), lambda: generator.bytes(4 * _WORDS)


def _numpy_state(numpy: Any) -> tuple[int, ...] | None:
    state = numpy.random.get_state()
    return _key(state) if state[0] == "MT19937" else None  # set_bit_generator: another kind


def _key(state: Any) -> tuple[int, ...]:
    return tuple(state[1][:_TELL].tolist())
