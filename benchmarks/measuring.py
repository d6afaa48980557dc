"""What the benchmarks share: print a table row by row."""


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table, at once."""
    print(f"| {' | '.join(cells)} |", flush=True)


def print_head(*columns: str) -> None:
    """Print the head of a Markdown table, at once."""
    print_row(*columns)
    print(f"|{'---|' * len(columns)}", flush=True)
