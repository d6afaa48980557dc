"""Placebo: nothing changes, so it must not win.

Source: none. An identical model wins a comparison of one run with one run of base about half of the time.
"""


def change(model):
    """Leave the model as it is."""
