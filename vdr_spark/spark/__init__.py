"""What needs a Spark session beside the stages: following its jobs, starting processes by it."""
