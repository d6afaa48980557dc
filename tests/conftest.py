"""Fixtures of all tests: tiny configs, texts, ids, models and packages."""

import contextlib
import dataclasses
import gc
import gzip
import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch
import yaml
from hypothesis.internal.conjecture import providers

from transformer.corpora.grammar import generate
from transformer.decoding.record import Record
from transformer.decoding.search import Search, decoding
from transformer.decoding.translate import Translation, translate
from transformer.model.config import ModelConfig
from transformer.model.networks import network
from transformer.package.config import signed
from transformer.package.loading import Package, load_package
from transformer.package.making import save_package
from transformer.support.cpu import cores
from transformer.support.files import read_lines, sha256, write_json
from transformer.support.strict import plain
from transformer.text.subwords import Subwords, learn
from transformer.text.tokens import Pairs, pack, write_pairs
from transformer.training.config import RunConfig, TrainingConfig

# The same examples in each run as long as a test's code is the same, and no limit of time, for busy machines.
hypothesis.settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")
# It would also draw the constants in those of our modules that are loaded, which depends on the tests before.
providers._get_local_constants = lambda: providers._local_constants

pytest_plugins = ["agreement"]
ROOT = Path(__file__).parents[1]
LONGEST = ("test_smoke", "test_gpu_offline")
VOCABULARY = 40
PROJECT_WORDS = "the a dog cat bird house tree sees finds likes big small red old and with near under"
SENTENCE_WORDS = "the a big small old cat dog house tree sees finds likes well-known near under"
NLTK_DATA = "5db857e6f7df11eabb5e5665836db9ec8df07e28"
ARCHITECTURE = ModelConfig(
    N=1, d_model=16, d_ff=32, h=2, d_k=8, d_v=8, P_drop=0.1, positions="sinusoidal", max_length=24
)
TRAINING = TrainingConfig(
    steps=12,
    warmup=4,
    learning_rate=1.0,
    beta1=0.9,
    beta2=0.98,
    epsilon=1e-9,
    eps_ls=0.1,
    batch_tokens=96,
    longest_pair=24,
    checkpoint_every=3,
    average=3,
    precision="float32",
)


torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs from all tests except those marked `gpu`, which are run separately."""
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: PyTorch's objects and the tests."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _attention_as_in_training(request: pytest.FixtureRequest) -> None:
    """On a GPU, use the kernels of attention that `choose_device` leaves."""
    if request.node.get_closest_marker("gpu"):
        torch.backends.cuda.enable_cudnn_sdp(False)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process for each core. Named files, `-k`, and the tests of a cluster or a GPU run in this process only."""
    files = [argument for argument in config.args if Path(argument.partition("::")[0]).is_file()]
    few = files or config.option.keyword or config.option.markexpr in ("cluster", "gpu")
    return 0 if few else cores()


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """If several processes share the files, start with those that take longest."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: (item.path.stem not in LONGEST, item.get_closest_marker("workflow") is None))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` if there is no GPU."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("it needs a GPU: make test-gpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Go back to one thread after each test. A command may have set more, and then later sums round differently."""
    yield
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _quick_writes() -> Iterator[None]:
    """Do not flush files to the disk: that takes longer than training models as tiny as those of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _same_random_numbers() -> None:
    """Let a test draw the same numbers whichever tests ran before it in this process."""
    torch.manual_seed(1)


@pytest.fixture
def full_after() -> Callable[[int], contextlib.AbstractContextManager[None]]:
    """A context in which no file gets more than some bytes; to write more fails, like on a full disk."""

    @contextlib.contextmanager
    def limit(size: int) -> Iterator[None]:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return limit


@pytest.fixture(scope="session")
def forkserver() -> multiprocessing.context.ForkServerContext:
    """Processes that start fast, because their imports (also DistributedDataParallel's) are loaded in advance."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["transformer.training.loop", "torch._dynamo"])
    return processes


@pytest.fixture(scope="session")
def copy_project() -> Callable[[Path], None]:
    """Copies the files that the workflow needs into a folder."""

    def copy(folder: Path) -> None:
        for name in ("Snakefile", "Makefile", "environment.yml", "requirements.txt", "requirements-torch.txt"):
            shutil.copy(ROOT / name, folder)
        for name in ("config", "ideas", "profiles", "transformer", "workflow"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        # Snakemake waits for such a span when it ends.
        profile = folder / "profiles/default/profile.yaml"
        profile.write_text(profile.read_text().replace("500/5s", "500/1s"))
        # Times are measured briefly, and while other programs, such as other tests, run.
        for file, old, new in (
            ("step_time", "PATIENCE = 30.0", "PATIENCE = 0.0"),
            ("step_time", '"cpu": 10', '"cpu": 1'),
            ("step_time", "ROUNDS = 10", "ROUNDS = 3"),
            ("complexity", "SECONDS, TIMES = 0.1, 3", "SECONDS, TIMES = 0.0, 2"),
        ):
            path = folder / f"transformer/evaluation/{file}.py"
            path.write_text(path.read_text().replace(old, new))

    return copy


@pytest.fixture(scope="module")
def project(tmp_path_factory, copy_project) -> Path:
    """A copy of the project with small corpora."""
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    shutil.copy(ROOT / "tests/workflow/smoke.yaml", folder)
    for first in ("small", "replication"):  # those that replicate them read their claims
        (folder / f"results/released/{first}/tables").mkdir(parents=True)
        shutil.copy(ROOT / f"results/released/{first}/tables/claims.csv", folder / f"results/released/{first}/tables")
    drawn, words = random.Random(1), PROJECT_WORDS.split()
    (folder / "own").mkdir()
    downloads, parts = {}, {}
    for part, pairs in {"train": 200, "dev": 20, "test": 20}.items():
        lines = [drawn.choices(words, k=drawn.randint(2, 8)) for _ in range(pairs)]
        english, reverse = ([" ".join(line[::step]) for line in lines] for step in (1, -1))
        (folder / f"own/{part}.en").write_text("".join(f"{line}\n" for line in english))
        (folder / f"own/{part}.de").write_text("".join(f"{line}\n" for line in reverse))
        table = folder / f"own/{part}.tsv.gz"
        table.write_bytes(gzip.compress("".join(map("{}\t{}\n".format, english, reverse)).encode()))
        content = table.read_bytes()
        downloads[table.as_uri()] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        parts[part] = [{"en": f"{table.as_uri()}#1", "fr": f"{table.as_uri()}#2"}]
    (folder / "own/wsj").mkdir()
    trees = generate(70, 1, (4, 9))
    for number in range(1, 8):
        (folder / f"own/wsj/wsj_{number:04}.mrg").write_text("".join(f"( {tree} )\n" for tree in islice(trees, 10)))
    fetched = {"corpora": {"fetched": {"origin": "files", **parts}}, "downloads": downloads}
    (folder / "fetched.yaml").write_text(yaml.safe_dump(fetched))
    return folder


@pytest.fixture(scope="session")
def wsj_sample(tmp_path_factory) -> Path:
    """A folder with nltk_data's sample of the Penn Treebank, from the mirror."""
    mirror = os.environ.get("TRANSFORMER_MIRROR")
    if not mirror:
        pytest.skip("TRANSFORMER_MIRROR does not name a folder with nltk_data's treebank.zip")
    archive = f"raw.githubusercontent.com/nltk/nltk_data/{NLTK_DATA}/packages/corpora/treebank.zip"
    folder = tmp_path_factory.mktemp("wsj_sample")
    with zipfile.ZipFile(Path(mirror) / archive) as members:
        members.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def pierre() -> tuple[str, str]:
    """A tree in the form of the treebank, and the same tree after it is read and printed."""
    text = """
( (S
    (NP-SBJ-1 (NNP Pierre) )
    (VP (MD will)
      (VP (VB try)
        (S
          (NP-SBJ (-NONE- *-1) )
          (VP (TO to)
            (VP (VB join)
              (NP (PRP$ our) (NN board) ))))
        (SBAR=2 (-NONE- 0)
          (S (-NONE- *T*-2) ))))
    (. .) ))
"""
    tree = (
        "(S (NP (NNP Pierre)) (VP (MD will) (VP (VB try) "
        "(S (VP (TO to) (VP (VB join) (NP (PRP$ our) (NN board))))))) (. .))"
    )
    return text, tree


@pytest.fixture(scope="session")
def run_config() -> Callable[..., RunConfig]:
    """Makes the config of a tiny run, with some keys of its model, its training or the run changed."""

    def make(**changes) -> RunConfig:
        parts = []
        for part in (ARCHITECTURE, TRAINING, RunConfig("ende", "base", 1, ARCHITECTURE, TRAINING)):
            names = {field.name for field in dataclasses.fields(part)} & changes.keys()
            parts.append(dataclasses.replace(part, **{name: changes.pop(name) for name in names}))
        assert not changes
        return dataclasses.replace(parts[2], architecture=parts[0], training=parts[1])

    return make


@pytest.fixture(scope="session")
def encoded(tmp_path_factory, subwords) -> Callable[[str], Pairs]:
    """Reads random pairs of ids of the vocabulary `subwords`: `train` has 40 pairs and `dev` has 10."""
    folder, vocabulary = tmp_path_factory.mktemp("encoded"), Subwords(subwords)
    random = np.random.default_rng(1)
    for part, count in (("train", 40), ("dev", 10)):
        sides = [
            [[*random.integers(3, VOCABULARY, n).tolist(), 1] for n in random.integers(2, 12, count)] for _ in "st"
        ]
        write_pairs(folder / part, [pack(*sides, VOCABULARY)], len(vocabulary), vocabulary.sha256)
    return lambda part: Pairs.read(folder / part)


def sentences(seed: int, count: int) -> list[str]:
    """Random sentences with a small vocabulary."""
    choose = random.Random(seed)
    words = SENTENCE_WORDS.split()
    return [" ".join(choose.choices(words, k=choose.randint(2, 9))) + " ." for _ in range(count)]


@pytest.fixture(scope="session")
def text() -> Callable[[int, int], list[str]]:
    """Makes random sentences from a seed and a count."""
    return sentences


@pytest.fixture(scope="session")
def subwords(tmp_path_factory) -> Path:
    """A vocabulary learned from random sentences."""
    path = tmp_path_factory.mktemp("subwords") / "ende.model"
    learn(sentences(0, 300), 60, path)
    return path


@pytest.fixture
def save(tmp_path, tmp_path_factory, run_config, subwords) -> Callable[..., Path]:
    """Writes a package with random weights, with some keys of its architecture changed."""

    def write(name: str = "package", seed: int = 1, **changes) -> Path:
        torch.manual_seed(seed)
        run = run_config(**changes)
        vocabulary = len(Subwords(subwords))
        corpus = {"corpus": "toy", "description": "random words", "licence": "CC0", "source": "en", "target": "de"}
        corpus |= {"pairs": {"train": 5678, "dev": 9, "test": 9}}
        training = {"parameters": 1234, "steps": 12, "target_tokens": 4321, "left_out": 7, "longest_pair": 20}
        training |= {"seconds": 3600.0, "flops": 1.5e12, "devices": 2}
        training |= {"device": "abacus", "precision": "float32", "config_sha256": run.sha256()}
        training |= {"software": {"commit": "1234abcd-dirty", "torch": "2.13.0"}}
        config = {"task": "ende", "kind": "translation", "model": "base", "seed": seed, "source": "en", "target": "de"}
        config |= {"architecture": plain(run.architecture), "vocabulary": vocabulary, "averaged": [6, 9, 12]}
        config |= {"decoding": {"beam": 3, "alpha": 0.6, "extra": 10}, "corpus": corpus, "training": training}
        weights = network(run.architecture, vocabulary).state_dict()
        history = tmp_path_factory.mktemp("run") / "history.csv"
        history.write_text("step,loss,dev_perplexity\n6,3.9,9.8\n12,3.4,8.766\n18,3.3,\n")
        save_package(tmp_path / name, config, weights, subwords, history)
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def change_package() -> Callable[..., None]:
    """Changes keys in the config.json of a package, and its SHA-256 accordingly."""

    def change(folder: Path, **values) -> None:
        path = folder / "config.json"
        write_json(path, signed(json.loads(path.read_text()) | values))

    return change


@pytest.fixture
def package(save) -> Callable[..., Package]:
    """Writes and loads a package with random weights."""
    return lambda **changes: load_package(save(**changes), torch.device("cpu"))


@pytest.fixture
def translations() -> Callable[..., Iterator[Translation]]:
    """Translates lines in this process, with a beam of `width`, or by sampling if there is a seed."""

    def run(package, lines, width, batch_tokens, seed=None, **named):
        settings = package.config.decoding
        search = Search(width, settings.alpha, settings.extra, seed)
        with decoding(package, Path(), search, "float32", 1) as decode:
            yield from translate(package, lines, decode, max(1, batch_tokens // width), **named)

    return run


@pytest.fixture
def recorded(tmp_path):
    """Write what `translate --record` would write for a file of translations; returns the file's path."""

    def write(package, translations, **changes):
        how = {"beam": 4, "alpha": 0.6, "extra": 50, "sample": None, "precision": "float32", "batch_tokens": 100}
        made = {"weights": sha256(package / "model.safetensors"), "translations": sha256(translations)}
        record = Record(**{**how, **made, "lines": len(read_lines(translations)), **changes})
        write_json(tmp_path / "record.json", dataclasses.asdict(record))
        return tmp_path / "record.json"

    return write
