"""From frozen encoders to the input of a head: encode once, store, mix, inject."""
