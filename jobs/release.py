"""spark-submit jobs/release.py CONF [--set key=value ...]: all stages of a release that are not done yet."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["release", *sys.argv[1:]])
