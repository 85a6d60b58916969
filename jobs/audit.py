"""spark-submit jobs/audit.py CONF [--set key=value ...] [--json]: verify a published release; exit code 0 or not."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["audit", *sys.argv[1:]])
