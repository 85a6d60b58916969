"""What VDR asks of Spark itself: the session, and whatever else needs a cluster."""
