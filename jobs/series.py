"""spark-submit jobs/series.py CONF [--set key=value ...]: all windows of a series that are due, in order."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["release", *sys.argv[1:], "--until", "today", "--yes"])
