"""Overlays of `quick`, and what its results read."""


def only(**models):
    """The tasks of `quick` with these models only."""
    return {task: {"models": models.get(task, [])} for task in ("ende", "enfr", "wsj", "semi")}


def plans(selection):
    """The plan of each rule."""
    return {result.rule: plan for _, result, plan in selection.planned}
