"""The tables and figures by name: the paper's section and a title. The report sorts by both."""

EVERY = ""  # the section of what concerns the whole paper; it comes first

TABLES = {
    "claims": (EVERY, "The paper's claims: its differences and ours"),
    "scaling": ("3.2.1", "Scaled, unscaled and additive attention, English-German, development set"),
    "length": ("3.5", "Length: exact match on longer problems than those of training"),
    "positions": ("3.5", "Positional encodings, English-German, development set"),
    "table1": ("4", "Table 1: complexity per layer, sequential operations and longest path"),
    "corpora": ("5.1", "The corpora: pairs read, removed by cleaning, and left"),
    "runs": ("5.2", "The runs: config, code, software and machine"),
    "marks": ("6.1", "Published marks: BLEU of lower-cased tokens on the test sets of Multi30k"),
    "table2": ("6.1", "Table 2: BLEU on the test set and training cost"),
    "decoding": ("6.1", "Tuning of decoding: beam, length penalty and averaging, development set"),
    "table3": ("6.2", "Table 3: variations on the architecture, English-German, development set"),
    "table4": ("6.3", "Table 4: constituency parsing, F1 on the test set"),
    "appendix": ("Appendix", "Attention over parameters, English-German, development set"),
}

FIGURES = {
    "claims": (EVERY, "The paper's claims: its differences and ours"),
    "dot_products": ("3.2.1", "Why scores are divided by √d_k"),
    "length": ("3.5", "Length: exact match against the length of problems"),
    "positions": ("3.5", "Positional encodings: scores against the length of sentences"),
    "table1": ("4", "Table 1: time and memory of a layer"),
    "training_curves": ("5", "Training curves of all runs"),
    "decoding": ("6.1", "Tuning of decoding: beam, length penalty and averaging"),
    "table3": ("6.2", "Table 3: variations on the architecture"),
    "trees": ("6.3", "Parsed sentences and their gold trees"),
    "figure3": ("Appendix", "Figure 3: all heads, from “making”"),
    "figure4": ("Appendix", "Figure 4: two heads, in full and from “its”"),
    "figure5": ("Appendix", "Figure 5: two other heads"),
}
