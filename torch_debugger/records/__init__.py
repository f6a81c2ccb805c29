"""What the house talks about: frozen, printable facts without tensors or callables."""

from torch_debugger.records.attention import AttentionByHand, MultipliedMask
from torch_debugger.records.collectives import CollectiveKind, CollectivesFact
from torch_debugger.records.crash import CrashFact, CrashFrame, FlowFact, FlowStep, LocalValue
from torch_debugger.records.data import (
    BatchLook,
    CopiedGenerator,
    FixedDraw,
    InputLook,
    RootInput,
    ShuffledPair,
    TargetLook,
    TensorLook,
)
from torch_debugger.records.evidence import CrashEvidence
from torch_debugger.records.finding import SEVERITIES, Edit, Finding, Request
from torch_debugger.records.gradient_check import GradientCheckFact
from torch_debugger.records.graph_looks import AxesLook, DropoutLook, FutureLook, HandMadeWeights, ReusedWeight
from torch_debugger.records.hangs import GroupState, HangFact, HangOver, StackLine, Standing
from torch_debugger.records.health import (
    BatchNormLook,
    KeptGraphs,
    LatentLook,
    SampleSpread,
    Squasher,
    TwinUnits,
    WeightedSum,
)
from torch_debugger.records.latents import (
    DEVIATION_FORMS,
    SAMPLING_ORDERS,
    DivergenceReading,
    FormFit,
    LatentSampling,
    NoiseLook,
    WrittenSampling,
)
from torch_debugger.records.layer import Construction, LayerFact, WrittenNumber
from torch_debugger.records.loading import HeldData, LineCost, LoadingLines, LoadingTime
from torch_debugger.records.loop import (
    ClipFact,
    CopyLook,
    ModeLook,
    PassCalls,
    PassFact,
    QuietModel,
    Reseeding,
    SchedulerLook,
)
from torch_debugger.records.loss_terms import ClassTargets, Comparison, SkippedLosses, Spread, TokenTargets
from torch_debugger.records.memory import HeldByVariable, MemoryLook, SavedByModule
from torch_debugger.records.memory_snapshot import DeviceMemory, MemorySnapshot, MemorySpot, TracedMemory
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
from torch_debugger.records.model_flow import CallFact, ModelFlow
from torch_debugger.records.nonfinite import NonFinite, NonFiniteOutput, Operand, Origin, UntrainedModel
from torch_debugger.records.place import Place
from torch_debugger.records.profile import (
    CopyTime,
    LineTime,
    ModuleTime,
    OpTime,
    ProductTime,
    ProfileFact,
    SyncTime,
)
from torch_debugger.records.rank_digests import CalledModel, GradientAverage, RankDigest
from torch_debugger.records.ranks import RankEnd, RankFact
from torch_debugger.records.rehearsal import StepRehearsal
from torch_debugger.records.rows import Table, TensorRows
from torch_debugger.records.run import CostFact, EndFact, MemoryFact, Notice, ProbeFault, RunFact
from torch_debugger.records.samples import BatchSample
from torch_debugger.records.sequences import PaddedState, SequenceInput
from torch_debugger.records.speed import (
    Compilation,
    RowPasses,
    SampledStacks,
    SpeedSettings,
    StackNode,
    TakenRows,
)
from torch_debugger.records.summary import (
    Box,
    Chart,
    ChartsSummary,
    ForeignEvent,
    GraphSummary,
    HistogramSummary,
    HparamsSummary,
    MeshSummary,
    PictureSummary,
    PrCurveSummary,
    SoundSummary,
    Summary,
    TensorSummary,
    TextSummary,
    UncountedSummary,
)
from torch_debugger.records.surroundings import HparamsFact, SeedFact, Surroundings
from torch_debugger.records.trace import (
    TracedAllocations,
    TracedCollective,
    TracedDevice,
    TracedKernel,
    TracedMoments,
    TracedOp,
    TracedRank,
    TracedStack,
    TracedStep,
    TracedTraining,
    TraceReport,
)
from torch_debugger.records.training import (
    BatchFact,
    CarriedGradient,
    GraphNode,
    LoaderFact,
    LocalTensor,
    LossGraph,
    LossSite,
    PhaseFact,
    Rectifier,
    Rehearsal,
    Scalars,
    ScalerMisuse,
)
from torch_debugger.records.trial import TRIALS, CaseFact, TrialResult
from torch_debugger.records.wiring import (
    CheckpointLoad,
    DataWritten,
    FreshParameter,
    FrozenAtRandom,
    GradientFlag,
    IdleOptimizer,
    PlainTensor,
    ReplacedParameter,
    SavedTensor,
    StepCycle,
    UnmatchedSwitch,
    UnreachedPart,
    UntiedWeights,
)
from torch_debugger.records.workers import SharedHandle, StalledBatch, WorkerLook, WorkerRecord, WorkerTimes

