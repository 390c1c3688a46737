#!/usr/bin/env sh
# A Ray cluster: start the head and the nodes once, then name the head. All machines must see the folder of results
# and have tutelage installed.
#   on the head:   ray start --head --ray-client-server-port 10001
#   on each node:  ray start --address HEAD:6379
tutelage run examples/grid_experiment.yaml --on ray://HEAD:10001 --results /shared/results
