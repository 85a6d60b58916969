"""What noisy slices say about themselves: means around a cell, all slices but one, activity and volatility."""
