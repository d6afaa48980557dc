"""An experiment to plan. It has every kind of corpus and the paper's rows."""

from pathlib import Path

from transformer.support.strict import load, read_yaml
from workflow.experiment.config import Experiment

CONFIG = Path(__file__).parents[3] / "config"
MODELS = read_yaml(CONFIG / "models.yaml")["models"]
HASH = "0" * 64
DECODING = {"beam": 4, "alpha": 0.6, "extra": 50}
SIZES = {"train": 100, "dev": 9, "test": 9, "plain": 1000}


def texts(*locations):
    return [{"en": location, "de": f"{location}.de", "fr": f"{location}.fr"} for location in locations]


def task(corpus, *models, target="de", vocabulary=37000):
    translation = {"kind": "translation", "corpus": corpus, "source": "en", "target": target}
    return translation | {"vocabulary": vocabulary, "decoding": DECODING, "models": models}


def experiment(**changes):
    trees = {"origin": "grammar", "description": "", "licence": "", "sentences": SIZES, "words": [3, 9], "seed": 1}
    more = {
        "origin": "self-training",
        "description": "",
        "licence": "",
        "gold": "wsj",
        "parser": "parser",
        "copies": 2,
        "keep": 1,
    }
    values = {
        "experiment": "paper",
        "results": "results",
        "mirror": None,
        "packages": None,
        "notes": [],
        "seeds": [1],
        "scale": {"width": 1, "depth": 1},
        "subwords": {"pairs": 9, "seed": 1},
        "table3_average": 1,
        "table1": {"n": [16, 32, 64], "d": [64, 128, 256], "k": 3, "r": 32, "d_k": 64},
        "figures": {"task": "ende", "model": "base"},
        "searches": None,
        "tasks": {
            "ende": task("wmt", "base", "big"),
            "enfr": task("wmt", "base", target="fr"),
            "wsj": task("trees", "parser"),
            "semi": task("more", "parser"),
            "none": task("unused"),
        },
        "models": MODELS,
        "corpora": {
            "wmt": {
                "origin": "files",
                "train": [
                    {"en": "http://a/news.tgz/en", "de": "http://a/news.tgz/de", "fr": "http://a/french.tar/fr.gz"},
                    {"en": "own.en", "de": "own.tsv#1", "fr": "own.tsv#2"},
                ],
                "dev": [{name: f"http://a/dev.tsv.gz#{i}" for i, name in enumerate(("en", "de", "fr"), 1)}],
                "test": [{name: f"http://a/dev.tsv.gz#{i}" for i, name in enumerate(("en", "de", "fr"), 4)}],
                "pairs": 4_520_620,
            },
            "unused": {"origin": "files", **dict.fromkeys(("train", "dev", "test"), texts("http://a/unused"))},
            "trees": trees,
            "more": more,
        },
        "length": read_yaml(CONFIG / "length.yaml")["length"],
        "claims": {},
        "downloads": {
            f"http://a/{name}": {"bytes": size, "sha256": HASH}
            for name, size in {"news.tgz": 3000, "french.tar": 500, "dev.tsv.gz": 20, "unused": 1, "news": 7}.items()
        },
    }
    return load(Experiment, values | changes, "config")


def run(model, **changes):
    return experiment(**changes).run("ende", model, 1)
