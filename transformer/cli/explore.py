"""The command that writes a page in which models run."""

import argparse

from transformer.cli.command import check_sentences, command, option, packaged, path, writes


@command(
    packaged("folder of a trained Transformer; for several models in one page, give it several times", action="append"),
    writes("output", "HTML file to write"),
    path(
        "claims", "claims.csv of an experiment: its verdicts stand beside the second model and those that follow", False
    ),
    option("sentences", nargs="*", metavar="SENTENCE", help="examples to choose from, each in quotes"),
)
def explore(arguments: argparse.Namespace) -> None:
    """Write a page in which models run: type a sentence, and see what each part of the paper does with it."""
    from transformer.explore.page import write_page
    from transformer.package.config import read_package_config

    check_sentences(arguments.sentences)
    packages = [(folder, read_package_config(folder)) for folder in arguments.package]
    write_page(arguments.output, packages, arguments.sentences, arguments.claims)