Record = (
    RunFact | RankFact | RankEnd | RankDigest | CollectivesFact | Surroundings | HparamsFact | SeedFact |
    EndFact | CostFact | ProbeFault | Notice | MemoryFact | MemoryLook | ProfileFact | SampledStacks |
    RowPasses | SpeedSettings | Compilation | ModelFact | ModelFlow | StrayModuleFact | OptimizerFact |
    SchedulerFact | SchedulerLook | PassFact | Reseeding | ModeLook | ClipFact | CopyLook | QuietModel |
    LedgerFact | Scalars | LossSite | LossGraph | Comparison | ClassTargets | TokenTargets |
    SkippedLosses | KeptGraphs | TwinUnits | Squasher | BatchNormLook | SampleSpread | LatentLook |
    LatentSampling | WeightedSum | MultipliedMask | AttentionByHand | PaddedState | SequenceInput |
    CarriedGradient | Rectifier | ScalerMisuse | PhaseFact | LoaderFact | LoadingTime | LoadingLines |
    WorkerRecord | BatchFact | BatchLook | BatchSample | InputLook | RootInput | TargetLook |
    ShuffledPair | FixedDraw | CopiedGenerator | DropoutLook | AxesLook | FutureLook | ReusedWeight |
    HandMadeWeights | NonFinite | Rehearsal | NonFiniteOutput | UntrainedModel | GradientCheckFact |
    TensorRows | CrashFact | HangFact | HangOver | FlowFact | StepCycle | IdleOptimizer | UnreachedPart |
    CheckpointLoad | GradientFlag | UnmatchedSwitch | FreshParameter | PlainTensor | UntiedWeights |
    ReplacedParameter | DataWritten | FrozenAtRandom | CaseFact | TrialResult | StepRehearsal |
    MemorySnapshot | TracedMemory | TracedTraining | Finding | Summary
)  # fmt: skip

__all__ = [
    "DEVIATION_FORMS", "SAMPLING_ORDERS", "SEVERITIES", "TRIALS", "AttentionByHand", "AxesLook", "BatchFact",
    "BatchLook", "BatchNormLook", "BatchSample", "Box", "CallFact", "CalledModel", "CarriedGradient",
    "CaseFact", "Chart", "ChartsSummary", "CheckpointLoad", "ClassTargets", "ClipFact", "CollectiveKind",
    "CollectivesFact", "Comparison", "Compilation", "Construction", "CopiedGenerator", "CopyLook",
    "CopyTime", "CostFact", "CrashEvidence", "CrashFact", "CrashFrame", "DataWritten", "DeviceMemory",
    "DivergenceReading", "DropoutLook", "Edit", "EndFact", "Finding", "FixedDraw", "FlowFact", "FlowStep",
    "ForeignEvent", "FormFit", "FreshParameter", "FrozenAtRandom", "FutureLook", "GradientAverage",
    "GradientCheckFact", "GradientFlag", "GraphNode", "GraphSummary", "GroupState", "HandMadeWeights",
    "HangFact", "HangOver", "HeldByVariable", "HeldData", "HistogramSummary", "HparamsFact",
    "HparamsSummary", "IdleOptimizer", "InputLook", "KeptGraphs", "LatentLook", "LatentSampling",
    "LayerFact", "LedgerFact", "LedgerRow", "LineCost", "LineTime", "LoaderFact", "LoadingLines",
    "LoadingTime", "LocalTensor", "LocalValue", "LossGraph", "LossSite", "MemoryFact", "MemoryLook",
    "MemorySnapshot", "MemorySpot", "MeshSummary", "ModeLook", "ModelFact", "ModelFlow", "ModuleFact",
    "ModuleTime", "MultipliedMask", "NoiseLook", "NonFinite", "NonFiniteOutput", "Notice", "OpTime",
    "Operand", "OptimizerFact", "Origin", "PaddedState", "ParameterFact", "PassCalls", "PassFact",
    "PhaseFact", "PictureSummary", "Place", "PlainTensor", "PrCurveSummary", "ProbeFault", "ProductTime",
    "ProfileFact", "QuietModel", "RankDigest", "RankEnd", "RankFact", "Record", "Rectifier", "Rehearsal",
    "ReplacedParameter", "Request", "Reseeding", "ReusedWeight", "RootInput", "RowPasses", "RunFact",
    "SampleSpread", "SampledStacks", "SavedByModule", "SavedTensor", "Scalars", "ScalerMisuse",
    "SchedulerFact", "SchedulerLook", "SeedFact", "SequenceInput", "SharedHandle", "ShuffledPair",
    "SkippedLosses", "SoundSummary", "SpeedSettings", "Spread", "Squasher", "StackLine", "StackNode",
    "StalledBatch", "Standing", "StepCycle", "StepRehearsal", "StrayModuleFact", "Summary",
    "Surroundings", "SyncTime", "Table", "TakenRows", "TargetLook", "TensorLook", "TensorRows",
    "TensorSummary", "TextSummary", "TokenTargets", "TraceReport", "TracedAllocations",
    "TracedCollective", "TracedDevice", "TracedKernel", "TracedMemory", "TracedMoments", "TracedOp",
    "TracedRank", "TracedStack", "TracedStep", "TracedTraining", "TrialResult", "TwinUnits",
    "UncountedSummary", "UnmatchedSwitch", "UnreachedPart", "UntiedWeights", "UntrainedModel",
    "WeightedSum", "WorkerLook", "WorkerRecord", "WorkerTimes", "WrittenNumber", "WrittenSampling",
]  # fmt: skip
