"""Compare how fast and how well a package, Hugging Face and CTranslate2 translate with the same weights.

    pip install -e ".[export,peers]"
    python -m benchmarks.translate --package DIR --source TEST.source --reference TEST.target

The package is exported to both libraries. All systems search with its beam, in batches of equally many sentences of
similar lengths. The libraries use the length penalty that ranks most like ours (README.md of an export). Ours searches
as the paper does, and with an early stop. In each round all systems translate all lines in turn, so that noise of the
machine affects all alike. With several threads, CTranslate2 and our model run in the faster of two layouts: one worker
with all threads, or one worker for each thread. On one thread of a CPU the CPU time is measured, so that other programs
disturb less.

Prints a table with output subwords/s (median over the rounds), the ratios to Hugging Face and to CTranslate2 in float32
(medians over the rounds), BLEU, and the share of lines that equal those of Hugging Face.
"""

import argparse
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmarks.measuring import print_head, print_row
from transformer.decoding.search import Search, Sentence, decoding
from transformer.evaluation.bleu import sacrebleu
from transformer.evaluation.turns import in_turns, seconds
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.export.marian import to_marian
from transformer.model.ids import PADDING
from transformer.package.loading import Package, load_package
from transformer.support.device import choose_device, device_name, keep_freed_memory
from transformer.support.files import read_parallel

if TYPE_CHECKING:
    import ctranslate2
    from transformers import MarianMTModel

Translator = Callable[[list[list[int]]], list[list[int]]]  # ids of sentences -> ids of translations without ends
Layouts = Collection[tuple[int, int]]  # workers, threads of each


def in_batches(size: int, work: Callable[[list[list[list[int]]]], list[list[int]]]) -> Translator:
    """Turn `work`, which translates batches of sentences of similar lengths, into a translator for any order."""

    def run(sentences: list[list[int]]) -> list[list[int]]:
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        parts = [order[i : i + size] for i in range(0, len(order), size)]
        translations = work([[sentences[i] for i in part] for part in parts])
        return [ids for _, ids in sorted(zip(order, translations, strict=True))]

    return run


def hugging_face(model: "MarianMTModel", extra: int, batches: list[list[list[int]]]) -> list[list[int]]:
    """Translate with MarianMTModel.generate."""
    translations = []
    for batch in batches:
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(x) for x in batch], True, PADDING).to(model.device)
        most = max(map(len, batch)) + extra
        with torch.inference_mode():
            rows = model.generate(ids, attention_mask=ids != PADDING, max_length=None, max_new_tokens=most)
        translations += [[i for i in row if i > 1] for row in rows.tolist()]
    return translations


def ct2(translator: "ctranslate2.Translator", package: Package, penalty: float, size: int, **more: Any) -> Translator:
    """A translator that uses CTranslate2. `more` are further options of its search."""
    processor = package.subwords.processor

    def run(sentences: list[list[int]]) -> list[list[int]]:
        pieces = [[processor.id_to_piece(i) for i in ids[:-1]] for ids in sentences]
        how = package.config.decoding
        beam = {"beam_size": how.beam, "length_penalty": penalty, "max_batch_size": size}
        beam["max_decoding_length"] = max(map(len, sentences)) + how.extra
        results = translator.translate_batch(pieces, **beam | more)
        return [[processor.piece_to_id(piece) for piece in result.hypotheses[0]] for result in results]

    return run


def by_ctranslate2(
    package: Package, exported: Path, penalty: float, size: int, layouts: Layouts
) -> dict[str, list[Translator]]:
    """CTranslate2 in each precision, with a translator for each layout."""
    import ctranslate2

    device = package.model.embedding.device.type
    systems = {}
    for kind in ("float32", "int8") if device == "cpu" else ("float32", "float16"):
        make = partial(ctranslate2.Translator, str(exported), device=device, compute_type=kind)
        systems[f"CTranslate2, {kind}"] = [
            ct2(make(inter_threads=workers, intra_threads=each), package, penalty, size) for workers, each in layouts
        ]
    return systems


