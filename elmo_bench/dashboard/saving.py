"""Send the dashboard to the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from elmo_bench.dashboard.building import Project, build_report, build_workspace
from elmo_bench.dashboard.plan import SectionPlan
from elmo_bench.extras import import_extra
from elmo_bench.types import BenchError


def save(project: Project, sections: Sequence[SectionPlan]) -> list[str]:
    """Save the workspace and the report, and return their addresses."""
    wandb = import_extra("wandb", "the dashboard")
    try:
        owner = project.entity or wandb.Api().default_entity
        if not owner:
            raise BenchError("W&B names no default entity for this key; give one with --entity")
        owned = replace(project, entity=owner)
        workspace = build_workspace(owned, sections).save()
        report = build_report(owned, sections).save()
    except (wandb.Error, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BenchError(f"W&B refused the dashboard: {reason}; --offline writes it to a file") from error
    return [str(workspace.url), str(report.url)]
