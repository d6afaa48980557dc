"""Write a resolved config to a file, so that a stage runs again if its content changes."""

from pathlib import Path

import yaml

Path(snakemake.output[0]).write_text(yaml.safe_dump(snakemake.params.config, sort_keys=False, allow_unicode=True))
