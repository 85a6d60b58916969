"""spark-submit jobs/denoise.py CONF [--set key=value ...]: estimate the counts from the noisy slices, on the driver."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["denoise", *sys.argv[1:]])
