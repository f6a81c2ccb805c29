"""What the house talks about: frozen, printable facts without tensors or callables."""

from torch_debugger.records.crash import CrashFact, CrashFrame, FlowStep, LayerFact
from torch_debugger.records.finding import SEVERITIES, Edit, Finding, Request
from torch_debugger.records.model import (
    LedgerFact,
    LedgerRow,
    ModelFact,
    ModuleFact,
    OptimizerFact,
    ParameterFact,
    SchedulerFact,
    StrayModuleFact,
)
from torch_debugger.records.place import Place
from torch_debugger.records.rows import Table, TensorRows
from torch_debugger.records.run import CostFact, EndFact, Notice, ProbeFault, RunFact
from torch_debugger.records.training import (
    BatchFact,
    CarriedGradient,
    GraphNode,
    LoaderFact,
    LocalTensor,
    LossGraph,
    LossSite,
    NonFinite,
    PhaseFact,
    Rectifier,
    Rehearsal,
    Scalars,
)

Record = (
    RunFact
    | EndFact
    | CostFact
    | ProbeFault
    | Notice
    | ModelFact
    | StrayModuleFact
    | OptimizerFact
    | SchedulerFact
    | LedgerFact
    | Scalars
    | LossSite
    | LossGraph
    | CarriedGradient
    | Rectifier
    | PhaseFact
    | LoaderFact
    | BatchFact
    | NonFinite
    | Rehearsal
    | TensorRows
    | CrashFact
    | Finding
)

__all__ = [
    "SEVERITIES", "BatchFact", "CarriedGradient", "CostFact", "CrashFact", "CrashFrame", "Edit", "EndFact",
    "Finding", "FlowStep", "GraphNode", "LayerFact", "LedgerFact", "LedgerRow", "LoaderFact", "LocalTensor",
    "LossGraph", "LossSite", "ModelFact", "ModuleFact", "NonFinite", "Notice", "OptimizerFact",
    "ParameterFact", "PhaseFact", "Place", "ProbeFault", "Record", "Rectifier", "Rehearsal", "Request",
    "RunFact", "Scalars", "SchedulerFact", "StrayModuleFact", "Table", "TensorRows",
]  # fmt: skip
