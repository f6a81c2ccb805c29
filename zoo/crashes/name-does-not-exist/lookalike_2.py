"""Train with settings kept in an object."""
import torch
from torch import nn


class Settings:
    lr = 0.1
    steps = 50


settings = Settings()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=settings.learning_rate)
