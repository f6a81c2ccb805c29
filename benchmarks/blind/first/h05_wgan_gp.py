import torch
import torch.nn as nn

torch.manual_seed(5)


def real(n):
    centre = torch.tensor([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    return centre[torch.randint(0, 4, (n,))] + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
C = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=2e-3, betas=(0.5, 0.9))
N_CRITIC, LAMBDA, BATCH = 3, 1.0, 64


def penalty(x, x_fake):
    eps = torch.rand(len(x), 1)
    mixed = (eps * x + (1 - eps) * x_fake).requires_grad_(True)
    grad, = torch.autograd.grad(C(mixed).sum(), mixed, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


def sliced_distance(a, b, n_proj=50):
    g = torch.Generator().manual_seed(0)
    d = torch.randn(2, n_proj, generator=g)
    d = d / d.norm(dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


with torch.no_grad():
    print(f"start: distance {sliced_distance(G(torch.randn(1000, 8)), real(1000)):.3f}")
for it in range(1, 241):
    for p in C.parameters():
        p.requires_grad_(True)
    for _ in range(N_CRITIC):
        x = real(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, 8))
        c_loss = C(fake).mean() - C(x).mean() + LAMBDA * penalty(x, fake)
        opt_c.zero_grad()
        c_loss.backward()
        opt_c.step()

    for p in C.parameters():
        p.requires_grad_(False)
    g_loss = -C(G(torch.randn(BATCH, 8))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    if it % 60 == 0:
        G.eval()
        with torch.no_grad():
            dist = sliced_distance(G(torch.randn(1000, 8)), real(1000))
        G.train()
        print(f"iter {it}: critic {c_loss.item():.3f} generator {g_loss.item():.3f} distance {dist:.3f}")
