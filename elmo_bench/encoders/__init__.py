"""From frozen encoders to what a head reads: encode once, store, mix, inject."""
