"""The plan as objects of wandb's workspace API, and as the JSON of its requests."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmo_bench.dashboard.plan import PanelPlan, SectionPlan
from elmo_bench.extras import import_extra

NAME = "ELMo ablations"
WIDTH, HEIGHT, COLUMNS = 12, 8, 24  # of a panel, and of a row of them


@dataclass(frozen=True)
class Project:
    """The W&B project and the selection of its runs; results on different data never share a panel."""

    entity: str  # empty: no request is sent
    name: str
    source: str
    size: str | None = None

    def filters(self, task: str | None = None) -> str:
        """The runs of one source and size, of one task or of all."""
        wanted = {"source": self.source, "size": self.size, "task_name": task}
        return " and ".join(f"Config('{key}') = '{value}'" for key, value in wanted.items() if value)


def build_workspace(project: Project, sections: Sequence[SectionPlan]) -> Any:
    """A saved view of the project: runs grouped by task and method, one section per table."""
    workspaces, reports, expressions = _modules()
    built = [
        workspaces.Section(
            name=section.title,
            panels=[build_panel(reports, panel, panel.title) for panel in section.panels],
            is_open=number == 0,
        )
        for number, section in enumerate(sections)
    ]
    runs = workspaces.RunsetSettings(
        filters=project.filters(), groupby=[expressions.Config("task_name"), expressions.Config("method")]
    )
    return workspaces.Workspace(
        entity=project.entity, project=project.name, name=NAME, sections=built, runset_settings=runs
    )


def build_report(project: Project, sections: Sequence[SectionPlan]) -> Any:
    """A page: the description of each table, the command for its runs, and its panels by task."""
    _, reports, _ = _modules()
    blocks: list[Any] = [reports.TableOfContents()]
    for section in sections:
        blocks += [reports.H1(text=section.title), reports.P(text=section.text)]
        blocks += [reports.MarkdownBlock(text=f"Filled by `{section.command}`")]
        for task in section.tasks:
            blocks += [reports.H2(text=task), build_grid(reports, project, section, task)]
    return reports.Report(
        project=project.name,
        entity=project.entity,
        title=NAME,
        description=f"Peters et al. 2018: each task with and without ELMo, on data={project.source}.",
        blocks=blocks,
        width="fluid",
    )


def build_grid(reports: Any, project: Project, section: SectionPlan, task: str) -> Any:
    """The panels of one section for the runs of one task."""
    runs = reports.Runset(
        entity=project.entity, project=project.name, name=task, filters=project.filters(task)
    )
    panels = []
    for number, plan in enumerate(plan for plan in section.panels if plan.task == task):
        panel = build_panel(reports, plan, plan.title)
        row, column = divmod(number * WIDTH, COLUMNS)
        panel.layout = reports.Layout(x=column, y=row * HEIGHT, w=WIDTH, h=HEIGHT)
        panels.append(panel)
    return reports.PanelGrid(runsets=[runs], panels=panels)


def build_panel(reports: Any, plan: PanelPlan, title: str) -> Any:
    """One chart, averaged over seeds with the standard deviation around the mean."""
    if plan.kind == "points":
        return reports.ScatterPlot(
            title=title, x=reports.Config(plan.x), y=reports.SummaryMetric(plan.metrics[0]), log_x=True
        )
    averaged = {
        "title": title,
        "groupby": reports.Config(plan.group_by),
        "groupby_aggfunc": "mean",
        "groupby_rangefunc": "stddev",
    }
    if plan.kind == "bars":
        return reports.BarPlot(metrics=[reports.SummaryMetric(name) for name in plan.metrics], **averaged)
    return reports.LinePlot(x=plan.x, y=list(plan.metrics), aggregate=True, **averaged)


def specify(project: Project, sections: Sequence[SectionPlan]) -> dict[str, Any]:
    """The requests as JSON; nothing is sent."""
    unsent = replace(project, entity="")
    workspace, report = build_workspace(unsent, sections), build_report(unsent, sections)
    return {
        "project": project.name,
        "filters": project.filters(),
        "workspace": {
            "name": workspace.name,
            "sections": [plain(section) for section in workspace.sections],
        },
        "report": {"title": report.title, "blocks": [plain(block) for block in report.blocks]},
    }


def plain(item: Any) -> Any:
    """One object of the API as JSON."""
    return json.loads(item._to_model().model_dump_json(by_alias=True, exclude_none=True))


def describe(sections: Sequence[SectionPlan]) -> Iterator[str]:
    """The plan as text."""
    for section in sections:
        yield f"{section.title}  ({', '.join(section.tasks)})"
        for panel in section.panels:
            yield f"  {panel.kind}: {panel.title}: {', '.join(panel.metrics)} by {panel.group_by}"


def _modules() -> tuple[Any, Any, Any]:
    with warnings.catch_warnings():
        # the package triggers pydantic warnings itself
        warnings.simplefilter("ignore", DeprecationWarning)
        workspaces, reports, expressions = (
            import_extra(f"wandb_workspaces.{name}", "the dashboard")
            for name in ("workspaces", "reports.v2", "expr")
        )
    return workspaces, reports, expressions
