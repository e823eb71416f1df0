"""torchsde: Ito and Stratonovich equations, the adjoint method and the KL term of latent ones."""

# /// script
# dependencies = ["torchsde==0.2.6"]
# ///

import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.tensor(0.1))
        self.drift = torch.nn.Linear(2, 2)

    def f(self, t, y):
        return torch.tanh(self.drift(y)) - self.theta * y

    def g(self, t, y):
        return 0.3 * torch.sigmoid(y)

    def h(self, t, y):
        return -y


torch.manual_seed(0)
equation = Equation()
start = torch.full((4, 2), 0.5)
times = torch.linspace(0, 1, 5)
for method in ("euler", "milstein", "srk"):
    motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 2), entropy=5, levy_area_approximation="space-time")
    solved = torchsde.sdeint(equation, start, times, method=method, dt=0.1, bm=motion)
    print(method, [round(v, 4) for v in solved[-1].flatten().tolist()[:4]])
motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 3), entropy=7)
solved, ratio = torchsde.sdeint(equation, start, times, dt=0.1, bm=motion, logqp=True, method="euler")
print("logqp", [round(v, 4) for v in ratio.sum(0).tolist()])
solved.sum().backward()
print("gradient", round(equation.theta.grad.item(), 4))
stratonovich = Equation()
stratonovich.sde_type = "stratonovich"
stratonovich.load_state_dict(equation.state_dict())
motion = torchsde.BrownianInterval(0.0, 1.0, size=(4, 2), entropy=9, levy_area_approximation="none")
torchsde.sdeint_adjoint(stratonovich, start, times, dt=0.05, method="midpoint", adjoint_method="midpoint", bm=motion)[
    -1
].sum().backward()
print("adjoint", round(stratonovich.theta.grad.item(), 4), round(stratonovich.drift.weight.grad.abs().sum().item(), 4))
tree = torchsde.BrownianTree(t0=0.0, w0=torch.zeros(3), t1=1.0, w1=torch.ones(3), entropy=1)
print("tree", [round(v, 4) for v in tree(0.3).tolist()])
