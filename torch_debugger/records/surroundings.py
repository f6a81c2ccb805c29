"""What a stranger needs to know of a run later: how it was started, from which code, on what, with what."""

from __future__ import annotations

from dataclasses import dataclass, field

HparamValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The program and the machine around a run. Keys, tokens and passwords are left out before it is made."""

    command: tuple[str, ...]  # as typed
    script: str  # its path
    script_hash: str  # sha256 of its text
    source: str  # its text; empty where it is too long or cannot be read
    git_commit: str = ""  # all of git's are empty outside a repository
    git_branch: str = ""
    git_dirty: bool | None = False  # None: git could not be asked
    git_diff: str = ""  # against the commit, up to a size
    packages: dict[str, str] = field(default_factory=dict)  # name -> version
    hardware: dict[str, str] = field(default_factory=dict)  # cpu, memory, gpu, ...
    environment: dict[str, str] = field(default_factory=dict)  # the variables that change a training
    system: dict[str, str] = field(default_factory=dict)  # os, machine, python, implementation, host
    rank: int = 0
    world_size: int = 1


@dataclass(frozen=True, slots=True)
class HparamsFact:
    """Hyperparameters found in the script's own objects: a parsed command line, a config."""

    values: dict[str, HparamValue]
    origin: str  # the variable: args, cfg
    step: int


@dataclass(frozen=True, slots=True)
class SeedFact:
    """The seeds that the random generators began with, where they can be told: torch, numpy, python."""

    seeds: dict[str, int]
    step: int
