# A small training class that remembers its best weights and goes back to them at the end.
import copy

import torch
from torch import nn
import torch.nn.functional as F


class Learner:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
        self.best_accuracy = 0.0
        self.best_weights = None

    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def accuracy(self, x, y):
        return (self.net(x).argmax(dim=1) == y).float().mean().item()

    def remember(self, accuracy):
        if accuracy > self.best_accuracy:
            self.best_accuracy = accuracy
            self.best_weights = copy.deepcopy(self.net.state_dict())

    def restore(self):
        self.net.load_state_dict(self.best_weights)


if __name__ == "__main__":
    torch.manual_seed(15)
    centers = 0.7 * torch.randn(5, 10)
    labels = torch.randint(0, 5, (300,))
    data = centers[labels] + torch.randn(300, 10)
    learner = Learner(nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 5)))
    for epoch in range(40):
        for rows in torch.randperm(200).split(25):
            learner.step(data[rows], labels[rows])
        learner.remember(learner.accuracy(data[200:], labels[200:]))
    learner.restore()
    print(learner.best_accuracy, learner.accuracy(data[200:], labels[200:]))
