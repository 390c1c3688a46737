"""What Phuong 2021, chapter 3 says of labelled points alone: separability, G, extremal directions, the KKT point."""

from collections.abc import Sequence

import torch

from tutelage import draws
from tutelage.certificates.records import Finding, Part, check
from tutelage.margins.certificates.scene import MarginScene, margin_certificate, without_limit
from tutelage.margins.limits import kkt, kkt_point
from tutelage.margins.max_margin import MaxMargins
from tutelage.margins.sectors import ascend, class_sums, field, landscape, signs


@margin_certificate("orthogonal-separability", source="eq. 3.1")
def orthogonal_separability(scene: MarginScene) -> Sequence[Finding]:
    """On orthogonally separable data every y_i x_i, used as weights, separates the classes.

    Strictly on its own class and weakly on the other.
    """
    data = scene.course.data
    heights = (data.y.unsqueeze(2) * data.x) @ data.x.mT * data.y.unsqueeze(1)  # y_k (y_i x_i).x_k
    same_class = data.y.unsqueeze(2) == data.y.unsqueeze(1)
    norms = data.x.norm(dim=2)
    blur = 2 * data.dimension * torch.finfo(torch.float64).eps * norms.unsqueeze(2) * norms.unsqueeze(1)
    wrong = torch.where(same_class, heights <= blur, heights < -blur).sum((1, 2))
    return [
        Finding([Part("all samples", (), check("samples misplaced", int(wrong[s]), "<=", 0))], scene.separable(s))
        for s in range(scene.members)
    ]


@margin_certificate("extremal-directions", source="Lemma 3.2")
def extremal_directions(scene: MarginScene, *, starts: int = 200, tolerance: float = 1e-6) -> Sequence[Finding]:
    """Orthogonally separable data have one positive and one negative extremal direction, in sectors known beforehand.

    Looked for by projected ascent (descent) of G from many starts; ends on which no sample is active are left out.
    The directions are the normalised class sums, and their sectors those of eqs. 3.13 and 3.14.
    """
    data = scene.course.data
    ends = [ascend(data, positive, starts=starts, loss=scene.course.loss) for positive in (True, False)]
    sums = class_sums(data)
    codes = [signs(v.unsqueeze(1), data).squeeze(1) for v in sums]
    out = []
    for s in range(scene.members):
        parts = []
        for name, end, sector, target, code in zip(
            ("positive", "negative"), ends, scene.sectors, sums, codes, strict=True
        ):
            there = ~end.flat[s]
            off = torch.where(there, (end.w[s] - target[s]).norm(dim=1), 0.0)
            worst = int(off.argmax())
            met = check("starts that end active", int(there.sum()), ">=", 1)
            parts += [
                Part(
                    f"{name} direction", (met,), check("distance", float(off[worst]), "<=", tolerance, f"start {worst}")
                ),
                Part(f"{name} sector", (), check("signs that differ", int((code[s] != sector[s]).sum()), "<=", 0)),
            ]
        out.append(Finding(parts, scene.separable(s)))
    return out


@margin_certificate("stationary-direction", source="Lemma B.1")
def stationary_direction(scene: MarginScene, *, starts: int = 50, tolerance: float = 1e-6) -> Sequence[Finding]:
    """At an extremal direction g(w) points along w.

    The ends of ascents of G, which the lemma takes as they are, on any data.
    """
    data = scene.course.data
    sizes = data.x.norm(dim=2).sum(1) * scene.loss.at_zero
    out: list[list[Part]] = [[] for _ in range(scene.members)]
    for name, positive in (("positive", True), ("negative", False)):
        end = ascend(data, positive, starts=starts, loss=scene.course.loss)
        g = field(end.w, data, scene.course.loss)
        along = (g * end.w).sum(2, keepdim=True)
        off = (g - along * end.w).norm(dim=2) / sizes[:, None]
        still = _settled(scene, end.w, positive)
        for s in range(scene.members):
            there = still[s] & ~end.flat[s]
            value = torch.where(there, off[s], 0.0)
            maxima = check("ends that are maxima", int(there.sum()), ">=", 1)
            worst = check("|g - (w.g) w|", float(value.max()), "<=", tolerance, f"start {int(value.argmax())}")
            out[s].append(Part(f"{name} ends", (maxima,), worst))
    return [Finding(parts) for parts in out]


