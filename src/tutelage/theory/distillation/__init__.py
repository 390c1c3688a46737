"""What a linear student learns from a linear teacher's soft labels, and how fast: seed 004, chapter 5."""
