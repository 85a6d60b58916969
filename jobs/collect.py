"""spark-submit jobs/collect.py CONF [--set key=value ...]: bound, count, add noise, store. Spends the epsilon."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["collect", *sys.argv[1:]])
