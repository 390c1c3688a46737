"""Which teacher units do students recover, and when (Tian 2019 and 2020)?

Students are trained with :func:`tutelage.train` and looked at with :mod:`tutelage.measures`; the exact dynamics are in
:mod:`tutelage.population`. This package holds what the papers prove and what they show, for two-layer, deep and
convolutional students. Start with ``tutelage.certify("alignment", teacher, students, points)``,
``tutelage.reproduce("l-shape")`` and ``tutelage.match``.

To read, in this order: ``certificates/scene`` (what theorems look at), ``certificates/alignment`` (a whole theorem),
``certificates/polynomial_samples`` (its finite-sample forms), then ``studies/l_shape``.
"""
