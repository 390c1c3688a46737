"""Whether a function determines its parameters: generality, fold-sets, certificates, constructions."""
