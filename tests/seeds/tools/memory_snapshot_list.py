"""Takes a snapshot of the GPU's memory, which is a list, and asks it for a method."""

import pickle

import torch

taken = torch.cuda.memory_snapshot()
with open("taken.pickle", "wb") as file:
    pickle.dump(taken, file)
print(taken.stats())
