"""What the model is: modules, parameters, and everything that goes with training it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_debugger.records.place import Place


@dataclass(frozen=True, slots=True)
class ModuleFact:
    """One module of a model. The path starts with the user's own name for the root: net.encoder.0"""

    path: str
    kind: str  # class name: Linear, ReLU, MyBlock
    place: Place = field(default_factory=Place)  # the line that constructs it, if found
    parameters: int = 0  # its own elements, children excluded
    settings: dict[str, float] = field(default_factory=dict)  # p of dropout, devices of DataParallel


@dataclass(frozen=True, slots=True)
class ParameterFact:
    path: str  # net.fc1.weight
    shape: tuple[int, ...]
    dtype: str
    device: str
    trainable: bool


@dataclass(frozen=True, slots=True)
class ModelFact:
    """A root module the script called: its tree in definition order."""

    root: str  # the user's name for it: model, netG, self.policy
    kind: str
    place: Place  # the class statement
    modules: tuple[ModuleFact, ...]
    parameters: tuple[ParameterFact, ...]
    step: int
    forward: Place = field(default_factory=Place)  # the root's forward method
    filled: Place = field(default_factory=Place)  # the first call in its file that sets random weights


@dataclass(frozen=True, slots=True)
class StrayModuleFact:
    """Modules that forward calls but that their owner never registered."""

    owner: str  # net
    attribute: str  # layers
    container: str  # list | tuple | dict | none (a module made or found elsewhere)
    kinds: tuple[str, ...]
    parameters: int  # elements that need a gradient
    in_optimizer: int  # of those, how many an optimizer holds
    place: Place  # the line that fills the container
    step: int


@dataclass(frozen=True, slots=True)
class OptimizerFact:
    """An optimizer and the hyperparameters of its groups, as they are at `step`."""

    name: str  # the user's variable, or optimizer, optimizer_2
    kind: str  # Adam
    place: Place  # the line that makes it
    groups: tuple[dict[str, float], ...]  # numbers only: lr, initial_lr, momentum, beta1, weight_decay, eps
    parameters: tuple[str, ...]  # names where known, else "unnamed[0]"
    step: int
    source: str = ""  # the text of the call: Adam(model.encoder.parameters(), lr=1e-3)
    sizes: tuple[int, ...] = ()  # how many of the parameters each group holds
    form: str = ""  # of its update: fused | in lists | one by one; empty where there is no choice
    filled: Place | None = None  # the line that fills the variable it is given: params = [...]

    @property
    def settings(self) -> list[dict[str, float]]:
        """The groups as the script wrote them: a warm-up has changed the rate before it is seen."""
        plain = [{key: value for key, value in group.items() if key != "initial_lr"} for group in self.groups]
        starts = [{"lr": group["initial_lr"]} if "initial_lr" in group else {} for group in self.groups]
        return [group | start for group, start in zip(plain, starts, strict=True)]


@dataclass(frozen=True, slots=True)
class SchedulerFact:
    kind: str
    optimizer: str
    place: Place
    step: int
    number: int = 0  # counted as they are made, from 1
    settings: dict[str, float] = field(default_factory=dict)  # T_max, total_steps, step_size, gamma
    source: str = ""  # the statement that makes it


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """All that is known of one parameter. None means: not known yet."""

    name: str
    elements: int
    trainable: bool
    registered: bool  # reachable from its root by named_parameters()
    in_optimizer: bool
    used: bool | None  # its module ran in the last deep step
    gradient: str  # none | zero | nonzero | notfinite
    changed: bool | None  # by the last watched optimizer step, by value


@dataclass(frozen=True, slots=True)
class LedgerFact:
    """The parameter ledger of one root at one step."""

    root: str
    step: int
    optimizers: tuple[str, ...]  # optimizers that stepped so far
    rows: tuple[LedgerRow, ...]
