#!/usr/bin/env sh
# Ray on one machine: a worker a core, results in ./results. Needs pip install 'tutelage[cluster]'.
tutelage run examples/grid_experiment.yaml --on ray
tutelage query "SELECT polarity, width_factor, avg(recovered) FROM teachers WHERE step = steps GROUP BY ALL ORDER BY ALL"
