"""Proofs written for the checker in ``tutelage.verifying``, which shares nothing with what found them."""
