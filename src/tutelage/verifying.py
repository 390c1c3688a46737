r"""The checker of proofs about two networks: one file that needs numpy and nothing else of this library.

A proof says of two ONNX files how far their outputs differ at most, or that both have the same top class, for every
input of a box or for all inputs. ``python verifying.py PROOF A.onnx B.onnx`` works without the library. Nothing that a
proof says is believed. Why one that passes is true:

- Networks are exact functions of their stored numbers. What is rounded on the way has a bound on its error, e.
- Units in another order or times positive factors, units without weights, layers that hand on, and two layers of which
  the upper one only puts together what the lower one took apart change no function.
- Parts of a box are made here by halving it, each into two closed halves: together they are the whole box.
- Ends of x are a number above -x and one above x, so that all rounding is upwards. On a part, relu(u) lies between
  s u + max(-s low, (1 - s) high) and t u, with s and t in [0, 1], and relu(f) - relu(g) is z (f - g) with z in [0, 1].
- A row p f + q d, d = f - g, of a layer is a row of what lies below it: lines are put in for units, by the signs of
  their coefficients. Coefficients count as exact: by how much they are off, times the size of what they multiply, goes
  into the bound. A sum of n products is within n eps / 2 times the sum of their sizes (Higham 2002, section 3.1); four
  times that is gamma(n), which leaves room for the rounding of the bounds. TINY is for products that underflow.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMAT, EPS, TINY = "tutelage-proof-1", 2.0**-52, 1e-300
PARTS, _ENTRIES = 8, 1 << 20  # parts at a time, whose units mostly bend alike, and numbers in an array
_TYPES = {1: ("<f4", 4), 7: ("<i8", 7), 10: ("<f2", 0), 11: ("<f8", 10)}  # and the field of numbers that are not raw
_ONE = np.float32(1).tobytes()
_PLAIN = {"transA": 0, "alpha": _ONE, "beta": _ONE, "group": 1, "dilations": [1, 1], "allowzero": 0}
_DAMAGED = (ArithmeticError, AttributeError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError)


class ProofError(ValueError):
    """A network that cannot be read, or a claim that the proof leaves open."""


def gamma(terms: int) -> float:
    return 2 * (terms + 16) * EPS


def varints(stream: Iterator[int]) -> Iterator[int]:
    """The integers of a stream of bytes."""
    value = shift = 0
    for byte in stream:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value - (value >> 63 << 64)
            value = shift = 0


def fields(data: bytes) -> dict[int, list[Any]]:
    """The values of every field of a protobuf message: integers and bytes."""
    stream, found = iter(data), dict[int, list[Any]]()
    numbers = varints(stream)
    for key in numbers:
        value: Any = next(numbers) if key & 7 in (0, 2) else {1: 8, 5: 4}[key & 7]
        if key & 7:
            size, value = value, bytes(islice(stream, value))
            if len(value) < size:
                raise ProofError("the file ends too soon")
        found.setdefault(key >> 3, []).append(value)
    return found


def whole(values: list[Any]) -> list[int]:
    return [n for v in values for n in ([v] if isinstance(v, int) else varints(iter(v)))]


def tensor(data: bytes) -> np.ndarray:
    given = fields(data)
    kind, field = _TYPES[given[2][0]]
    if field == 7 and 9 not in given:
        numbers = np.array(whole(given.get(7, [])), kind)
    else:
        numbers = np.frombuffer(b"".join(given.get(9, given.get(field, []))), kind)
    if not np.isfinite(numbers).all() or 13 in given or 14 in given:
        raise ProofError("a tensor has numbers that are not finite, or in another file")
    return numbers.astype("i8" if field == 7 else "f8").reshape(whole(given.get(1, [])))


class StoredLayer(NamedTuple):
    """Weights and biases [out, in + 1], the biases last, and bounds on the error of each."""

    a: np.ndarray
    e: np.ndarray


class Computed(NamedTuple):
    """A value of a graph: its shape for one input, and an affine map of the last of the hidden layers so far."""

    shape: tuple[int, ...]
    map: StoredLayer
    hidden: tuple[StoredLayer, ...] = ()

    def times(self, m: np.ndarray, shape: tuple[int, ...]) -> "Computed":
        a, e = self.map
        if m.shape[1] == len(a) and np.array_equal(a, np.eye(*a.shape)) and not e.any():
            a = np.pad(m, ((0, 0), (0, 1)))
            return Computed(shape, StoredLayer(a, 0 * a), self.hidden)
        error = (np.abs(m) @ e + gamma(m.shape[1]) * (np.abs(m) @ np.abs(a))) * (1 + gamma(m.shape[1])) + TINY
        return Computed(shape, StoredLayer(m @ a, error), self.hidden)

    def plus(self, c: np.ndarray) -> "Computed":
        if np.broadcast_shapes(self.shape, c.shape) != self.shape:
            raise ProofError(f"a constant of shape {c.shape} is added to a value of shape {self.shape}")
        (a, e), more = (x.copy() for x in self.map), np.broadcast_to(c, self.shape).ravel()
        rounded = (a[:, -1] != 0) & (more != 0)
        a[:, -1] += more
        e[:, -1] = np.where(rounded, (e[:, -1] + EPS * np.abs(a[:, -1])) * (1 + 8 * EPS), e[:, -1])
        return Computed(self.shape, StoredLayer(a, e), self.hidden)


def identity(n: int) -> StoredLayer:
    return StoredLayer(np.eye(n, n + 1), np.zeros((n, n + 1)))


def read_network(path: str | Path, data: bytes | None = None) -> list[StoredLayer]:
    """The layers of an ONNX file of affine maps and relus, or of its content; all but the last have a relu."""
    try:
        graph = fields(fields(Path(path).read_bytes() if data is None else data)[7][0])
        known: dict[str, Any] = {fields(t)[8][0].decode(): tensor(t) for t in graph.get(5, [])}
        (start,), (output,) = [i for i in map(fields, graph[11]) if i[1][0].decode() not in known], graph[12]
        dims = fields(fields(fields(start[2][0])[1][0])[2][0]).get(1, [])
        shape = tuple(fields(d).get(1, [1])[0] or 1 for d in dims)
        known[start[1][0].decode()] = Computed(shape, identity(prod(shape)))
        for node in map(fields, graph[1]):
            if node.get(7, [b""])[0] not in (b"", b"ai.onnx"):
                raise ProofError(f"the operator {node[4][0].decode()} has a definition of its own")
            given: dict[str, Any] = {}
            for option in map(fields, node.get(5, [])):
                values = [v for kind in (2, 3, 4, 5) for v in option.get(kind, [])]
                given[option[1][0].decode()] = values[0] if values else whole(option.get(8, []))
            values = [known[name.decode()] for name in node.get(1, []) if name]
            if (operator := node[4][0].decode()) == "Constant":
                known[node[2][0].decode()] = tensor(given["value"])
            else:
                known[node[2][0].decode()] = computed(operator, given, *values)
        top = known[fields(output)[1][0].decode()]
        return [*top.hidden, top.map]
    except (*_DAMAGED, StopIteration) as error:
        raise ProofError(f"{path} cannot be read as an ONNX file of affine maps and relus: {error}") from None


def computed(operator: str, given: dict[str, Any], x: Any, y: Any = None, bias: Any = None) -> Computed:
    (left, right), made = (isinstance(v, Computed) for v in (x, y)), None
    plain = given.get("auto_pad", b"NOTSET") == b"NOTSET" and all(given.get(k, v) == v for k, v in _PLAIN.items())
    if not plain or min(given.get("strides", [1])) < 1:
        raise ProofError(f"the operator {operator} has attributes that are not understood")
    if operator == "MatMul" and right and not left and y.shape in ((x.shape[-1],), (x.shape[-1], 1)) and x.ndim == 2:
        return y.times(x, (len(x), *y.shape[1:]))
    if operator in ("MatMul", "Gemm") and left and not right and x.shape[-1] == prod(x.shape) and y.ndim == 2:
        made = y if given.get("transB", 0) else y.T, (*x.shape[:-1], y.shape[0 if given.get("transB", 0) else 1])
    if operator == "Conv" and left and not right and x.shape[:2] == (1, *y.shape[1:2]):
        made = convolution(x.shape[1:], y, given.get("strides", [1, 1]), given.get("pads", [0] * 4))
        bias = bias if bias is None else bias[:, None, None]
    if made is not None:
        return x.times(*made) if bias is None else x.times(*made).plus(bias)
    if operator in ("Add", "Sub") and left != right and (left or operator == "Add"):
        return x.plus(y if operator == "Add" else -y) if left else y.plus(x)
    if operator == "Relu":
        return Computed(x.shape, identity(len(x.map.a)), (*x.hidden, x.map))
    if operator in ("Flatten", "Reshape"):
        sizes = y.tolist() if operator == "Reshape" else (prod(x.shape[: int(given.get("axis", 1))]), -1)
        sizes = [x.shape[k] if size == 0 else size for k, size in enumerate(sizes)]
        return x._replace(shape=np.empty(x.shape, bool).reshape(sizes).shape)
    raise ProofError(f"the operator {operator} is not understood, or not with these shapes and attributes")


def convolution(image: tuple[int, ...], w: np.ndarray, strides: list[int], pads: list[int]) -> Any:
    """The matrix of a convolution, and the shape of what it gives."""
    # Windows of the places of inputs, from 1 on: 0 is what is padded.
    places = np.pad(np.arange(prod(image)).reshape(image) + 1, ((0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    windows = np.lib.stride_tricks.sliding_window_view(places, w.shape[2:], (1, 2))[:, :: strides[0], :: strides[1]]
    windows = windows.transpose(1, 2, 0, 3, 4).reshape(1, *windows.shape[1:3], -1)
    made = np.zeros((len(w), *windows.shape[1:3], prod(image) + 1))
    np.put_along_axis(made, windows.repeat(len(w), 0), w.reshape(len(w), 1, 1, -1), 3)
    return made.reshape(-1, made.shape[3])[:, 1:], (1, *made.shape[:3])


def made_one(layers: list[StoredLayer], at: int) -> list[StoredLayer]:
    """Two layers as one where every unit above is c relu(u) with c > 0, or b + c relu(u) + d relu(v) with c u = d v and
    c d < 0, which is b + c u since relu(u) - relu(-u) = u."""
    low, up = layers[at], layers[at + 1]
    w, b, rows, used = up.a[:, :-1], up.a[:, -1], np.arange(len(up.a)), up.a[:, :-1] != 0
    first, last = used.argmax(1), w.shape[1] - 1 - used[:, ::-1].argmax(1)
    c, d = w[rows, first], w[rows, last]
    a = c[:, None] * low.a[first]
    alone = (used.sum(1) == 1) & (c > 0) & (b == 0)
    pair = (used.sum(1) == 2) & ((c > 0) != (d > 0)) & (a == d[:, None] * low.a[last]).all(1)
    # Products of two numbers of 24 bits are exact.
    exact = all((x.astype("f4") == x).all() for x in (low.a, w)) and not (low.e.any() or up.e.any())
    if not (0 <= at < len(layers) - 2 and exact and (alone | pair).all()):
        raise ProofError(f"layer {at + 1} does not only put together what layer {at} took apart")
    return [*layers[:at], Computed((len(a),), StoredLayer(a, 0 * a)).plus(b).map, *layers[at + 2 :]]


def rewritten(layers: list[StoredLayer], how: dict[str, Any]) -> list[StoredLayer]:
    """A network with layers made one, layers that hand on below the top one, and its hidden units in places: every unit
    of a layer once, times a positive factor, and -1 for none."""
    for at in how["made_one"]:
        layers = made_one(layers, at)
    for _ in range(len(how["units"]) + 1 - len(layers) if len(layers) > 1 else 0):
        layers = [*layers[:-1], identity(layers[-1].a.shape[1] - 1), layers[-1]]
    ends, new = (layers[0].a.shape[1] - 1, len(layers[-1].a)), []
    orders = [np.array(order, int) for order in (range(ends[0]), *how["units"], range(ends[1]))]
    scales = [np.array(scale, float) for scale in (np.ones(ends[0]), *how["factors"], np.ones(ends[1]))]
    for layer, below, here, by, scale in zip(layers, orders[:-1], orders[1:], scales[:-1], scales[1:], strict=True):
        once = np.array_equal(np.sort(here[here >= 0]), range(len(layer.a))) and scale.shape == here.shape
        if not (once and (here >= -1).all() and ((scale > 1e-60) & (scale < 1e60)).all()):
            raise ProofError("every hidden unit must have one place and a factor above 0")
        columns = np.append(np.where(below < 0, -2, below), -1)  # the last two of a row: nothing, and the bias
        a, e = (np.insert(np.pad(x, ((0, 1), (0, 0))), -1, 0.0, 1)[here][:, columns] for x in layer)
        a, e = (x * scale[:, None] / np.append(by, 1.0) for x in (a, e))
        powers = all((np.frexp(s)[0] == 0.5).all() for s in (by, scale))  # of two, which multiply exactly
        exact = powers and ((layer.a == 0) | (np.abs(layer.a) > 1e-150)).all()
        new.append(StoredLayer(a, e if exact else (e + 4 * EPS * np.abs(a)) * (1 + 8 * EPS) + TINY))
    return new


def joined(f: list[StoredLayer], g: list[StoredLayer]) -> list[StoredLayer]:
    """Both networks as one: rows of f above those of d = f - g, on s = relu(f) and a = relu(f) - relu(g) below."""
    if [x.a.shape for x in f] != [x.a.shape for x in g]:
        raise ProofError("the proof gives the networks other numbers of layers or units")
    pair: list[StoredLayer] = []
    for p, q in zip(f, g, strict=True):
        below = [x[:, :-1] if pair else x[:, :0] for x in q]  # the inputs do not differ
        blocks = zip(p, below, (p.a - q.a, p.e + q.e + EPS * np.abs(p.a - q.a)), strict=True)
        rows = ([[x[:, :-1], 0 * y, x[:, -1:]], [z[:, :-1], y, z[:, -1:]]] for x, y, z in blocks)
        pair.append(StoredLayer(*map(np.block, rows)))
    return pair


def put(c: np.ndarray, lines: Any) -> np.ndarray:
    return np.maximum(c, 0) * lines[0] + np.minimum(c, 0) * lines[1]


def chord(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope and offset of a line above relu."""
    below, above = ends
    s = np.where(below <= 0, 1.0, np.clip(above / np.where(below + above > 0, below + above, 1.0), 0.0, 1.0))
    most = np.maximum(s * below, (1 - s) * above) * (1 + 8 * EPS) + TINY
    return s, np.where((below > 0) & (above > 0), most, 0.0)


