import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

    @torch.no_grad()
    def scored(self, seen, action):
        policy = torch.distributions.Categorical(logits=self.actor(seen))
        return policy.log_prob(action), policy.entropy()


torch.manual_seed(0)
net = ActorCritic()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for _step in range(60):
    seen = torch.randn(64, 4)
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=net.actor(seen)).sample()
    reward = (action == (seen[:, 0] > 0).long()).float()
    value = net.critic(seen).squeeze(1)
    log_prob, entropy = net.scored(seen, action)
    loss = -(log_prob * (reward - value.detach())).mean() + 0.5 * nn.functional.mse_loss(value, reward) - 0.01 * entropy.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