def _settled(scene: MarginScene, w: torch.Tensor, positive: bool, radius: float = 1e-3) -> torch.Tensor:
    """Whether G is nowhere larger (smaller) at 2 d points around each end, which is clear of all boundaries: [S, K]."""
    data, loss = scene.course.data, scene.course.loss
    sign = 1.0 if positive else -1.0
    here = sign * landscape(w, data, loss)
    best = torch.ones_like(here, dtype=torch.bool)
    for axis in torch.eye(data.dimension, dtype=torch.float64):
        for side in (radius, -radius):
            around = torch.nn.functional.normalize(w + side * axis, dim=2)
            best &= sign * landscape(around, data, loss) <= here * (1 + 1e-9)
    return best & (signs(w, data, 1e-2) != 0).all(2)


@margin_certificate("landscape-on-a-line", source="Lemma B.2")
def landscape_on_a_line(scene: MarginScene, *, lines: int = 64, tolerance: float = 1e-12) -> Sequence[Finding]:
    """Along a short line G is linear over the length: G((w + e v)/|w + e v|) = (G(w) + e alpha)/|w + e v|.

    alpha = -sum l_i'(0) 1{(w + e v).x_i > 0} v.x_i, for e up to half the largest without a strict change of sign.
    """
    data, loss = scene.course.data, scene.course.loss
    keys = draws.keys(range(scene.members), "lines on the sphere")
    drawn = draws.normals(keys, 2 * lines * data.dimension).view(-1, lines, 2, data.dimension)
    w, v = torch.nn.functional.normalize(drawn[:, :, 0], dim=2), drawn[:, :, 1]
    from_w, from_v = w @ data.x.mT, v @ data.x.mT
    turns = torch.where(from_w * from_v < 0, -from_w / from_v, torch.inf)
    e = (turns.amin(2) / 2).clamp_max(1.0).unsqueeze(2)
    moved = w + e * v
    active = moved @ data.x.mT > 0
    alpha = (active * from_v * (scene.loss.at_zero * data.y).unsqueeze(1)).sum(2)
    length = moved.norm(dim=2)
    left = landscape(moved / length.unsqueeze(2), data, loss)
    right = (landscape(w, data, loss) + e.squeeze(2) * alpha) / length
    off = (left - right).abs() / (data.x.norm(dim=2).sum(1) * scene.loss.at_zero)[:, None]
    return [
        Finding([Part("all lines", (), check("difference", float(off[s].max()), "<=", tolerance))])
        for s in range(scene.members)
    ]


@margin_certificate("kkt-point", source="Lemma B.6")
def kkt_of_the_limit(scene: MarginScene, *, tolerance: float = 1e-9) -> Sequence[Finding]:
    """u w_+^T + z w_-^T with its fan-outs is a KKT point of the least-norm network of margin 1.

    For the u and z that the end of the course has; feasibility, complementary slackness and stationarity.
    """
    if not isinstance(scene.margins, MaxMargins):
        return without_limit(scene)
    a = scene.course.a[-1]
    size = scene.course.w[-1].norm(dim=2)
    made = kkt_point(scene.margins, size * (a > 0), size * (a < 0))
    residuals = kkt(made, scene.course.data, scene.margins)
    out = []
    for s in range(scene.members):
        both = check("signs of fan-outs", int((a[s] > 0).any()) + int((a[s] < 0).any()), ">=", 2)
        parts = [
            Part("feasible", (), check("largest 1 - y h", float(residuals.infeasible[s]), "<=", tolerance)),
            Part("slack", (), check("largest lambda |y h - 1|", float(residuals.slack[s]), "<=", tolerance)),
            Part("stationary", (), check("what is left of theta", float(residuals.stationary[s]), "<=", tolerance)),
        ]
        out.append(Finding(parts, (*scene.separable(s), both)))
    return out
