"""The weights of a black box from its values: from the first query to the last digit, on one page.

A ReLU network is linear between folds, the sets where a unit's pre-activation is 0. A unit of the first layer folds
the inputs along a hyperplane, a deeper one along a surface that bends where it crosses the folds of units below.
Folds tell the weights up to order and positive scale of the units (Phuong and Lampert 2020; Rolnick and Kording 2020;
Carlini, Jagielski and Mironov 2020; the thesis of Phuong 2021, Theorem 2.1, of which this is the constructive form).

1. **Values** (``oracle``). Points are asked in batches, counted, and refused beyond a limit. One bound on the error
   of a value, rounding or noise (told, or measured where values are in single precision), is what all thresholds
   follow from.
2. **Bends** (``lines``). Along random lines of the box the values are piecewise linear: least-squares lines on both
   sides of a bend meet in it. Each bend has an error, that of a value over how much the slope turns.
3. **Normals** (``normals``). Gradients on both sides of a bend, by differences, differ by a multiple of the fold's
   normal.
4. **One layer** (``unit_search``). In the first layer point and normal are the unit. Deeper ones read features of the
   layers ``known`` so far, and a normal tells only the coefficients of features that move there: the fold is followed
   (``tracing``) across the folds of known units, and each crossing tells one coefficient more. A fold is then moved
   to where bends crowd near it (``fold_bends``; robust regression: this is where noise averages out), and kept if it
   has bends, if none is missing where it should be seen, and if the black box bends at other points of it too
   (``confirming``: deeper units have folds that look like these in one part of the box). What is left over is for
   deeper layers.
5. **Sides** (``orientation``). A fold does not tell on which side its unit is active. The units above read relu(s u)
   = (|u| + s u) / 2, so that their coefficients are linear equations in the signs s, and in weights that folds left
   open.
6. **All layers** (``peeling``). Steps 4 and 5 for one layer after another, with an output layer fitted after each,
   until that explains the values; then all weights together by Gauss-Newton steps (``polish``): the last digits.
7. **Rounds** (``rounds``). The network is tried on fresh points. Where it is wrong, more lines start, and 2 to 6 are
   done again with what is known; the better network stays. This ends where the values are explained to their error.
8. **The account** (``reconstruction``, ``account``). What is not explained, on points that served for nothing else,
   and of every unit which weights have an effect in the box. Nothing is proved: ``same_function`` proves, where it
   can.

Costs: about 20 values per bend, 2 (d + 1) per normal and 30 per crossing; a random 10-15-15-1 network takes about
2^17 values in double precision. In single precision its weights come out to about 1e-6; a told noise of 1e-4 of
values near 1 leaves one hidden layer to be found. Folds outside the box, units that no other reads and four hidden
layers or more are beyond it.
"""
