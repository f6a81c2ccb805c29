"""What the checks of crashes can tell from the text of a traceback alone, by the name of the check."""

from __future__ import annotations

from collections.abc import Callable

from torch_debugger.checks.explainers.blame import Blame
from torch_debugger.checks.explainers.texts import text_autograd as autograd
from torch_debugger.checks.explainers.texts import text_checkpoints as checkpoints
from torch_debugger.checks.explainers.texts import text_messages as messages
from torch_debugger.checks.explainers.texts import text_places as places
from torch_debugger.checks.explainers.texts.text_dtypes import DTYPE_TEXTS
from torch_debugger.checks.explainers.texts.text_layers import LAYER_TEXTS
from torch_debugger.checks.explainers.texts.text_losses import LOSS_TEXTS
from torch_debugger.checks.explainers.texts.text_operations import OPERATION_TEXTS
from torch_debugger.records import CrashFact

Explainer = Callable[[CrashFact], Blame | None]

TEXTS: dict[str, tuple[Explainer, ...]] = {
    "shape-mismatch": (*LAYER_TEXTS, *OPERATION_TEXTS, *LOSS_TEXTS),
    "dtype-mismatch": (*DTYPE_TEXTS, messages.explain_message_scalar_type),
    "device-mismatch": (places.explain_text_devices, messages.explain_message_devices),
    "out-of-memory": (places.explain_text_memory, messages.explain_message_memory),
    "index-out-of-range": (places.explain_text_indices,),
    "loss-without-graph": (autograd.explain_text_no_graph,),
    "backward-twice": (autograd.explain_text_twice,),
    "loss-not-scalar": (autograd.explain_text_not_scalar,),
    "modified-in-place": (autograd.explain_text_in_place,),
    "leaf-modified-in-place": (autograd.explain_text_leaf,),
    "tensor-needs-detach": (autograd.explain_text_detach, messages.explain_message_numpy),
    "name-does-not-exist": (messages.explain_message_variable, messages.explain_message_attribute),
    "cuda-kernel-error": (messages.explain_message_kernel,),
    "worker-killed": (messages.explain_message_worker,),
    "ranks-disagree": (messages.explain_message_collective,),
    "checkpoint-keys": (checkpoints.explain_text_keys,),
    "checkpoint-shapes": (checkpoints.explain_text_sizes,),
    "checkpoint-device": (checkpoints.explain_text_cuda_file,),
    "checkpoint-refused": (checkpoints.explain_text_refused,),
}
