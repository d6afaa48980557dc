"""Commands that export models to other software and import them from it."""

import argparse

from transformer.cli.command import command, option, packaged, path, writes


@command(
    packaged(),
    writes("output", "new folder to write to"),
    option("--to", choices=("ctranslate2", "float16", "marian"), required=True, help="format of the export"),
    torch=True,
)
def export(arguments: argparse.Namespace) -> None:
    """Export a package to CTranslate2, to Hugging Face's Marian, or as a package half as large (float16)."""
    from transformer.export.ctranslate2 import to_ctranslate2
    from transformer.export.float16 import to_float16
    from transformer.export.marian import to_marian

    write = {"ctranslate2": to_ctranslate2, "float16": to_float16, "marian": to_marian}[arguments.to]
    write(arguments.package, arguments.output)


@command(path("marian", "folder of a Marian model"), writes("output", "folder for the package"), torch=True)
def import_(arguments: argparse.Namespace) -> None:
    """Import a Marian model of Hugging Face Transformers as a package."""
    from transformer.export.import_marian import from_marian

    from_marian(arguments.marian, arguments.output)
