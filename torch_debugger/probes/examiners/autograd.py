"""What the autograd graph, version counters and a replay tell about a crash in backward."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.constructors import constructor_places
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.probes.crash_frames import describe
from torch_debugger.probes.examiners.autograd_cuts import examine_cut
from torch_debugger.probes.examiners.autograd_freed import examine_freed
from torch_debugger.probes.examiners.autograd_functions import examine_function
from torch_debugger.probes.examiners.autograd_inplace import examine_overwritten
from torch_debugger.probes.examiners.autograd_inputs import examine_differentiated
from torch_debugger.probes.examiners.autograd_refused import examine_refused
from torch_debugger.probes.examiners.autograd_scene import backward_roots, name_of, scopes
from torch_debugger.probes.examiners.autograd_steps import loss_made
from torch_debugger.probes.examiners.rebound import examine_rebound
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import calls_in
from torch_debugger.records import Place
from torch_debugger.records.evidence import AutogradEvidence

_KINDS = (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError)
_OVERWRITTEN = "modified by an inplace operation"
_FREED = "backward through the graph a second time"
_NO_GRAPH = "does not require grad and does not have a grad_fn"
_NO_METHOD = "'float' object has no attribute 'backward'"
_NO_INPUT = "differentiated Tensor"  # one of them, or the one at an index


def examine_autograd(scene: Scene) -> AutogradEvidence | None:
    if not is_one_of(scene.error, _KINDS) or _is_raised_by_the_user(scene):
        return None
    message = str(scene.error)
    roots = backward_roots(scene)
    function = examine_function(scene, message)
    refused = examine_refused(scene, message)
    missed = isinstance(scene.error, TypeError | AttributeError) and "NoneType" in message
    rebound = examine_rebound(scene, missed) if missed or _NO_GRAPH in message else ()
    cut = examine_cut(scene) if _NO_GRAPH in message or message == _NO_METHOD else None
    if not roots and function is None and refused is None and cut is None and not rebound:
        return None
    return AutogradEvidence(
        roots=tuple(fact for root in roots[:4] if (fact := describe(name_of(scene, root), root)) is not None),
        root_made=loss_made(scene),
        criterion=_unreduced(scene) if roots and roots[0].dim() else Place(),
        overwritten=examine_overwritten(scene, message) if _OVERWRITTEN in message else None,
        freed=examine_freed(scene) if _FREED in message else None,
        cut=None if rebound else cut,
        rebound=rebound,
        differentiated=examine_differentiated(scene) if _NO_INPUT in message else None,
        function=function,
        refused=refused,
    )


def _is_raised_by_the_user(scene: Scene) -> bool:
    last = scene.innermost
    if last is None or not last.user:
        return last is None
    statement = next((node for node in scopes(scene)[0].statements() if node.lineno == last.line), None)
    return isinstance(statement, ast.Raise)


def _value(made: Place) -> str:
    """What a statement assigns, as ast.unparse writes it."""
    tree = ast.parse(made.code or "")
    node = tree.body[0] if tree.body else None
    return ast.unparse(node.value) if isinstance(node, ast.Assign) else ""


def _unreduced(scene: Scene) -> Place:
    """The constructor of the loss with reduction='none' that the statement making the loss calls."""
    for scope in scopes(scene):
        made = loss_made(scene)
        for call in calls_in(scope.function):
            module = scope.held(call.func) if ast.unparse(call) == _value(made) else None
            if is_a(module, nn.Module) and getattr(module, "reduction", "") == "none":
                name = ast.unparse(call.func)
                return constructor_places(module, name, [scope.file]).get(name, Place())
    return Place()
