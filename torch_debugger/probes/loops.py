"""The probes that watch how the training loop is written, and whether those of other ranks are alike."""

from __future__ import annotations

from torch_debugger.probes.batch_clocks import BatchClocks
from torch_debugger.probes.collectives import Collectives
from torch_debugger.probes.copies import Copies
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.modes import Modes
from torch_debugger.probes.name_switches import NameSwitches
from torch_debugger.probes.optimizers import Optimizers
from torch_debugger.probes.own_batches import OwnBatches
from torch_debugger.probes.passes import Passes
from torch_debugger.probes.probe import Probe
from torch_debugger.probes.rank_digests import RankDigests
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.schedulers import Schedulers
from torch_debugger.probes.seeds import Seeds
from torch_debugger.probes.shared_handles import SharedHandles
from torch_debugger.probes.stalls import Stalls
from torch_debugger.probes.watch import Watch
from torch_debugger.probes.worker_boards import WorkerBoards
from torch_debugger.probes.worker_generators import WorkerGenerators


def loop_probes(watch: Watch, roots: Roots, optimizers: Optimizers, loaders: Loaders) -> list[Probe]:
    passes = Passes(watch, roots, optimizers, loaders)
    WorkerGenerators(watch, loaders)
    copies = Copies(watch, roots, optimizers)
    early = [NameSwitches(watch, roots), Seeds(watch, optimizers), Schedulers(watch, optimizers)]
    collectives = Collectives(watch)
    ranks = [collectives, RankDigests(watch, roots, optimizers, collectives)]
    boards = WorkerBoards(watch, loaders)
    stalls = Stalls(watch)
    late = [boards, BatchClocks(watch, loaders, boards, stalls), OwnBatches(watch, loaders, stalls)]
    late.append(SharedHandles(watch, loaders))
    return [*early, Modes(watch, roots, optimizers), passes, copies, *ranks, *late]