def by_ours(
    package: Package, folder: Path, size: int, layouts: Layouts, stack: ExitStack
) -> dict[str, list[Translator]]:
    """Our model in each precision, with and without an early stop, with a translator for each layout.

    The processes of a layout end with `stack`.
    """
    config, threads = package.config.decoding, torch.get_num_threads()
    systems: dict[str, list[Translator]] = {}
    for precision, early in product(("float32", "bfloat16"), (False, True)):
        search = Search(config.beam, config.alpha, config.extra, early=early)
        translators = systems[f"ours, {precision}" + early * ", early stop"] = []
        for workers, each in layouts:
            torch.set_num_threads(each)
            decode = stack.enter_context(decoding(package, folder, search, precision, workers))

            def ours(batches: list[list[list[int]]], decode=decode, each=each) -> list[list[int]]:
                torch.set_num_threads(each)
                decoded = decode([[Sentence(0, ids) for ids in batch] for batch in batches])
                torch.set_num_threads(threads)
                return [best[0].ids for best in chain.from_iterable(decoded)]

            translators.append(in_batches(size, ours))
    torch.set_num_threads(threads)
    return systems


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, required=True, help="folder of a trained model")
    parser.add_argument("--source", type=Path, required=True, help="text to translate, one sentence per line")
    parser.add_argument("--reference", type=Path, required=True, help="its translation")
    parser.add_argument("--lines", type=int, default=1000, help="how many lines to translate (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="sentences of a batch (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads (default: all)")
    arguments = parser.parse_args()
    try:
        import ctranslate2
        from transformers import MarianMTModel
    except ImportError as error:
        parser.exit(1, f'error: {error}; install it with `pip install -e ".[export,peers]"`\n')
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    device, size, threads = choose_device(), arguments.batch, arguments.threads
    clock = time.process_time if device.type == "cpu" and threads == 1 else time.perf_counter
    package = load_package(arguments.package, device)
    config = package.config.decoding
    lines, references = (part[: arguments.lines] for part in read_parallel(arguments.source, arguments.reference))
    sentences = package.subwords.encode(lines)
    layouts = {(1, threads), (threads, 1)} if device.type == "cpu" else {(1, threads)}
    versions = f"PyTorch {torch.__version__}, CTranslate2 {ctranslate2.__version__}"
    print(f"{device_name(device)}, {threads} threads, {versions}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        to_marian(arguments.package, folder / "marian")
        to_ctranslate2(arguments.package, folder / "ctranslate2")
        marian = MarianMTModel.from_pretrained(folder / "marian").to(device).eval()
        penalty = marian.generation_config.length_penalty
        systems = {"Hugging Face, float32": [in_batches(size, partial(hugging_face, marian, config.extra))]}
        systems |= by_ctranslate2(package, folder / "ctranslate2", penalty, size, layouts)
        systems |= by_ours(package, arguments.package, size, layouts, stack)
        outputs: dict[str, list[list[int]]] = {}
        works: list[Callable[[int], None]] = []
        for name, translators in systems.items():  # one for each layout, of which the fastest counts
            for translator in translators:
                translator(sentences[: 2 * size])  # to warm up
            trials = [seconds(partial(each, sentences[: 4 * size]), clock) for each in translators]
            best = translators[trials.index(min(trials))]
            works.append(lambda _, name=name, best=best: outputs.update({name: best(sentences)}))
        times = in_turns(works, arguments.rounds, clock)
    speeds = np.array([sum(len(ids) + 1 for ids in outputs[name]) for name in systems]) / times
    print(f"beam {config.beam}, alpha {config.alpha} (others: {penalty:.2f}), batches of {size}, {len(lines)} lines\n")
    print_head("", "subwords/s", "x Hugging Face", "x CTranslate2", "BLEU", "lines as Hugging Face")
    reference = outputs["Hugging Face, float32"]
    peers = [list(systems).index(f"{peer}, float32") for peer in ("Hugging Face", "CTranslate2")]
    for name, of_rounds in zip(systems, speeds.T, strict=True):
        ratios = (f"{np.median(of_rounds / speeds[:, peer]):.2f}" for peer in peers)
        bleu = sacrebleu(package.subwords.decode(outputs[name]), references).score
        same = sum(map(list.__eq__, outputs[name], reference)) / len(reference)
        print_row(name, f"{np.median(of_rounds):,.0f}", *ratios, f"{bleu:.2f}", f"{same:.1%}")


if __name__ == "__main__":
    main()
