"""The learning rate (section 5.3)."""


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """Equation 3: d_model^-0.5 min(step^-0.5, step warmup^-1.5). Steps are counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
