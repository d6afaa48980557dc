"""Write a resolved config, so that a stage reads a file, and runs again when the file's content changes."""

from pathlib import Path

import yaml

Path(snakemake.output[0]).write_text(yaml.safe_dump(snakemake.params.config, sort_keys=False, allow_unicode=True))
