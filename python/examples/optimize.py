"""A plan with its prices, a plan that cannot be, and a game."""

# %% Two products and three machines
import matplotlib.pyplot as plt
import numpy as np
from _picture import save

from fenchel.optimize import linprog, matrix_game

gain = np.array([3.0, 5.0])
hours = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 2.0]])
limits = np.array([4.0, 12.0, 18.0])
plan = linprog(-gain, A_ub=hours, b_ub=limits)
print(f"make {plan.x.round(6).tolist()}, gain {-plan.fun:.6g}")
print(f"an hour of each machine is worth {(-plan.ineqlin.marginals).round(6).tolist()}")

# %% An order of 5 and 7 cannot be met; the ray says why
order = linprog(-gain, A_ub=np.vstack([hours, -np.eye(2)]), b_ub=np.append(limits, [-5.0, -7.0]))
print(order.message)
print(f"weights of the rows that add up to a contradiction: {order.ray.round(3).tolist()}")

# %% Rock, paper, scissors with a stake on scissors
game = matrix_game([[0, -1, 2], [1, 0, -1], [-2, 1, 0]])
print(f"value {abs(game.value):.4f}, play {game.row.round(3).tolist()}")

# %% The picture
grid = np.linspace(0, 6, 200)
plt.figure(figsize=(4.5, 3.6))
roof = np.minimum(6, (18 - 3 * grid) / 2)
plt.fill_between(grid[grid <= 4], 0, roof[grid <= 4], color="C0", alpha=0.2)
for level in (15, 25, -plan.fun):
    plt.plot(grid, (level - 3 * grid) / 5, color="0.6", linewidth=0.8)
plt.plot(*plan.x, "o", color="C3")
plt.xlim(0, 6)
plt.ylim(0, 8)
plt.xlabel("first product")
plt.ylabel("second product (lines: equal gain)")
save("optimize")
