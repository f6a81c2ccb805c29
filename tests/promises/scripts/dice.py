"""Reinforcement learning that throws dice of three makes: torch's, numpy's and random's."""

import random

import numpy
import torch
from fingerprint import STEPS, finish, start
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.own = torch.Generator().manual_seed(5)

    def act(self, state):
        chances = torch.distributions.Categorical(logits=self.policy(state))
        at_random = random.random() < 0.1
        action = torch.tensor(numpy.random.randint(3)) if at_random else chances.sample()
        return action, chances.log_prob(action)

    def learn(self):
        state = torch.from_numpy(numpy.random.randn(4)).float()
        words, rewards = [], []
        for _ in range(random.randrange(3, 9)):
            action, word = self.act(state)
            state = state + torch.randn(4, generator=self.own) * (action - 1)
            words.append(word)
            rewards.append(-state.abs().sum().item())
        returns = torch.tensor(numpy.cumsum(rewards[::-1])[::-1].copy()).float()
        loss = -(torch.stack(words) * (returns - returns.mean())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


start()
agent = Agent()
losses = [agent.learn() for _ in range(STEPS)]
finish([agent.policy], [agent.optimizer], [agent.own.get_state()], losses)
