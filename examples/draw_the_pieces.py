"""
Linear regions of a teacher and its student
===========================================

The pieces of a teacher and of its student in the plane: each cell is one affine map, each line a unit's boundary.
"""

import tempfile
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection

import tutelage as tt
from tutelage.functions import domain
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.pieces import faces, regions
from tutelage.studies.figures import PALETTE, house_style

teacher = tt.teachers.Levels(inputs=2, hidden=(4, 3), outputs=1, bias=-0.2).build(seeds=[1])
inputs = tt.inputs.Gaussian(std=1.5, train=4_000, evaluate=1_000).draw(teacher, seeds=[1])
students = tt.students.UniformFanIn(width_factor=2).build(teacher, seeds=[1])
student = tt.train(teacher, students, inputs, steps=8_000, learning_rate=0.05).students

window = domain.box(-3, 3, dimension=2)
found = {"teacher": regions.enumerate_regions(teacher, window), "student": regions.enumerate_regions(student, window)}
steepness = {name: pieces.maps()[0].flatten(1).norm(dim=1) for name, pieces in found.items()}
steepest = max(s.max().item() for s in steepness.values())

with house_style():
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained", sharey=True)
    for panel, (name, pieces) in zip(panels, found.items(), strict=True):
        outlines = [outline.numpy() for outline in faces.polygons(pieces)]
        cells = PolyCollection(outlines, array=steepness[name].numpy(), cmap="Blues", clim=(0, 1.3 * steepest))
        panel.add_collection(cells)
        lines, unit = faces.segments(pieces)
        for layer, colour in ((1, PALETTE[3]), (2, PALETTE[6])):
            own = lines[pieces.layers[unit] == layer].numpy()
            panel.add_collection(LineCollection(list(own), color=colour, linewidth=1.0, label=f"layer {layer}"))
        panel.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", title=f"{name}: {len(pieces)} pieces", xlabel="x1")
        print(f"{name}: {len(pieces):3d} pieces, {len(pieces.pieces):3d} flat pieces of boundaries")
    panels[0].set_ylabel("x2")
    panels[0].legend(loc="lower left", frameon=True)
    figure.colorbar(cells, ax=panels, label="steepness of the piece, |grad f|")
    path = Path(tempfile.mkdtemp()) / "pieces.png"
    figure.savefig(path)

gap = supremum(teacher, student, window)
print(f"they differ by at most {gap.value:.4f} on the window, at {gap.at.numpy().round(3)}")
print(f"drawn in {path}")
