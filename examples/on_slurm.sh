#!/usr/bin/env sh
# Slurm: one array job with a task a pack, in the partition "gpu". Run it where jobs are submitted; /shared is a folder
# that all nodes see. When the driver dies, or the job runs out of time, run the same line again.
tutelage run examples/grid_experiment.yaml --on slurm:gpu --device cuda --results /shared/results
