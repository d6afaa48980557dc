import contextlib
import itertools
import json
import math
import multiprocessing
import os
import random
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from transformer.model.flops import forward_flops
from transformer.support.files import InputError, read_lines
from transformer.support.tensors import read_tensors, write_tensors
from transformer.text.batches import once
from transformer.text.tokens import Pairs, pack
from transformer.training import loop, state, update
from transformer.training.attempts import attempt, read_attempts
from transformer.training.history import HISTORY
from transformer.training.loop import Trainer
from transformer.training.signals import Interrupted

CPU = torch.device("cpu")
VOCABULARY = 40


def contents(trainer):
    """Everything an interruption must not change: tensors, progress, and the history without its speed."""
    tensors, metadata = read_tensors(trainer.folder / "state.safetensors")
    state = json.loads(metadata["state"])
    timed = {"seconds", "row_seconds"}
    history = [row[:4] + row[5:] for row in state.pop("history")]
    checkpoints = {path.name: path.read_bytes() for path in sorted(trainer.folder.glob("step-*"))}
    return tensors, {key: value for key, value in state.items() if key not in timed}, history, checkpoints


def assert_same(one, other):
    (tensors, state, history, checkpoints), theirs = contents(one), contents(other)
    assert tensors.keys() == theirs[0].keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, theirs[0][name]), name
    assert (state, history) == theirs[1:3]
    assert checkpoints == theirs[3]


def before(trainer, step, act):
    """Call `act` during step `step`."""
    one_step = trainer.step

    def wrapped(batches):
        if trainer.state.step + 1 == step:
            act()
        one_step(batches)

    trainer.step = wrapped


def interrupted(start, *steps):
    """The folder of a run that was interrupted during each of these steps."""
    for step in steps:
        trainer = start()
        before(trainer, step, lambda: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(Interrupted):
            trainer.train()
    return trainer.folder


@pytest.fixture
def whole(start):
    """A trainer that has trained without interruption."""
    trainer = start("whole")
    trainer.train()
    return trainer


def test_a_run_whose_batches_another_process_packs_ends_like_one_that_packs_them(start, whole):
    for step in (5, 13):
        trainer = start()
        trainer.apart = True  # as on a GPU
        before(trainer, step, lambda: os.kill(os.getpid(), signal.SIGTERM))
        with contextlib.suppress(Interrupted):
            trainer.train()
        assert not multiprocessing.active_children()
    assert_same(trainer, whole)


@pytest.fixture
def handled():
    """Sets the handler of a signal for a test."""
    before = {}

    def handle(number, handler):
        before.setdefault(number, signal.signal(number, handler))

    yield handle
    for number, handler in before.items():
        signal.signal(number, handler)


NUMBERS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU]


def test_a_signal_that_this_process_ignores_does_not_interrupt_a_run(start, handled):
    """As SIGINT in the background of a shell, and SIGHUP under nohup."""
    trainer = start()
    for step, number in enumerate(NUMBERS, start=1):
        handled(number, signal.SIG_IGN)
        before(trainer, step, partial(os.kill, os.getpid(), number))
    trainer.train()
    assert trainer.state.step == 12


def test_a_run_interrupted_after_every_step_by_one_signal_or_another_ends_like_an_uninterrupted_one(
    start, whole, handled
):
    for step, number in zip(range(1, 12), itertools.cycle(NUMBERS)):
        handled(number, signal.SIG_DFL)
        trainer = start()
        before(trainer, step, partial(os.kill, os.getpid(), number))
        with pytest.raises(Interrupted, match=signal.Signals(number).name) as interruption:
            trainer.train()
        assert (trainer.state.step, interruption.value.number) == (step, number)
        assert signal.getsignal(number) == signal.SIG_DFL
    trainer = start()
    assert trainer.state.step == 11
    trainer.train()
    assert_same(trainer, whole)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"network": "recurrent", "N": 3}, [5]),
        ({"network": "convolutional", "N": 2, "positions": "learned"}, [5]),
        ({"steps": 120}, [1, 7, 13]),  # none has a row in the history
    ],
)
def test_interruptions_change_nothing(start, changes, steps):
    start = partial(start, **changes)
    whole = start("whole")
    whole.train()
    interrupted(start, *steps)
    trainer = start()
    trainer.train()
    assert_same(trainer, whole)


