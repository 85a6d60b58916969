"""The command line, `vdr`: thin; every command reads a configuration, calls the library, and prints."""

from vdr_spark.cli.app import main

__all__ = ["main"]
