from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from transformer.cli.main import main
from transformer.length.config import LengthRun, Recipe
from transformer.length.model import DecoderOnly
from transformer.length.problems import SEPARATOR, rows, vocabulary
from transformer.length.run import exact_match, run, train
from transformer.model.config import ENCODINGS, ModelConfig
from transformer.model.ids import END, PADDING
from transformer.support.files import InputError, read_json
from transformer.support.strict import plain, write_config
from transformer.training.optimizer import Adam

RECIPE = Recipe(
    N=1,
    d_model=16,
    d_ff=32,
    h=2,
    P_drop=0.0,
    warmup=20,
    learning_rate=0.3,
    batch=16,
    symbols=4,
    trained=(1, 2),
    tested=4,
    problems=20,
)


def length_run(task="copy-one", positions="none", steps=3, **changes):
    return LengthRun(task, positions, 1, steps, replace(RECIPE, **changes))


def decoder(positions):
    torch.manual_seed(1)
    model = DecoderOnly(ModelConfig(2, 16, 32, 2, 8, 8, 0.0, positions, 12), vocabulary(8))
    if positions == "t5":
        torch.nn.init.normal_(model.positions.table, std=3.0)
    return model.eval()


@pytest.mark.parametrize("positions", ENCODINGS)
def test_a_decoder_does_not_see_later_ids(positions):
    model = decoder(positions)
    ids = torch.randint(4, 12, (2, 9))
    changed = torch.cat((ids[:, :5], 4 + (ids[:, 5:] - 3) % 8), 1)
    assert torch.allclose(model(ids)[:, :5], model(changed)[:, :5], atol=1e-6)
    assert not torch.allclose(model(ids)[:, 5:], model(changed)[:, 5:], atol=1e-3)


@pytest.fixture
def steps(monkeypatch):
    """What each training step does: its problems, its gradient of the embeddings and its rate; at last, its Adam."""
    problems, gradients, rates, settings = [], [], [], []

    class Noted(Adam):
        def __init__(self, parameters, **given):
            settings.append(given)
            self.embedding, *_ = parameters = list(parameters)
            super().__init__(parameters, **given)

        def step(self, rate):
            gradients.append(self.embedding.grad.clone())
            rates.append(rate)
            super().step(rate)

    monkeypatch.setattr("transformer.length.run.Adam", Noted)
    monkeypatch.setattr("transformer.length.run.rows", lambda *given: problems.append(rows(*given)) or problems[-1])
    return problems, gradients, rates, settings


@pytest.mark.agreement(witness="equations of the paper")
def test_training_has_the_adam_and_the_schedule_of_the_paper(steps):
    train(length_run(steps=30), "test")
    *_, rates, settings = steps
    assert settings == [{"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}]
    assert rates == pytest.approx([0.3 * 16**-0.5 * min(step**-0.5, step * 20**-1.5) for step in range(1, 31)])


def test_a_seed_decides_the_weights_and_the_problems_which_are_new_in_each_step(steps):
    problems, gradients, *_ = steps
    models = [train(replace(length_run("copy"), seed=seed), "test") for seed in (1, 1, 2)]
    assert torch.equal(gradients[0], gradients[3])
    first, *others = (read.tolist() for read, _ in problems)
    assert [first == other for other in others] == [False, False, True, False, False, False, False, False]
    assert {length for _, said in problems for length in (said != PADDING).sum(1)} == {2, 3}  # with END
    assert not torch.allclose(models[0].embedding, models[2].embedding, atol=0.1)


def test_a_step_has_the_gradient_of_the_mean_cross_entropy(steps):
    config = length_run("copy", learning_rate=1e-30)
    model = train(config, "test")
    [[(read, said), *_], [gradient, *_], *_] = steps
    model.zero_grad()
    logits = model(torch.from_numpy(read)).flatten(0, 1)
    F.cross_entropy(logits, torch.from_numpy(said).flatten(), ignore_index=PADDING).backward()
    torch.testing.assert_close(gradient, model.embedding.grad)


def test_exact_match_equals_that_of_greedy_search():
    config = length_run("copy", "rotary", steps=60, P_drop=0.1)
    model = train(config, "test")
    for length in (1, 2, 3):
        measured = exact_match(model.train(), config, length)
        read, said = rows("copy", np.random.default_rng([length]), [length] * 20, 4)
        right = 0
        for row, answers in zip(read, said, strict=True):
            wanted = [each for each in answers.tolist() if each != PADDING]
            ids = row[: row.tolist().index(SEPARATOR) + 1].tolist()
            found = []
            while len(found) < len(wanted) and END not in found:
                found.append(int(model(torch.tensor([ids + found]))[0, -1].argmax()))
            right += found == wanted
        assert measured == pytest.approx(right / 20)


def test_a_task_is_learnt_and_a_second_run_gives_the_same_result(tmp_path):
    config = length_run(positions="learned", steps=150)
    for name in ("first", "again"):
        run(config, tmp_path / name)
    first, again = (read_json(tmp_path / name) for name in ("first", "again"))
    assert first["exact_match"] == again["exact_match"]
    assert first["exact_match"]["1"] == first["exact_match"]["2"] == 1
    assert list(first["exact_match"]) == ["1", "2", "3", "4"]
    assert (first["task"], first["positions"], first["seed"], first["steps"]) == ("copy-one", "learned", 1, 150)


def test_a_loss_that_is_not_finite_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match="copy-one none 1: the loss is not finite; lower learning_rate"):
        run(length_run(learning_rate=1e30), tmp_path / "exact_match.json")
    assert not (tmp_path / "exact_match.json").exists()


def test_the_command_refuses_a_wrong_config_in_one_line(tmp_path, capsys):
    write_config(tmp_path / "config.yaml", plain(length_run()) | {"positions": "rope"})
    line = f"length --config {tmp_path}/config.yaml --output {tmp_path}/out.json --threads 1"
    assert main(line.split()) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/config.yaml, line 2: positions: ")
