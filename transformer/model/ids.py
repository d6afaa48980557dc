"""The ids that every vocabulary has, and the limit of ids in a line."""

PADDING, END, UNKNOWN = 0, 1, 2
LONGEST = 4096  # the most ids of a line that is decoded; the memory of attention grows with the square of this number
