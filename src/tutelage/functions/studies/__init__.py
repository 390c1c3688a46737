"""Figures about which function a network is (Phuong 2021, chapter 2; Tian 2020, App. E): one file per study."""

from tutelage.discover import import_all

import_all(__name__, __path__)
