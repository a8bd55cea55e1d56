"""From a command line to jobs: overrides, plan, launch, outcomes."""
