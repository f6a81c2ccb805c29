"""Knowledge distillation: a trained wide teacher, a narrow student."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

settings = {"temperature": 3.0, "alpha": 0.7, "teacher_epochs": 5, "student_epochs": 7, "batch": 60}


def spirals(n, arms=4):
    y = torch.randint(0, arms, (n,))
    r = torch.rand(n) * 0.9 + 0.1
    ang = 4 * r + y * (6.2832 / arms) + 0.15 * torch.randn(n)
    xy = torch.stack([r * ang.cos(), r * ang.sin()], 1)
    return torch.cat([2 * xy, 0.3 * torch.randn(n, 4)], 1), y


def network(widths):
    layers, last = [], 6
    for w in widths:
        layers += [nn.Linear(last, w), nn.BatchNorm1d(w), nn.ReLU()]
        last = w
    return nn.Sequential(*layers, nn.Linear(last, 4))


def distillation_loss(student_logits, teacher_logits, labels, T, alpha):
    soft = F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction="batchmean")
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    return (net(x).argmax(1) == y).float().mean().item()


def fit(net, loader, epochs, objective, name, x_val, y_val):
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in loader:
            loss = objective(net, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / len(loader)
        print(f"{name} epoch {epoch} loss {total:.3f} accuracy {accuracy(net, x_val, y_val):.3f}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    x, y = spirals(2400)
    val = spirals(400)
    loader = DataLoader(TensorDataset(x, y), batch_size=settings["batch"], shuffle=True)
    teacher, student = network([96, 96]), network([32, 24])
    fit(teacher, loader, settings["teacher_epochs"], lambda n, a, b: F.cross_entropy(n(a), b), "teacher", *val)

    teacher.eval().requires_grad_(False)

    def student_objective(net, a, b):
        return distillation_loss(net(a), teacher(a), b, settings["temperature"], settings["alpha"])

    fit(student, loader, settings["student_epochs"], student_objective, "student", *val)


if __name__ == "__main__":
    main()
