"""Write the table that the rule names, with the module of that name."""

from importlib import import_module

from records import logged

logged(import_module(snakemake.params.table).main, snakemake)
