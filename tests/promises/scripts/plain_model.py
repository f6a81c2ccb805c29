"""Models that other interpreters can import and unpickle."""

from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 6))

    def forward(self, x):
        return self.layers(x)


class KeepsAll(Model):
    """Pickles its whole dictionary, unlike torch's own modules, which leave one entry out."""

    def __getstate__(self):
        return self.__dict__
