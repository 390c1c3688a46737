"""Which teacher units students recover, and when (Tian 2019 and 2020).

Students are trained with :func:`tutelage.train` and looked at with :mod:`tutelage.measures`; the exact dynamics are in
:mod:`tutelage.population`. This package holds what the papers prove (``certificates``, used through
:func:`tutelage.certify`) and what they show (``studies``), for two-layer, deep and convolutional students.
"""
