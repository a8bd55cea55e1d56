"""From a composed configuration to a finished run: one job, or the jobs of a sweep."""