def test_steps_go_on_while_the_state_is_written(start, whole, monkeypatch):
    go_on, write, written = threading.Event(), state.write_tensors, []

    def slow(path, *given):
        written.append(path.name)
        assert go_on.wait(20)
        write(path, *given)

    monkeypatch.setattr(state, "write_tensors", slow)
    trainer = start()
    trainer.train(save_seconds=0, reached=lambda step: step == 11 and (written.append(step), go_on.set()))
    assert written[:2] == ["state.safetensors", 11]  # and no checkpoint
    assert_same(trainer, whole)


def train_on(config, train, dev, folder):
    """Train in a process of its own and save as often as possible."""
    torch.set_num_threads(1)
    trainer = Trainer(config, VOCABULARY, Pairs.read(train), Pairs.read(dev), folder, CPU)
    with attempt(folder / "attempts", trainer.state.step, {}) as reached:
        trainer.train(save_seconds=0, reached=reached)


def written_at(file):
    """A file's modification time, or None: for a moment the old state is renamed and the new one not yet written."""
    with contextlib.suppress(FileNotFoundError):
        return file.stat().st_mtime_ns


def test_a_run_killed_at_any_moment_ends_with_the_same_weights(tmp_path, run_config, encoded, forkserver):
    config = run_config(steps=300, checkpoint_every=20, average=5)
    prefixes = [str(encoded(part).ids.filename).removesuffix(".ids.npy") for part in ("train", "dev")]
    whole = Trainer(config, VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "whole", CPU)
    whole.train()
    newest = tmp_path / "state" / "state.safetensors"
    moments = random.Random(0)
    killed = 0
    for _ in range(10):
        seen = written_at(newest)
        process = forkserver.Process(target=train_on, args=(config, *prefixes, newest.parent))
        process.start()
        while process.is_alive() and written_at(newest) in (None, seen):
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL
    assert killed == len(read_attempts(newest.parent / "attempts")) == 10
    trainer = Trainer(config, VOCABULARY, encoded("train"), encoded("dev"), newest.parent, CPU)
    assert trainer.state.step > 0
    trainer.train()
    assert_same(trainer, whole)


def test_a_kill_while_the_state_is_written_leaves_the_previous_state(start, whole):
    """The process dies after the old state has become `previous`; the file of the new state never appears."""
    folder = interrupted(start, 5)
    (folder / "state.safetensors").rename(folder / "previous.safetensors")
    (folder / ".state.safetensors.1.part").write_bytes(b"half")
    trainer = start()
    assert trainer.state.step == 5
    trainer.train()
    assert_same(trainer, whole)


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("steps", "damage", "damaged", "step", "origin"),
    [
        ([4, 7], cut, ["state"], 4, "the previous state"),
        ([4, 7], flip, ["state"], 4, "the previous state"),
        ([4, 7], cut, ["state", "previous"], 0, "the start"),
        ([4], cut, ["state"], 0, "the start"),
    ],
)
def test_a_run_with_damaged_states_resumes_from_what_is_whole_and_says_so(
    start, whole, capsys, steps, damage, damaged, step, origin
):
    folder = interrupted(start, *steps)
    for name in damaged:
        damage(folder / f"{name}.safetensors")
    capsys.readouterr()
    trainer = start()
    said = capsys.readouterr().err
    assert all(f"{folder}/{name}.safetensors: damaged" in said for name in damaged)
    assert f"resuming from {origin}" in said
    assert trainer.state.step == step
    trainer.train()
    assert_same(trainer, whole)


def test_a_full_disk_loses_nothing(start, whole, full_after):
    folder = interrupted(start, 4)
    trainer = start()
    with full_after(10_000), pytest.raises(InputError, match=r"safetensors: cannot be written \(File too large\)"):
        trainer.train(save_seconds=0)
    assert [path.name for path in folder.glob("*.safetensors")] == ["previous.safetensors"]
    trainer = start()
    assert trainer.state.step == 4
    trainer.train()
    assert_same(trainer, whole)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 2}, "seed was 1 and is 2"),
        ({"steps": 13}, r"training\.steps was 12 and is 13"),
        ({"attention": "unscaled"}, r"architecture\.attention was null and is 'unscaled'"),
    ],
)
def test_the_state_of_another_config_is_refused_and_the_change_is_named(start, changes, said):
    folder = interrupted(start, 4)
    message = rf"{folder}/state\.safetensors: this state belongs to another run: .*{said}.*, or remove {folder} to"
    with pytest.raises(InputError, match=message):
        start(**changes)


