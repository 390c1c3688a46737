"""A small trainer in NumPy, one member and one step at a time, written from the definitions alone.

It shares no code with the package: draws, activations, losses, optimisers and parameterisations are all here again.
"""

import hashlib
import math

import numpy as np
from scipy import special

GOLDEN = 0x9E3779B97F4A7C15
M = (1 << 64) - 1


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


def key(seed: int, stream: str) -> int:
    name = int.from_bytes(hashlib.blake2b(stream.encode(), digest_size=8).digest(), "little")
    return mix((mix((seed + GOLDEN) & M) + name) & M)


def bits(k: int, counter: int) -> int:
    return mix((k + mix((k + counter * GOLDEN) & M)) & M)


def uniform(k: int, counter: int) -> float:
    return ((bits(k, counter) >> 12) + 0.5) * 2.0**-52


def uniforms(k: int, *shape: int) -> np.ndarray:
    return np.array([uniform(k, c) for c in range(math.prod(shape))]).reshape(shape)


def normals(k: int, *shape: int) -> np.ndarray:
    return special.ndtri(uniforms(k, *shape))


def sigmoid(u):
    return 1 / (1 + np.exp(-u))


def softmax(u):
    e = np.exp(u - u.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def he(u, k):
    return special.eval_hermitenorm(k, u) / math.sqrt(math.factorial(k))


ACTIVATIONS = {
    "relu": (lambda u: np.maximum(u, 0), lambda u: (u > 0) * 1.0),
    "leaky": (lambda u: np.where(u > 0, u, 0.1 * u), lambda u: np.where(u > 0, 1, 0.1)),
    "abs": (np.abs, np.sign),
    "linear": (lambda u: u, np.ones_like),
    "erf": (lambda u: special.erf(u / math.sqrt(2)), lambda u: math.sqrt(2 / math.pi) * np.exp(-u * u / 2)),
    "tanh": (np.tanh, lambda u: 1 / np.cosh(u) ** 2),
    "sigmoid": (sigmoid, lambda u: sigmoid(u) * sigmoid(-u)),
    "softplus": (lambda u: np.log1p(np.exp(u)), sigmoid),
    "gelu": (
        lambda u: u * special.ndtr(u),
        lambda u: special.ndtr(u) + u * np.exp(-u * u / 2) / math.sqrt(2 * math.pi),
    ),
    "silu": (lambda u: u * sigmoid(u), lambda u: sigmoid(u) + u * sigmoid(u) * sigmoid(-u)),
    "squared-relu": (lambda u: np.maximum(u, 0) ** 2, lambda u: 2 * np.maximum(u, 0)),
    "hermite-3": (lambda u: he(u, 3), lambda u: math.sqrt(3) * he(u, 2)),
}


def outputs(w, b, x, activation):
    """Features of all layers and derivatives of hidden ones: x [B, d]."""
    f, slopes = [x], []
    for layer in range(len(w)):
        u = f[-1] @ w[layer] + (0 if b is None else b[layer])
        if layer < len(w) - 1:
            slopes.append(ACTIVATIONS[activation][1](u))
            u = ACTIVATIONS[activation][0](u)
        f.append(u)
    return f, slopes


def labels(taught, loss, temperature):
    if loss == "cross-entropy":
        return np.eye(taught.shape[1])[taught.argmax(1)]
    if loss == "soft-cross-entropy":
        return softmax(taught / temperature)
    if loss == "binary-cross-entropy":
        return (taught > 0) * 1.0
    return taught if loss == "mse" else np.where(taught > 0, 1.0, -1.0)


def output_gradient(loss, y, f, temperature):
    match loss:
        case "mse":
            return f - y
        case "cross-entropy":
            return softmax(f) - y
        case "soft-cross-entropy":
            return temperature * (softmax(f / temperature) - y)
        case "binary-cross-entropy":
            return sigmoid(f) - y
        case "logistic":
            return -y * sigmoid(-y * f)
        case "exponential":
            return -y * np.exp(-y * f)


def gradient(w, b, x, y, how):
    f, slopes = outputs(w, b, x, how["activation"])
    g = output_gradient(how["loss"], y, f[-1], how["temperature"]) / len(x)
    dw, db = [None] * len(w), [None] * len(w)
    for layer in reversed(range(len(w))):
        dw[layer], db[layer] = f[layer].T @ g, g.sum(0)
        if layer:
            g = g @ w[layer].T * slopes[layer - 1]
    return dw + (db if b is not None else [])


def noisy(values, noise, k):
    if noise is None or noise["kind"] == "flips":
        return values
    if noise["kind"] == "gaussian":
        return values + noise["std"] * normals(k, *values.shape)
    return values + noise["scale"] * special.stdtrit(noise["freedom"], uniforms(k, *values.shape))


def flipped(y, noise, k, loss):
    if noise is None or noise["kind"] != "flips":
        return y
    y, unit = y.copy(), uniforms(k, len(y), 2)
    for i in range(len(y)):
        if unit[i, 0] < noise["share"]:
            if "cross-entropy" in loss and loss != "binary-cross-entropy":
                y[i] = np.roll(y[i], 1 + int(unit[i, 1] * (y.shape[1] - 1)))
            else:
                y[i] = 1 - y[i] if loss == "binary-cross-entropy" else -y[i]
    return y


def rate_factors(how, widths):
    """Factors of all weights, then of all biases."""
    layers, adam = len(widths) - 1, how["optimiser"]["kind"] in ("adam", "adamw")
    weights, biases = [], []
    for layer in range(layers):
        a, b = widths[layer], widths[layer + 1]
        first, last = layer == 0, layer == layers - 1
        weight, bias = 1.0, 1.0
        if how["parameterisation"] == "ntk":
            weight = 1 / math.sqrt(a) if adam else 1 / a
        if how["parameterisation"] == "mup":
            if adam:
                weight = 1.0 if first and not last else 1 / a
            else:
                weight = 1 / a if last else (b if first else 1.0)
                bias = 1.0 if last else b
        if layer + 1 in how["frozen"] or layer - layers in how["frozen"]:
            weight = bias = 0.0
        given = how["layer_rates"][layer] if how["layer_rates"] else 1.0
        weights.append(weight * given)
        biases.append(bias * given)
    return weights + biases


def factor(schedule, t, total):
    start = schedule.get("warm_up", 0)
    if t < start:
        return (t + 1) / start
    t, total = t - start, total - start
    match schedule["kind"]:
        case "constant":
            return 1.0
        case "cosine":
            return (1 + math.cos(math.pi * t / total)) / 2
        case "drops":
            return schedule["factor"] ** sum(t >= at for at in schedule["at"])
        case "inverse":
            return (1 + t / schedule["after"]) ** -schedule["power"]
        case "settle":
            return 0.1 + 0.9 * min(1.0, (total - t) / max(1.0, 0.25 * total))


class Reference:
    """One member: weights [in, out] and biases [out] or None, a teacher (weights, biases, activation), and a seed."""

    def __init__(self, w, b, teacher, points, seed, how):
        self.w, self.b, self.teacher, self.seed, self.how = [a.copy() for a in w], b, teacher, seed, how
        self.b = None if b is None else [a.copy() for a in b]
        self.points = points
        self.memory = [[np.zeros_like(a) for a in self.arrays] for _ in range(2)]
        self.widths = [w[0].shape[0], *(a.shape[1] for a in w)]

    @property
    def arrays(self):
        return self.w + (self.b or [])

    def taught(self, x):
        return outputs(*self.teacher[:2], x, self.teacher[2])[0][-1]

    def batch(self, t):
        how, size = self.how, self.how["batch"]
        noise, moved = how["label_noise"], how["input_noise"]
        if how["sampling"] == "online":
            x = normals(bits(key(self.seed, "online"), t), size, self.widths[0])
            return self.with_noise(x, x, bits(key(self.seed, "label noise"), t), bits(key(self.seed, "input noise"), t))
        n = len(self.points)
        if size == "all":
            rows = list(range(n))
        elif how["sampling"] == "replacement":
            k = key(self.seed, "batches")
            rows = [((bits(k, t * size + i) >> 32) * n) >> 32 for i in range(size)]
        else:
            k, epoch, place = key(self.seed, "batches"), t // (n // size), t % (n // size)
            drawn = [bits(k, epoch * n + i) for i in range(n)]
            order = sorted(range(n), key=lambda i: drawn[i] - (1 << 64) * (drawn[i] >> 63))
            rows = order[place * size : (place + 1) * size]
        fresh = [n is not None and n.get("fresh", False) for n in (noise, moved)]
        x, y = self.with_noise(
            self.points,
            self.points,
            key(self.seed, "label noise"),
            key(self.seed, "input noise"),
            [not f for f in fresh],
        )
        x, y = x[rows], y[rows]
        step_keys = [bits(key(self.seed, f"{what} noise"), t) for what in ("label", "input")]
        if fresh[0]:
            _, y = self.with_noise(x, self.points[rows], *step_keys, [True, False])
        if fresh[1]:
            x = noisy(x, moved, step_keys[1])
        return x, y

    def with_noise(self, x, clean, label_key, input_key, which=(True, True)):
        how = self.how
        noise, moved = (
            n if on else None for n, on in zip((how["label_noise"], how["input_noise"]), which, strict=True)
        )
        y = labels(noisy(self.taught(clean), noise, label_key), how["loss"], how["temperature"])
        return noisy(x, moved, input_key), flipped(y, noise, label_key, how["loss"])

    def run(self, steps):
        for t in range(steps):
            self.step(t, steps, *self.batch(t))
        return self

    def step(self, t, total, x, y):
        how, rule = self.how, self.how["optimiser"]
        rate = how["learning_rate"] * factor(how["schedule"], t, total)
        rates = [rate * f for f in rate_factors(how, self.widths)]
        if rule["kind"] == "gradient-flow":
            return self.flow(x, y, rates)
        for i, (a, g) in enumerate(zip(self.arrays, gradient(self.w, self.b, x, y, how), strict=True)):
            if rates[i] == 0:
                continue
            m, v = self.memory[0][i], self.memory[1][i]
            h = g + rule.get("l1", 0) * np.sign(a)
            h = h + (rule.get("weight_decay", 0) * a if rule["kind"] != "adamw" else 0)
            if rule["kind"] == "sgd":
                mu = rule.get("momentum", 0)
                m[...] = mu * m + h
                a -= rates[i] * (h + mu * m if rule.get("nesterov") else m)
                continue
            if rule["kind"] == "adamw":
                a *= 1 - rates[i] * rule.get("weight_decay", 0.01)
            m[...] = 0.9 * m + 0.1 * h
            v[...] = 0.999 * v + 0.001 * h * h
            a -= rates[i] * (m / (1 - 0.9 ** (t + 1))) / (np.sqrt(v / (1 - 0.999 ** (t + 1))) + 1e-8)

    def flow(self, x, y, rates):
        decay, start = self.how["optimiser"].get("weight_decay", 0), [a.copy() for a in self.arrays]

        def slope(at):
            w, b = at[: len(self.w)], at[len(self.w) :] or None
            return [-r * (g + decay * a) for r, g, a in zip(rates, gradient(w, b, x, y, self.how), at, strict=False)]

        k1 = slope(start)
        k2 = slope([a + k / 2 for a, k in zip(start, k1, strict=True)])
        k3 = slope([a + k / 2 for a, k in zip(start, k2, strict=True)])
        k4 = slope([a + k for a, k in zip(start, k3, strict=True)])
        for array, a, *k in zip(self.arrays, start, k1, k2, k3, k4, strict=True):
            array[...] = a + (k[0] + 2 * k[1] + 2 * k[2] + k[3]) / 6
