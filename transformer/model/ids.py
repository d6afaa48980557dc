"""The ids that every vocabulary has."""

PADDING, END, UNKNOWN = 0, 1, 2  # ids that every vocabulary has
