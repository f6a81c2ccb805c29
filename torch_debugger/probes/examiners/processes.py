"""Process groups, ranks and compiled regions at the moment of the crash."""

from __future__ import annotations

from torch_debugger.probes.examiners.processes_child import examine_child
from torch_debugger.probes.examiners.processes_compiled import examine_compiled
from torch_debugger.probes.examiners.processes_group import examine_group
from torch_debugger.probes.examiners.processes_reduction import examine_reduction
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import ProcessEvidence


def examine_processes(scene: Scene) -> ProcessEvidence | None:
    compiled = examine_compiled(scene)
    if compiled is not None:
        return ProcessEvidence(compiled=compiled)
    child = examine_child(scene)
    if child is not None:
        return ProcessEvidence(child=child)
    reduction, group = examine_reduction(scene), examine_group(scene)
    return ProcessEvidence(group, reduction) if group is not None or reduction is not None else None