def test_the_state_of_another_vocabulary_or_of_other_data_is_refused(start, run_config, encoded):
    folder = interrupted(start, 4)
    other = encoded("train")
    other.vocabulary = "40 subwords, SHA-256 of others"
    with pytest.raises(InputError, match=r"another run: vocabulary was '.*' and is '40 subwords, .*'; change"):
        Trainer(run_config(), VOCABULARY, other, encoded("dev"), folder, CPU)
    with pytest.raises(InputError, match="another run: data; change"):
        start(dev=encoded("train"))


def test_the_same_seed_gives_the_same_weights_and_another_seed_gives_other_weights(start, whole):
    again = start("again")
    again.train()
    other = start("other", seed=2)
    other.train()
    assert_same(again, whole)
    assert not torch.equal(other.model.embedding, whole.model.embedding)


def gradients(trainer):
    """The gradients of the first step."""
    found = {}
    trainer.updater.optimizer.step = lambda _: found.update(
        {n: p.grad.clone() for n, p in trainer.model.named_parameters()}
    )
    _, _, batches = next(trainer.batches.from_position(0, 0))
    trainer.step(batches)
    return found, len(batches)


def test_micro_batches_sum_to_the_gradients_of_the_whole_batch(start):
    once, one = gradients(start("once", P_drop=0.0, batch_tokens=300, micro=320))
    summed, many = gradients(start("summed", P_drop=0.0, batch_tokens=300, micro=40))
    assert one == 1
    assert many > 3
    for name, gradient in once.items():
        torch.testing.assert_close(summed[name], gradient, rtol=1e-4, atol=1e-6)


def on_a_gpu(_):
    raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize(
    ("step", "micro", "remedy"),
    [
        (lambda _: torch.empty(1 << 50), 100, "resume with --micro-batch-tokens 50 .*train:micro_batch_tokens=50 "),
        (on_a_gpu, 1000, "resume with --micro-batch-tokens 150 "),  # a step has 300
        (lambda _: np.empty(1 << 50), 24, r"one row has \d+ subwords and cannot be split; lower longest_pair"),
    ],
)
def test_when_memory_runs_out_the_setting_to_lower_is_named(start, step, micro, remedy):
    trainer = start(micro=micro, batch_tokens=300)
    trainer.step = step
    with pytest.raises(InputError, match=f"base: out of memory; {remedy}"):
        trainer.train()


def test_other_errors_of_pytorch_pass_unchanged(start):
    trainer = start()
    trainer.step = lambda _: torch.ones(2) @ torch.ones(3)
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        trainer.train()


def test_a_step_follows_the_schedule_and_counts_the_targets_and_three_forward_passes(start):
    trainer = start()
    _, _, batches = next(trainer.batches.from_position(0, 0))
    trainer.step(batches)
    assert trainer.rate() == pytest.approx(16**-0.5 * 4**-1.5)
    assert trainer.state.target_tokens == sum(int((micro.target.ids != 0).sum()) for micro in batches)
    lengths = np.concatenate([micro.lengths for micro in batches])
    assert trainer.state.flops == 3 * forward_flops(trainer.config.architecture, VOCABULARY, lengths)


@pytest.mark.parametrize(
    ("value", "step", "changes", "checked"),
    [
        (math.nan, 5, {}, 5),
        (math.inf, 12, {}, 12),
        (math.nan, 13, {"steps": 1000, "checkpoint_every": 1}, 20),  # a row of the history
    ],
)
def test_a_loss_that_is_not_finite_stops_the_run_and_names_its_step(start, value, step, changes, checked):
    trainer = start(**changes)
    loss = trainer.updater.loss
    trainer.updater.loss = lambda *given: loss(*given) * (value if trainer.state.step == step else 1)
    with pytest.raises(InputError, match=rf"the loss is not finite at step {step}; lower learning_rate"):
        trainer.train()
    assert trainer.state.step == checked
    assert not (trainer.folder / "step-12.safetensors").exists()


def pairs_of(*sides):
    """Pairs in memory, from ids of sources and of targets."""
    return Pairs.of([pack(*sides, VOCABULARY)])


def test_dev_pairs_beyond_the_learned_positions_do_not_stop_the_training(start):
    trainer = start(dev=pairs_of([[5] * 29 + [1], [5, 1]], [[6, 1], [6, 1]]), positions="learned")
    trainer.train()
    assert trainer.state.history[-1][5] > 1