def may_bend(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    return ~(((f[0] <= 0) & (g[0] <= 0)) | ((f[1] <= 0) & (g[1] <= 0)))


def lines(ends: np.ndarray, slopes: Any, over: Any, under: Any, size: np.ndarray, share: float) -> np.ndarray:
    """Slopes of lines above and below, offsets with room for rounding, and values at the middle: [3, 2, B, 1, n]."""
    # A coefficient is off by a few eps, whichever value it multiplies: the room is that times the size.
    x, room = 0.5 * ends[1] - 0.5 * ends[0], share * (size + over + under) + TINY
    middle = slopes[0] * x + over, slopes[1] * x - under
    return np.array([slopes, (over + room, -under - room), middle])[:, :, :, None]


def units(f: np.ndarray, d: np.ndarray, g: np.ndarray, share: float) -> tuple[np.ndarray, ...]:
    """Lines of relu(f), of relu(g) and of relu(f) - relu(g), and which units may bend."""
    (s, most), (t, more), (z, over), (y, under) = (chord(x) for x in (f, g, d, d[::-1]))
    size, on, bend = f.max(0), (f[0] <= 0) & (g[0] <= 0), may_bend(f, g)
    of_f = lines(f, (s, 1.0 * (f[1] > np.maximum(f[0], 0))), most, 0 * most, size, share)
    of_g = lines(g, (t, 1.0 * (g[1] > np.maximum(g[0], 0))), more, 0 * more, size + d.max(0), share)
    # relu(f) - relu(g) lies between 0 and d; it is d where both are on, and 0 where both are off.
    slopes = np.where(bend, z, on), np.where(bend, y, on)
    return of_f, of_g, lines(d, slopes, bend * over, bend * under, d.max(0), share), bend[:, None]


class Boxes:
    """Both networks on boxes [B, d], layer by layer from below."""

    def __init__(self, pair: list[StoredLayer], low: np.ndarray, high: np.ndarray) -> None:
        self.inputs, self.layers, self.units = (high[:, None], low[:, None]), list[Any](), list[Any]()
        share, one = gamma(2 * sum(sum(a.shape) for a, _ in pair)), np.ones((1, len(low), 1))
        u, met = np.stack([-low, high]), np.zeros(len(low))
        for a, e in pair:
            u = np.append(u, np.append(-one, one, 0), 2)
            # By how much f or d is off, and a row's products with weights, per coefficient; what may underflow.
            size = u.max(0)
            room = (size @ e.T + share * (size @ np.abs(a).T)) * (1 + share) + TINY
            self.layers.append((a, room[..., None], TINY * (size.sum(1) + met)[:, None, None]))
            f, d = np.split(u @ np.maximum(a, 0).T + u[::-1] @ np.maximum(-a, 0).T + room, 2, 2)
            if len(self.layers) < len(pair):
                g = f + d[::-1] + 4 * EPS * (f.max(0) + d.max(0))
                self.narrow(f, d, g)
                self.units.append(units(f, d, g, share))
                on, bend, met = (f[0] <= 0) & (g[0] <= 0), may_bend(f, g), (f.max(0) + d.max(0)).sum(1)
                s = np.stack([np.minimum(f[0], 0), np.maximum(f[1], 0)])
                u = np.append(s, np.where(bend, np.maximum(d, 0), on * d), 2)

    def narrow(self, f: np.ndarray, d: np.ndarray, g: np.ndarray) -> None:
        """Ends of units that may bend, by what is known of the layers below."""
        for x, p, q in ((f, 1, 0), (d, 0, 1), (g, 1, -1)) if self.units else ():
            bend = may_bend(f, g)
            some = np.flatnonzero(bend.any(0))
            for part in np.array_split(some, 1 + f.size * len(some) // _ENTRIES):
                rows = (part[:, None] == np.arange(f.shape[2])) * 1.0
                rows = np.append(-rows, rows, 0)
                above = self.upper(np.append(p * rows, q * rows, 1) if q else rows)[0]
                above = above.reshape(f.shape[1], 2, -1).swapaxes(0, 1)
                above[:, ~bend[:, part]] = np.inf  # a bound on a box does not depend on those beside it
                x[:, :, part] = np.minimum(x[:, :, part], above)
            room = 4 * EPS * (f.max(0) + d.max(0) + g.max(0))  # f = g + d: each follows from the others
            g[:] = np.minimum(g, f + d[::-1] + room)
            f[:] = np.minimum(f, g + d + room)
            d[:] = np.minimum(d, f + g[::-1] + room)

    def upper(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds [B, K] on rows [K, n] of f or [K, 2 n] of f and d in the last layer; coefficients of the inputs."""
        value, both = np.zeros(1), rows.shape[1] == len(self.layers[-1][0])
        for (a, room, tiny), known in list(zip(self.layers, [None, *self.units], strict=False))[::-1]:
            n, m = rows.shape[-1], (a.shape[1] - 1) // (1 if both or known is None else 2)
            value = value + rows @ a[:n, -1:] + np.abs(rows) @ room[:, :n] + tiny
            s = rows @ a[:n, :m]
            if known is None:
                break
            of_f, of_g, of_d, bend = known
            if not both:
                value, rows = value + put(s, of_f[1]).sum(2, keepdims=True), put(s, of_f[0])
                continue
            # s relu(f) + t (relu(f) - relu(g)) is (s + t) relu(f) - t relu(g): whichever is lower at the middle.
            s, t = np.split(s, 2, -1)
            other = put(s + t, of_f[2]) + put(-t, of_g[2]) < put(s, of_f[2]) + put(t, of_d[2])
            other &= bend
            s, t, r = np.where(other, s + t, s), np.where(other, 0.0, t), np.where(other, -t, 0.0)
            value = value + (put(s, of_f[1]) + put(t, of_d[1]) + put(r, of_g[1])).sum(2, keepdims=True)
            r = put(r, of_g[0])
            rows = np.append(put(s, of_f[0]) + r, put(t, of_d[0]) - r, 2)
        return (value + put(s, self.inputs).sum(2, keepdims=True))[..., 0], s


def missing(claim: dict[str, Any], x: Boxes) -> tuple[np.ndarray, np.ndarray]:
    """How much is missing for a proof of the claim on each box [B], and the coefficients of the inputs."""
    n = len(x.layers[-1][0]) // 2
    if "at_most" in claim:
        asked = [k for k, m in enumerate(claim["at_most"]) if m is not None]
        rows = np.append(np.eye(n, 2 * n, n)[asked], -np.eye(n, 2 * n, n)[asked], 0)
        above, slopes = x.upper(rows)
        return (above - np.array([claim["at_most"][k] for k in asked * 2])).max(1), slopes
    one, other = np.nonzero(~np.eye(n, dtype=bool))
    a = np.eye(n)[one] - np.eye(n)[other]
    above, slopes = x.upper(np.block([[a, 0 * a], [-a, a], [0 * a, a]]))
    # f_c - f_j, g_j - g_c and d_c - d_j. Where f leads by the margin for c, g_c - g_j is at least margin - (d_c - d_j).
    sure, lost, apart = above.reshape(len(above), 3, n, n - 1).swapaxes(0, 1)
    leads = ~(sure < claim["margin"]).any(2)
    return np.where(leads, np.minimum(lost, apart - claim["margin"]).max(2), -np.inf).max(1), slopes


def parts(cuts: list[int], low: np.ndarray, high: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The parts of a box: every cut is the side to halve, the lower half first, or -1 to leave a part as it is."""
    waiting = [(low, high)]
    for side in cuts:
        if not waiting or not -1 <= side < len(low):
            raise ProofError("the cuts go on after the last part, or name a side that there is not")
        a, b = waiting.pop()
        if side == -1:
            yield a, b
        else:
            left, right = b.copy(), a.copy()
            left[side] = right[side] = min(max(0.5 * a[side] + 0.5 * b[side], a[side]), b[side])
            waiting += [(right, b), (a, left)]
    if waiting:
        raise ProofError("the cuts end before the box is covered")


def everywhere(pair: list[StoredLayer]) -> np.ndarray:
    """Bounds [C] on the differences over all inputs x, divided by max(1, |x|): no unit is steeper than 1."""
    size = np.ones(pair[0].a.shape[1] - 1)
    for a, e in pair:
        some, size = ((a != 0) | (e != 0)).astype(float), np.append(size, 1.0)
        size = (np.abs(a) + e) @ size * (1 + gamma(a.shape[1])) + TINY * (some @ (size > 0))
    return size[len(size) // 2 :]


def check(proof: dict[str, Any], a: str | Path, b: str | Path) -> str:
    """Check a proof about two files: the claim in words, or a ProofError that says what is not proved."""
    claim, count = proof["claim"], 0
    pair = joined(*(rewritten(read_network(path), proof["networks"][name]) for path, name in ((a, "a"), (b, "b"))))
    outputs, inputs = len(pair[-1].a) // 2, pair[0].a.shape[1] - 1
    limits = claim["at_most"] if "at_most" in claim else [None] * outputs
    if "at_most" not in claim:
        words = f"both have the same top class wherever A leads by {claim['margin']!r} or more"
    elif len(set(limits)) == 1:
        words = f"no output differs by more than {limits[0]!r}"
    else:
        words = "; ".join(f"output {k} differs by at most {m!r}" for k, m in enumerate(limits) if m is not None)
    if proof["box"] is None:
        if not all(d <= m for d, m in zip(everywhere(pair), limits, strict=True)):
            raise ProofError("the weights leave larger differences possible than the claim says")
        return f"{words}, times max(1, |x|), for all inputs x"
    low, high = (np.array(end, float) for end in proof["box"])
    fits = len(limits) == outputs and low.shape == high.shape == (inputs,)
    if not (fits and (low <= high).all() and np.isfinite(high - low).all()):
        raise ProofError("there must be a limit per output, and finite ends per input with no high below its low")
    waiting = parts(proof["cuts"], low, high)
    while some := list(islice(waiting, PARTS)):
        left = ~(missing(claim, Boxes(pair, *map(np.array, zip(*some, strict=True))))[0] <= 0)
        if left.any():
            raise ProofError(f"the bounds on part {count + int(left.argmax())} leave the claim open")
        count += len(some)
    return f"{words}, for every input of the box ({count:,} parts)"


def verified(path: str | Path, a: str | Path, b: str | Path) -> tuple[bool, str]:
    """Whether a file (JSON, compressed where its name ends in .gz) proves its claim about two networks; the claim in
    words, or why not."""
    try:
        data = Path(path).read_bytes()
        proof = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
        if proof["format"] != FORMAT:
            raise ProofError(f"{path} must have the format {FORMAT}, got {proof['format']}")
        with np.errstate(all="ignore"):
            return True, check(proof, a, b)
    except (*_DAMAGED, zlib.error) as error:
        return False, str(error) if isinstance(error, ProofError) else f"{path} is no proof that can be read: {error}"


if __name__ == "__main__":
    proved, words = verified(*sys.argv[1:4])
    print(f"{'verified' if proved else 'not verified'}: {words}")
    sys.exit(not proved)
