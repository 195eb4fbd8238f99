"""Reference values of control.cpp: SciPy's Riccati solver."""
import numpy as np
from scipy.linalg import solve_discrete_are

a = np.array([[1.0, 0.1], [0.05, 0.98]])
b = np.array([[0.005], [0.1]])
q, r = np.diag([1.0, 0.1]), np.array([[0.01]])
p = solve_discrete_are(a, b, q, r)
k = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
print("P", p.tolist())
print("K", k.tolist())
