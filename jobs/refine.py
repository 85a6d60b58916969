"""spark-submit jobs/refine.py CONF [--set key=value ...]: scale from the pings kept to all pings."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["refine", *sys.argv[1:]])
