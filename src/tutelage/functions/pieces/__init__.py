"""The pieces of a network: domains, regions, vertices, facets, and differences of networks over them."""
