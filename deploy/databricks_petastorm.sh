#!/bin/bash
# Petastorm declares pyspark, and pip would put that over the runtime's own; a cluster's library list has no --no-deps.
set -euo pipefail
/databricks/python/bin/pip install --quiet --no-deps petastorm==0.12.1
