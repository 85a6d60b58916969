"""Exact noise, where its randomness comes from, the budget ledger and the privacy statement."""
