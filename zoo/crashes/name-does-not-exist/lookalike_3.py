"""Build a network by a function of one's own."""
import torch
from torch import nn


def build(in_features, out_features):
    return nn.Linear(in_features, out_features)


model = build(in_feature=4, out_features=2)
print(model(torch.randn(3, 4)))