@pytest.mark.parametrize(("longest_pair", "counted"), [(29, False), (30, True)])
def test_dev_pairs_as_long_as_pairs_of_training_count(start, longest_pair, counted):
    trainer = start(dev=pairs_of([[5] * 29 + [1]], [[6, 1]]), longest_pair=longest_pair)
    assert (trainer.dev_perplexity() is not None) == counted
    assert trainer.model.training  # dropout stays on


def test_the_history_has_evenly_spaced_rows_and_few_perplexities(start):
    trainer = start(steps=150, checkpoint_every=1)
    trainer.train()
    lines = [line.split(",") for line in read_lines(trainer.folder / "history.csv")]
    assert lines[0] == list(HISTORY)
    steps = [int(line[0]) for line in lines[1:]]
    assert len(steps) == 100
    assert steps[-1] == 150
    assert {b - a for a, b in itertools.pairwise(steps)} == {1, 2}
    assert [step for step, line in zip(steps, lines[1:], strict=True) if line[5]] == list(range(15, 151, 15))


def test_the_gradient_norm_of_the_history_is_that_of_the_whole_batch(start):
    found, _ = gradients(start("once", P_drop=0.0))
    trainer = start(P_drop=0.0, micro=24)
    trainer.train()
    norm = torch.cat([gradient.flatten() for gradient in found.values()]).norm().item()
    assert trainer.state.history[0][HISTORY.index("gradient_norm")] == pytest.approx(norm, rel=1e-4)


def test_bfloat16_keeps_the_weights_in_float32(start):
    trainer = start(precision="bfloat16")
    trainer.train()
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {torch.float32}
    assert trainer.state.precision == "bfloat16"


def test_auto_precision_is_chosen_once_and_kept(start):
    path = interrupted(lambda: start(precision="auto"), 3) / "state.safetensors"
    tensors, texts = read_tensors(path)
    state = json.loads(texts["state"])
    other = {"float32": "bfloat16", "bfloat16": "float32"}[state["precision"]]  # that of another machine
    write_tensors(path, tensors, texts | {"state": json.dumps(state | {"precision": other})})
    assert start(precision="auto").state.precision == other


def test_a_run_that_leaves_out_much_of_its_text_warns(start, capsys):
    start("short", longest_pair=6)
    assert "of 40 pairs have more than 6 subwords on a side and are left out" in capsys.readouterr().err
    start("long", longest_pair=24)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("able", [True, False])
def test_on_a_gpu_the_model_is_compiled_if_possible(run_config, encoded, tmp_path, monkeypatch, able):
    compiled = []
    monkeypatch.setattr(update, "can_compile", lambda: able)
    monkeypatch.setattr(update, "compile_in_place", lambda model, _: compiled.append(model))
    monkeypatch.setattr(update.Network, "to", lambda model, _: model)
    with FakeTensorMode():
        trainer = Trainer(run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path, torch.device("cuda", 0))
    assert (trainer.updater.compiled, compiled) == (able, [trainer.model] * able)
    assert (trainer.updater.recorder is not None) == able


def test_the_seconds_of_a_run_are_those_of_its_steps_and_give_the_speed(start, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def takes(seconds, act):
        def wrapped(*given):
            now[0] += seconds
            act(*given)

        return wrapped

    trainer = start()
    trainer.step, trainer.save = takes(2, trainer.step), takes(50, trainer.save)
    trainer.train()
    assert trainer.state.seconds == 2 * 12
    speeds = [row[HISTORY.index("tokens_per_second")] for row in trainer.state.history]
    assert sum(2 * speed for speed in speeds) == pytest.approx(trainer.state.target_tokens)


def test_dev_perplexity_is_that_of_the_first_pairs_without_label_smoothing(start, encoded, monkeypatch):
    monkeypatch.setattr(loop, "DEV_PAIRS", 4)
    trainer, dev, total, count = start(eps_ls=0.3), encoded("dev"), 0.0, 0
    found = trainer.dev_perplexity()
    trainer.model.eval()
    for pair in once(dev, np.arange(4), 1):
        with torch.no_grad():
            logits = trainer.model.logits(trainer.model(pair.source, pair.target)).flatten(0, 1)
        total += F.cross_entropy(logits, pair.target.ids.flatten(), ignore_index=0, reduction="sum").item()
        count += pair.target_tokens
    assert found == pytest.approx(np.exp(total / count), rel=1e-4)
