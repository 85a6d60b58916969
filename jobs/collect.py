"""spark-submit jobs/collect.py conf/x.yaml [--set key=value ...]: bound, count, add noise, store the noisy slices; spends the epsilon."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["collect", *sys.argv[1:]])
