"""The command that exports models to other software."""

import argparse

from transformer.cli.command import command, option, packaged, writes


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
