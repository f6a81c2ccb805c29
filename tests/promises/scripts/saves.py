"""Saves, pickles, copies, replicates and traces its models in the middle of the training."""

import copy
import io
import pickle

import torch
from fingerprint import STEPS, digest, finish, show, start
from plain_model import KeepsAll, Model


class Pickler(pickle.Pickler):
    """Tensors as hashes: torch names their storages by address."""

    def persistent_id(self, value):
        return digest(value) if isinstance(value, torch.Tensor) else None


def pickled(model):
    file = io.BytesIO()
    Pickler(file).dump(model)
    return file.getvalue()


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    return file.getvalue()


def take_copies(model, other, x):
    show(pickled=pickled(model), whole=pickled(other), saved=saved(model), states=saved(model.state_dict()))
    # A replica is a shallow copy whose parameters stand for others: the call must not reach the original.
    replica = model._replicate_for_data_parallel()
    replica.layers = torch.nn.Sequential(torch.nn.Identity())
    copies = [copy.deepcopy(model), copy.copy(model), copy.deepcopy(other), pickle.loads(pickle.dumps(other)), replica]
    show(copies=[each(x) for each in copies], attributes=[sorted(vars(each)) for each in copies])
    show(
        scripted=str(torch.jit.script(model).graph),
        traced=str(torch.jit.trace(model, x).graph),
        symbolic=str(torch.fx.symbolic_trace(model).graph),
        functional=torch.func.functional_call(model, model.state_dict(), x),
        vmapped=torch.func.vmap(model)(x),
    )


start()
model, other = Model(), KeepsAll()
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
losses = []
for step in range(STEPS):
    x = torch.randn(8, 6)
    output = other(model(x))
    loss = (output - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    if step in (1, 4):  # with hooks on, and without
        take_copies(model, other, x)
    optimizer.step()
    losses.append(loss.item())
files = [saved(model), pickle.dumps(other)]  # for a process that does not know us
print("torch_debugger", [b"torch_debugger" in file for file in files])
show(pickled=pickled(model), whole=pickled(other), saved=saved(model), losses=losses)
finish([model, other], [optimizer], [output], losses)
