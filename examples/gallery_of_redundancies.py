"""
Ten ways to write one function
==============================

Pairs of networks that are one function but not by permuting and scaling units: each proved the same, with why.
"""

import tutelage as tt
from tutelage.functions.comparing import gallery

for name in gallery.names():
    shown = gallery.exhibit(name)
    found = tt.same_function(shown.first, shown.second, shown.domain)
    widths = " and ".join("-".join(map(str, network.widths)) for network in (shown.first, shown.second))
    print(f"{name} ({widths}, {found.domain}): {shown.why}")
    print(f"    {found.verdict}, no difference above {found.bound:.1g}: {found.reason}")
