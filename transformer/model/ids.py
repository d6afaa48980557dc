"""The ids that every vocabulary has, and the limit of ids in a line."""

PADDING, END, UNKNOWN = 0, 1, 2
LONGEST = 4096  # ids of a line to decode; the memory of attention grows with their square
