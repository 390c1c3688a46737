"""Update rules of a user: each against a loop in numpy, member by member, and what goes wrong is one sentence."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError, draws, plugins
from tutelage.lab import TeacherStudent
from tutelage.plugins import load_plugin
from tutelage.training import RULES, Sgd, Training, rule
from tutelage.training.rules import NumberedStep, Ruled

FILE = Path(__file__).parents[2] / "examples" / "own_rules.py"
RATE, STEPS = 0.05, 12


@pytest.fixture(scope="module")
def shipped():
    """The rules of the example, by name."""
    before = dict(RULES)
    RULES.clear()  # an example that ran in this process may have registered them
    names = runpy.run_path(str(FILE), run_name="own_rules_of_the_example")
    yield {name: names[name] for name in ("sign_descent", "lion", "clipped", "averaged", "langevin")}
    RULES.clear()
    RULES.update(before)


def gradients(arrays, x, y):
    """Of half the mean squared error of a two-layer relu network: [w, v, b, c], by hand."""
    w, v, b, c = arrays
    u = x @ w + b
    f = np.maximum(u, 0)
    error = (f @ v + c - y) / len(x)
    back = (error @ v.T) * (u > 0)
    return [x.T @ back, f.T @ error, back.sum(0), error.sum(0)]


def sign_descent(arrays, grads, memory, step, noise):
    return [a - RATE * np.sign(g) for a, g in zip(arrays, grads, strict=True)], memory


def lion(arrays, grads, memory, step, noise):
    memory = memory or [np.zeros_like(a) for a in arrays]
    new = [a - RATE * np.sign(0.8 * m + 0.2 * g) for a, g, m in zip(arrays, grads, memory, strict=True)]
    return new, [0.99 * m + 0.01 * g for g, m in zip(grads, memory, strict=True)]


def clipped(arrays, grads, memory, step, noise):
    length = np.sqrt(sum((g**2).sum() for g in grads))
    return [a - RATE * min(1.0, 0.1 / length) * g for a, g in zip(arrays, grads, strict=True)], memory


def averaged(arrays, grads, memory, step, noise):
    ahead = [z - RATE * g for z, g in zip(memory or arrays, grads, strict=True)]
    return [(step * a + z) / (step + 1) for a, z in zip(arrays, ahead, strict=True)], ahead


def langevin(arrays, grads, memory, step, noise):
    size = np.sqrt(2 * 0.3 * RATE)
    return [a - RATE * g + size * z for a, g, z in zip(arrays, grads, noise, strict=True)], memory


LOOPS = {
    "sign_descent": (sign_descent, {}),
    "lion": (lion, {"beta_1": 0.8}),
    "clipped": (clipped, {"largest": 0.1}),
    "averaged": (averaged, {}),
    "langevin": (langevin, {"temperature": 0.3}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_rule_is_its_loop(problem, shipped, name):
    p = problem()
    loop, options = LOOPS[name]
    named = {"name": shipped[name], **options}
    run = tt.train(p.teacher, p.students, p.inputs, steps=STEPS, batch="all", learning_rate=RATE, rule=named)
    assert run.engine == "stacked"
    labels = tt.networks.outputs(p.teacher, p.inputs.train).numpy()
    for member, seed in enumerate(p.seeds):
        arrays = [a[member].numpy().copy() for a in p.students.parameters]
        memory = None
        for step in range(STEPS):
            noise = [
                draws.normals(draws.keys([seed], f"rule-{i}"), a.size, start=step * a.size)[0].numpy().reshape(a.shape)
                for i, a in enumerate(arrays)
            ]
            grads = gradients(arrays, p.inputs.train[member].numpy(), labels[member])
            arrays, memory = loop(arrays, grads, memory, step, noise)
        for mine, wanted in zip(run.students.parameters, arrays, strict=True):
            np.testing.assert_allclose(mine[member].numpy(), wanted, rtol=1e-9, atol=1e-11)


def descent(weights, gradients, memory, rates, step):
    return [w - r * g for w, g, r in zip(weights, gradients, rates, strict=True)]


@pytest.fixture
def registered():
    """Rules of a test are gone after it."""
    before = dict(RULES)
    yield rule
    RULES.clear()
    RULES.update(before)


def test_gradient_descent_as_a_rule_is_gradient_descent(problem, registered):
    """With penalties, rates by layer, frozen layers and a schedule too: the rule sees trained arrays alone."""
    p = problem(widths=(5, 4, 4, 3))
    settings = {
        "steps": 30,
        "batch": 8,
        "learning_rate": (0.1, 0.05, 0.02),
        "schedule": "cosine",
        "layer_rates": (2.0, 1.0, 0.5),
    }
    for frozen in ((), (2,)):
        ours = Ruled(name=descent, weight_decay=0.1)
        runs = [
            tt.train(
                p.teacher, p.students, p.inputs, Training(**settings, frozen=frozen, optimiser=o), engine="stacked"
            )
            for o in (ours, Sgd(weight_decay=0.1))
        ]
        for a, b in zip(*(run.students.parameters for run in runs), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_a_training_cut_in_two_and_a_member_alone_are_the_same(problem, shipped):
    p = problem()
    together = tt.train(p.teacher, p.students, p.inputs, steps=20, rule=shipped["langevin"], record=range(20))
    cut = tt.train(p.teacher, p.students, p.inputs, steps=20, rule=shipped["langevin"])
    one = tt.inputs.Inputs(p.inputs.train[1:2], p.inputs.evaluate[1:2], p.inputs.seeds[1:2])
    alone = tt.train(p.teacher[1], p.students[1], one, steps=20, rule=shipped["langevin"])
    for a, b, c in zip(*(run.students.parameters for run in (together, cut, alone)), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
        torch.testing.assert_close(a[1:2], c, rtol=1e-9, atol=1e-12)


def test_noise_of_steps_arrays_and_members_differs():
    arrays = [torch.zeros(2, 3, 4), torch.zeros(2, 4)]
    first, second = NumberedStep(0, (5, 6)).normals(arrays), NumberedStep(1, (5, 6)).normals(arrays)
    numbers = torch.cat([a.flatten() for a in (*first, *second)])
    assert len(numbers.unique()) == len(numbers)


def test_langevin_noise_has_its_temperature(problem, shipped):
    """Without a gradient weights diffuse: the variance after n steps is 2 T rate n."""
    p = problem(widths=(6, 40, 3))
    still = p.inputs.train * 0
    inputs = tt.inputs.Inputs(still, still, p.inputs.seeds)
    options = {"name": shipped["langevin"], "temperature": 0.5}
    run = tt.train(p.teacher, p.students, inputs, steps=10, learning_rate=0.01, rule=options, frozen=(2,))
    moved = (run.students.weights[0] - p.students.weights[0]).flatten()
    wanted = 2 * 0.5 * 0.01 * 10
    # the variance of n normal numbers has the relative standard error sqrt(2/n)
    assert abs(moved.var().item() / wanted - 1) < 4 * (2 / len(moved)) ** 0.5


@pytest.mark.parametrize(
    ("slots", "returned", "sentence"),
    [
        (0, lambda w: w[:-1], r"must return arrays of shape \[\[3, "),
        (0, lambda w: [a.tolist() for a in w], r"got \['list'"),
        (1, lambda w: w, "has slots: return the new weights and the new memory"),
        (2, lambda w: (w, (w,)), "has 2 slots and returned 1: return one list per slot"),
    ],
)
def test_what_does_not_fit(problem, registered, slots, returned, sentence):
    p = problem()

    @rule(slots=slots)
    def wrong(weights, gradients, memory, rates, step):
        return returned(weights)

    with pytest.raises(TutelageError, match=f"the rule 'wrong' .*{sentence}"):
        tt.train(p.teacher, p.students, p.inputs, steps=2, rule=wrong)


def test_settings_of_rules(shipped, registered):
    by_name, by_table = Training(steps=1, rule="lion"), Training(steps=1, rule={"name": "lion", "beta_1": 0.5})
    assert by_name.optimiser == Ruled(name="lion")
    assert by_table.optimiser == Ruled(name="lion", options={"beta_1": 0.5})
    for wrong, sentence in [
        ({"rule": "lyon"}, "unknown rule 'lyon'; did you mean 'lion'"),
        ({"rule": {"name": "lion", "beta_3": 1}}, "unknown option of the rule 'lion' 'beta_3'; did you mean 'beta_"),
        ({"rule": "lion", "optimiser": "adam"}, "'rule' and 'optimiser' both say"),
    ]:
        with pytest.raises(TutelageError, match=sentence):
            Training(steps=1, **wrong)
    with pytest.raises(TutelageError, match="slots must be a whole number"):
        rule(slots=-1)


def test_other_engines_say_why_not(problem, registered):
    p = problem(dtype=torch.float32)
    run = tt.train(p.teacher, p.students, p.inputs, steps=2, rule=descent)
    assert "not fused-cpu: it does SGD and Adam, not rule" in run.why


def test_a_stored_experiment_needs_the_file_of_its_rule(registered, tmp_path):
    def experiment():
        return TeacherStudent(
            teacher={"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2}, student="small-normal",
            inputs={"kind": "gaussian", "train": 40, "evaluate": 30}, seeds=2,
            training={"steps": 5, "rule": "own_descent"},
        )  # fmt: skip

    def own_descent(weights, gradients, memory, rates, step):
        return descent(weights, gradients, memory, rates, step)

    rule()(own_descent)
    with pytest.raises(TutelageError, match="the rule 'own_descent' comes from no plugin file"):
        _ = experiment().hash
    RULES.pop("own_descent")
    text = "from tutelage.training import rule\n\n@rule()\ndef own_descent(weights, gradients, memory, rates, step):\n"
    (tmp_path / "own.py").write_text(text + "    return [w - r * g for w, g, r in zip(weights, gradients, rates)]\n")
    plugin = load_plugin(tmp_path / "own.py")
    assert plugin.names == ("rule own_descent",)
    result = tt.run(experiment(), results=tmp_path / "results", device="cpu")
    assert result.report["evaluate_loss"].shape == (2, 2)
    plugins.PLUGINS.pop(plugin.digest)
