"""Engines that are not ours read the released tables as they are, each from its own process: `make engines-test`."""
