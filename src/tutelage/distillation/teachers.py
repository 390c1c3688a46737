"""A linear teacher from labelled real data: logistic regression without an intercept."""

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from tutelage.errors import TutelageError


def logistic_teacher(x: Tensor, labels: Tensor, penalty: float = 1.0) -> Tensor:
    r"""The minimiser of :math:`\sum_i \log(1 + e^{-s_i w \cdot x_i}) + (\lambda/2) |w|^2`, s = +-1: x [N, d] -> w [d].

    labels: 0 and 1 [N]; penalty: lambda. No intercept, since the theory of Phuong 2021, chapter 5 is of lines through
    0.

    >>> x = torch.tensor([[1.0, 0.2], [-1.0, 0.1]])
    >>> bool((x.double() @ logistic_teacher(x, torch.tensor([1, 0])) > 0).tolist() == [True, False])
    True
    """
    if x.ndim != 2 or labels.shape != x.shape[:1]:
        raise TutelageError(f"wanted points [N, d] with a label each, not {list(x.shape)} and {list(labels.shape)}")
    if set(labels.unique().tolist()) != {0, 1} or not penalty > 0:
        raise TutelageError("wanted labels 0 and 1, both of them, and a positive penalty")
    signed = (x.double() * (2 * labels.double() - 1).unsqueeze(1)).numpy()

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        m = signed @ w
        pull = np.exp(-np.logaddexp(0, m))
        return float(np.logaddexp(0, -m).sum() + penalty / 2 * w @ w), penalty * w - pull @ signed

    result = minimize(
        objective,
        np.zeros(x.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-8},
    )
    return torch.from_numpy(result.x)
