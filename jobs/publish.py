"""spark-submit jobs/publish.py CONF [--set key=value ...]: write the Delta tables."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["publish", *sys.argv[1:]])
