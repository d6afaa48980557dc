"""Attention Is All You Need, reproduced: the model, its training, its decoding and its scores.

A house of floors, the lowest first. A file imports from its own floor and those below it, never in a circle.
"""

FLOORS = (
    "support",  # files, configs, tensors, devices
    "model",  # sections 3 and 5.4
    "trees",  # section 6.3
    "corpora",  # text, from wherever it is
    "text",  # text as ids (section 5.1)
    "training",  # section 5
    "package",  # a trained model as a folder
    "decoding",  # section 6.1
    "evaluation",  # section 6
    "export",  # packages for other software
    "length",  # decoders on longer problems than they were trained on
    "experiment",  # config/*.yaml, all of it together
    "cli",  # python -m transformer
)
