"""spark-submit jobs/synth.py CONF [--set key=value ...]: generate the pings of a made-up city."""

import sys

from vdr_spark.cli import main

if __name__ == "__main__":
    main(["synth", *sys.argv[1:]])
