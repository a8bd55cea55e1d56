"""What heads are built of."""
