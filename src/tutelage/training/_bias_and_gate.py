"""Bias, activation and gate of a layer in one pass over memory, with the bits that three passes would give."""

from tutelage.compiling import compiled, stamp_of


def _make_bias_and_gate(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def bias_and_gate(u, bias, gates, above, at, below):
        """Add biases and activate, in place: u and gates [S, B, n], bias [S, n]; the gate above, at and below 0."""
        for s in range(u.shape[0]):
            for slot in range(u.shape[1]):
                row, gate, b = u[s, slot], gates[s, slot], bias[s]
                for i in range(row.shape[0]):
                    value = row[i] + b[i]
                    z = above if value > 0 else (below if value < 0 else at)
                    gate[i] = z
                    row[i] = value * z
        return stamp

    return compiled(bias_and_gate, exact=True)


bias_and_gate = _make_bias_and_gate(stamp_of(__file__))
