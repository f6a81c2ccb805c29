"""Something that is no tensor and was used like one: what it is, who got it, and which call made it."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import place_at
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.building_classes import class_use
from torch_debugger.probes.examiners.odd_arguments import Odd, odd_value
from torch_debugger.probes.examiners.reading import (
    UNKNOWN,
    entries_of,
    named_in,
    value_of,
    words_for,
)
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.value_makers import (
    Maker,
    definition_of,
    maker_before,
    maker_of,
    returned_by,
)
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import ClassUseFact, ValueFact


def examine_value(scene: Scene) -> ValueFact | None:
    odd = odd_value(scene)
    if odd is None or issubclass(type(odd.value), nn.Module) or is_a(odd.value, type):
        return None
    maker = _maker(scene, odd)
    if odd.value is UNKNOWN:
        return None
    known = maker.returns or entries_of(odd.value) or _is_data(odd.value)
    if not known or (odd.value is None and not maker.returns):
        return None
    kind = kind_name(type(odd.value))
    return ValueFact(
        written=ast.unparse(odd.node) if odd.node is not None else "",
        kind=kind if kind == "numpy.ndarray" else kind.rpartition(".")[2],
        holds=entries_of(odd.value) or (() if type(odd.value) is tuple else (words_for(odd.value),)),
        receiver=odd.receiver,
        argument=odd.argument,
        origin=maker.place,
        maker=maker.text,
        maker_path=maker.path,
        maker_kind=maker.kind,
        maker_returns=maker.returns,
        returns=maker.returning,
    )


def examine_built_value(scene: Scene) -> ClassUseFact | None:
    """A module that was used like a tensor, because a call that was to run it built it: x = nn.ReLU(x)"""
    odd = odd_value(scene)
    if odd is None or not issubclass(type(odd.value), nn.Module):
        return None
    maker = _maker(scene, odd)
    if maker.function is not None:
        return _returned_unrun(odd, maker)
    if maker.call is None or maker.seen is None or type(odd.value).__name__ != maker.kind:
        return None
    given = [value_of(maker.seen, node) for node in maker.call.args]
    # The first argument of nn.ReLU(x) is a tensor; after x = nn.ReLU(x) its name stands for the module.
    if not given or not (given[0] is UNKNOWN or given[0] is odd.value or is_tensor(given[0])):
        return None
    tensors = [words_for(value) for value in given if value is not UNKNOWN and is_tensor(value)]
    told = tensors or [f"`{ast.unparse(node)}`" for node in maker.call.args[:1]]
    return class_use(maker.seen, maker.call, type(odd.value), told)


def _returned_unrun(odd: Odd, maker: Maker) -> ClassUseFact | None:
    """A forward of the user's that returns the module it builds: return nn.ReLU(self.fc(x))"""
    node = definition_of(maker.function)
    for value in returned_by(node) if node is not None else ():
        names = maker.function.__globals__
        if isinstance(value, ast.Call) and value.args and named_in(names, value.func) is type(odd.value):
            place = place_at(maker.function.__code__.co_filename, value.lineno)
            fact = class_use(
                odd.seen, value, type(odd.value), [f"`{ast.unparse(part)}`" for part in value.args[:1]]
            )
            return dataclasses.replace(fact, place=place, assigned=Place())
    return None


def _maker(scene: Scene, odd: Odd) -> Maker:
    if odd.before is not None:
        return maker_before(scene, odd.before)
    return maker_of(scene, odd.seen, odd.node) if odd.node is not None else Maker()


def _is_data(value: Any) -> bool:
    return is_one_of(value, (int, float)) or kind_name(type(value)) == "numpy.ndarray"
