"""DQN on a small ring world with a softly updated target network."""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
random.seed(1)
N, GAMMA, TAU = 12, 0.9, 0.03


def env_step(s, a):
    s2 = (s + (1 if a == 1 else -1)) % N
    if s2 == 0:
        return s2, 1.0, True
    if s2 == N // 2:
        return s2, -0.3, False
    return s2, 0.0, False


def onehot(idx):
    return F.one_hot(torch.as_tensor(idx), N).float()


q_net = nn.Sequential(nn.Linear(N, 48), nn.ReLU(), nn.Linear(48, 2))
target_net = copy.deepcopy(q_net)
for p in target_net.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
buffer = []


def act(s, eps):
    if random.random() < eps:
        return random.randrange(2)
    with torch.no_grad():
        return q_net(onehot([s])).argmax(1).item()


def value_iteration():
    q = torch.zeros(N, 2)
    for _ in range(80):
        new = q.clone()
        for s in range(1, N):
            for a in range(2):
                s2, r, d = env_step(s, a)
                new[s, a] = r + (0 if d else GAMMA * q[s2].max().item())
        q = new
    return q[1:]


q_true = value_iteration()
s = random.randrange(1, N)
learn = 0
for t in range(1800):
    a = act(s, eps=max(0.3, 1 - t / 900))
    s2, r, d = env_step(s, a)
    buffer.append((s, a, r, s2, float(d)))
    s = random.randrange(1, N) if d else s2
    if len(buffer) < 128 or t % 3:
        continue
    bs, ba, br, bs2, bd = zip(*random.sample(buffer, 64))
    with torch.no_grad():
        best = q_net(onehot(bs2)).argmax(1, keepdim=True)
        nxt = target_net(onehot(bs2)).gather(1, best).squeeze(1)
        y = torch.tensor(br) + GAMMA * (1 - torch.tensor(bd)) * nxt
    q = q_net(onehot(bs)).gather(1, torch.tensor(ba).unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q_net.parameters(), 1.0)
    optimizer.step()
    with torch.no_grad():
        for pt, p in zip(target_net.parameters(), q_net.parameters()):
            pt.lerp_(p, TAU)
    learn += 1
    if learn % 110 == 0:
        with torch.no_grad():
            out = q_net(torch.eye(N))[1:]
        agree = (out.argmax(1) == q_true.argmax(1)).float().mean()
        print(f"updates {learn} loss {loss.item():.5f} |Q-Q*| {(out - q_true).abs().mean():.3f} policy match {agree:.2f}")
