"""Which function training picks on orthogonally separable data: seed 004, chapter 3."""
