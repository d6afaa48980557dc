"""Attention Is All You Need, reproduced: the model, its training, its decoding and its scores."""
