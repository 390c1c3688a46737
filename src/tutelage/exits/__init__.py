"""Networks that can answer early (Phuong 2021, chapter 6).

Exits attached to any backbone (:mod:`.attached_exits`), MSDNet (:mod:`.msdnet`), losses that distil the last exit into
the earlier ones (:mod:`.objective`), training side by side (:mod:`.training`) and inference within a budget
(:mod:`.inference`). Figures: ``studies``.
"""
