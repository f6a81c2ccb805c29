"""A checkpoint against the model it was loaded into, and against what torch.load and torch.save can do."""

from __future__ import annotations

from torch_debugger.probes.examiners.checkpoint_files import examine_file
from torch_debugger.probes.examiners.checkpoint_refusals import examine_location, examine_refusals
from torch_debugger.probes.examiners.checkpoint_states import examine_model_load, examine_optimizer_load
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import CheckpointEvidence

_SERIALIZATION = "torch/serialization.py"


def examine_checkpoints(scene: Scene) -> CheckpointEvidence | None:
    """The last of torch's doors that the traceback went through: load_state_dict, load or save."""
    names = {(seen.function, _home(seen.file)) for seen in scene.frames}
    if ("load_state_dict", "torch/nn/modules/module.py") in names:
        return CheckpointEvidence(model=examine_model_load(scene))
    if ("load_state_dict", "torch/optim/optimizer.py") in names:
        return CheckpointEvidence(optimizer=examine_optimizer_load(scene))
    if ("load", _SERIALIZATION) in names:
        (refused, complete), location = examine_refusals(scene), examine_location(scene)
        file = None if refused or location else examine_file(scene, "load")
        return CheckpointEvidence(refused=refused, refused_all=complete, location=location, file=file)
    if ("save", _SERIALIZATION) in names:
        return CheckpointEvidence(file=examine_file(scene, "save"))
    return None


def _home(file: str) -> str:
    """torch/optim/optimizer.py, however the machine writes and where it keeps it."""
    return "torch/" + file.replace("\\", "/").rpartition("/torch/")[2]
