"""Attention Is All You Need, reproduced: the model, its training, its decoding and its scores.

The folders are floors of a house, listed from the lowest. A file imports from its own floor and from those below, and
imports never form a circle.
"""

FLOORS = (
    "support",  # files, configs, tensors, devices
    "model",  # sections 3 and 5.4
    "trees",  # section 6.3
    "corpora",  # where text comes from, and how it is cleaned
    "text",  # text as ids (section 5.1)
    "training",  # section 5
    "package",  # a trained model as a folder
    "decoding",  # section 6.1
    "evaluation",  # section 6
    "export",  # packages for other software
    "length",  # a study of decoders on problems longer than those they were trained on
    "explore",  # a page in which packages run
    "cli",  # python -m transformer
)
