"""spark-submit jobs/check.py CONF [--set key=value ...] [--json]: do the pings fit? NOT private; exit code 0 or 6."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["check", *sys.argv[1:]])
