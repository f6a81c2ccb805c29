"""Which of a program's variables hold hyperparameters, and what is in them, flattened with dots."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch_debugger.records.surroundings import HparamValue
from torch_debugger.redaction import redact_value
from torch_debugger.surroundings.objects import (
    PLAIN,
    class_attributes,
    class_name,
    entries,
    has_in_class,
    identities,
    instance_dict,
    is_a,
    is_by_user,
    is_users_module,
    plain_value,
)

MOST_VALUES = 500
_DEEPEST = 5
_MOST_OBJECTS = 200  # inside one
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
    held = list(instance_dict(value).values())
    plain = sum(plain_value(item) is not None for item in held)
    return _RESULT_CLASS.fullmatch(name) is None and plain >= _FEWEST_SETTINGS and 2 * plain > len(held)


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
        elif depth < _DEEPEST and len(met) < _MOST_OBJECTS and id(item) not in met and _is_part(item):
            met.add(id(item))
            yield from _walk(full, item, met, depth + 1)


def _is_part(value: Any) -> bool:
    """A config may hold others; what else it holds, a module or a class, is no part of it."""
    return not issubclass(type(value), type | types.ModuleType)


def _kept(pairs: Any) -> dict[str, HparamValue]:
    kept: dict[str, HparamValue] = {}
    for name, value in pairs:
        if value is not None and len(kept) < MOST_VALUES:
            told = redact_value(name, value[:_READ_LENGTH] if type(value) is str else value)
            kept[name[:_TEXT_LENGTH]] = told[:_TEXT_LENGTH] if type(told) is str else told
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
        held = instance_dict(value).get("_content")
        return [_unwrapped(item) for item in held] if type(held) is list else None
    return value


def _flags(value: Any) -> dict[str, Any]:
    """The program's own absl flags, without those that absl defines for itself."""
    by_module = instance_dict(value).get("__flags_by_module", {})
    own = [flag for module, flags in dict.items(by_module) if not module.startswith("absl") for flag in flags]
    told = [instance_dict(flag) for flag in own]
    return {held["name"]: held.get("_value") for held in told if type(held.get("name")) is str}


def _inner(name: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        held = instance_dict(value).get(name)
        return held if type(held) is dict else {}

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
