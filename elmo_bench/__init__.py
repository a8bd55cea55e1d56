"""What a contextual word representation is worth on a downstream task."""
