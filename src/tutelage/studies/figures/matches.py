"""Which student unit found which teacher unit, drawn as one matrix of correlations a pair of layers."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tutelage.measures import LayerMatch


def draw_matches(matches: Sequence[LayerMatch]) -> Figure:
    """Correlations of teacher units (rows) with student units, these in the order of the teacher unit they match best.

    A student that found every teacher unit shows a dark staircase; light columns are units that resemble none.
    """
    figure = Figure(figsize=(3.0 * len(matches) + 0.8, 3.0), layout="constrained")
    panels = figure.subplots(1, len(matches), squeeze=False)[0]
    for panel, match in zip(panels, matches, strict=True):
        rho = match.correlation
        order = np.lexsort((-rho.max(0), rho.argmax(0)))
        image = panel.imshow(rho[:, order], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
        panel.set(title=f"{match.teacher} - {match.student}: {match.rho_mean:.2f}", xlabel="student unit, sorted")
        panel.grid(False)
    panels[0].set_ylabel("teacher unit")
    figure.colorbar(image, ax=panels, shrink=0.8, label="correlation")
    return figure
