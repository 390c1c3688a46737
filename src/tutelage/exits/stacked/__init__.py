"""Multi-scale dense networks of one shape, trained side by side on a GPU with all of them in every kernel.

One such network keeps a GPU waiting: its step is thousands of kernels of a few microseconds. Here the weights of all
networks are one array, a 3 x 3 convolution is a product with 9 times as many rows or columns, and batch norm and ReLU
cost one pass each. ``layout`` says which numbers are where, ``passes`` goes through the networks forwards and
backwards, ``pupils`` trains them. The kernels need Triton, which comes with torch for CUDA.
"""
