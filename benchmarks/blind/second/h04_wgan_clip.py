import torch
import torch.nn as nn

torch.manual_seed(8)


def real(n):
    s = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([s * 1.5, s * 0.5], 1) + 0.2 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
critic = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
opt_g = torch.optim.RMSprop(G.parameters(), lr=2e-3)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=2e-3)
BS, N_CRITIC, CLIP = 64, 4, 0.1


def quality():
    with torch.no_grad():
        f = G(torch.randn(2000, 2))
    r = real(2000)
    return (torch.cdist(f, r).mean() * 2 - torch.cdist(f, f).mean() - torch.cdist(r, r).mean()).item()


for it in range(120):
    for p in critic.parameters():
        p.requires_grad_(True)
    for _ in range(N_CRITIC):
        fake = G(torch.randn(BS, 2)).detach()
        critic.zero_grad()
        loss_c = critic(fake).mean() - critic(real(BS)).mean()
        loss_c.backward()
        opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-CLIP, CLIP)
    for p in critic.parameters():
        p.requires_grad_(False)
    G.zero_grad()
    loss_g = -critic(G(torch.randn(BS, 2))).mean()
    loss_g.backward()
    opt_g.step()
    if it % 20 == 19:
        print(f"gen iter {it:3d} W estimate {-loss_c.item():+.4f} loss_g {loss_g.item():+.4f} energy distance {quality():.4f}")
