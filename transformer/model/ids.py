"""The ids that every vocabulary has, and how many a line may have."""

PADDING, END, UNKNOWN = 0, 1, 2  # ids that every vocabulary has
LONGEST = 4096  # ids of a line that is decoded; attention takes memory by their square
