"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

import dataclasses

import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.examiners.name_attributes import examine_attribute
from torch_debugger.probes.examiners.name_calls import examine_call, examine_number, examine_removed
from torch_debugger.probes.examiners.name_imports import examine_import, examine_syntax
from torch_debugger.probes.examiners.name_search import our_names
from torch_debugger.probes.examiners.name_variables import examine_variable
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import NameEvidence

_EXAMINERS = {
    AttributeError: examine_attribute,
    ImportError: examine_import,
    TypeError: examine_call,
    NameError: examine_variable,
    SyntaxError: examine_syntax,
    RuntimeError: examine_removed,
    IndexError: examine_number,
}


def examine_names(scene: Scene) -> NameEvidence | None:
    """By the class of the exception; only for names of torch, of its objects, and of the user's modules."""
    for kind, examine in _EXAMINERS.items():
        if is_a(scene.error, kind):
            found = examine(scene)
            version = torch.__version__.partition("+")[0]
            return dataclasses.replace(found, ours=our_names(), version=version) if found is not None else None
    return None
