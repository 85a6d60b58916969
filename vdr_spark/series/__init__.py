"""A series: which of its windows are published, which are due, whose turn it is, and what earlier ones are good for."""
