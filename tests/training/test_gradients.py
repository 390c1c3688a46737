"""Gradients of a user: each against a loop in numpy, member by member, and what goes wrong is one sentence."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError, draws
from tutelage.lab import TeacherStudent
from tutelage.lab.experiment import plain
from tutelage.plugins import load_plugin
from tutelage.training import CURRICULA, GRADIENTS, LOSSES, Training, gradient
from tutelage.training.settings import Supported

FILE = Path(__file__).parents[2] / "examples" / "own_gradients.py"
RATE, STEPS = 0.05, 10


REGISTRIES = (CURRICULA, GRADIENTS, LOSSES)


@pytest.fixture
def registered():
    """Functions of a test are gone after it."""
    before = [dict(registry) for registry in REGISTRIES]
    yield gradient
    for registry, functions in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(functions)


@pytest.fixture
def shipped(registered):
    for registry in REGISTRIES:  # an example that ran in this process may have registered some
        for name in ("feedback_alignment", "forward_gradient", "perceptron", "huber", "short_first"):
            registry.pop(name, None)
    return runpy.run_path(str(FILE), run_name="own_gradients_of_the_example")


def normals(seed, place, shape, step):
    count = int(np.prod(shape))
    key = draws.keys([seed], f"gradient-{place}")
    return draws.normals(key, count, start=step * count)[0].numpy().reshape(shape)


def passed(arrays, x, y):
    """Activations, their slopes and errors over the batch of a relu network, its arrays [w, v] or [w, v, b, c]."""
    w, v, b, c = (*arrays, 0, 0) if len(arrays) == 2 else arrays
    u = x @ w + b
    return np.maximum(u, 0), (u > 0) * 1.0, (np.maximum(u, 0) @ v + c - y) / len(x)


def back(arrays, x, y, by):
    f, slopes, error = passed(arrays, x, y)
    sent = error @ by.T * slopes
    both = [x.T @ sent, f.T @ error]
    return both if len(arrays) == 2 else [*both, sent.sum(0), error.sum(0)]


def feedback_alignment(arrays, x, y, seed, step):
    return back(arrays, x, y, normals(seed, 0, arrays[1].shape, 0))


def forward_gradient(arrays, x, y, seed, step):
    ahead = [normals(seed, place, a.shape, step) for place, a in enumerate(arrays)]
    slope = sum((g * z).sum() for g, z in zip(back(arrays, x, y, arrays[1]), ahead, strict=True))
    return [slope * z for z in ahead]


def natural(arrays, x, y, seed, step):
    """The Fisher information from one output and sample at a time, by back-propagating an error of 1."""
    size, outputs = sum(a.size for a in arrays), y.shape[1]
    fisher = 0.1 * np.eye(size)
    for row in x:
        for place in range(outputs):
            _, _, error = passed(arrays, row[None], np.zeros((1, outputs)))
            wanted = error.copy()
            wanted[0, place] -= 1  # so that the error is 1 there and 0 elsewhere
            flat = np.concatenate([g.ravel() for g in back(arrays, row[None], wanted, arrays[1])])
            fisher += np.outer(flat, flat) / len(x)
    slope = np.concatenate([g.ravel() for g in back(arrays, x, y, arrays[1])])
    move = np.linalg.solve(fisher, slope)
    return [
        p.reshape(a.shape) for p, a in zip(np.split(move, np.cumsum([a.size for a in arrays])), arrays, strict=False)
    ]


LOOPS = {
    "feedback_alignment": (feedback_alignment, {}, False),
    "forward_gradient": (forward_gradient, {}, True),
    "natural": (natural, {"damping": 0.1}, True),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_gradient_is_its_loop(problem, shipped, name):
    loop, options, bias = LOOPS[name]
    p = problem(bias=bias, train=12)
    called = {"name": shipped.get(name, name), **options}
    run = tt.train(p.teacher, p.students, p.inputs, steps=STEPS, batch="all", learning_rate=RATE, gradient=called)
    assert run.engine == "stacked"
    labels = tt.networks.outputs(p.teacher, p.inputs.train).numpy()
    for member, seed in enumerate(p.seeds):
        arrays = [a[member].numpy().copy() for a in p.students.parameters]
        for step in range(STEPS):
            slopes = loop(arrays, p.inputs.train[member].numpy(), labels[member], seed, step)
            arrays = [a - RATE * g for a, g in zip(arrays, slopes, strict=True)]
        for mine, wanted in zip(run.students.parameters, arrays, strict=True):
            np.testing.assert_allclose(mine[member].numpy(), wanted, rtol=1e-9, atol=1e-11)


def test_the_perceptron_rule_is_its_loop_and_separates(shipped, random_network):
    teacher = random_network((5, 1), members=2, bias=False)
    students = random_network((5, 1), members=2, seed=1, bias=False)
    inputs = tt.inputs.Gaussian(train=30, evaluate=1).draw(teacher, [0, 1])
    settings = {"batch": "all", "learning_rate": 3.0, "gradient": shipped["perceptron"]}
    run = tt.train(teacher, students, inputs, steps=400, **settings)
    for member in range(2):
        x, w = inputs.train[member].numpy(), students.weights[0][member].numpy().copy()
        signs = np.sign(x @ teacher.weights[0][member].numpy())
        for _ in range(400):
            for_all = [s * row for row, s, wrong in zip(x, signs, x @ w * signs <= 0, strict=True) if wrong]
            w = w + 3.0 * sum(for_all, np.zeros(5))[:, None] / len(x)
        np.testing.assert_allclose(run.students.weights[0][member].numpy(), w, rtol=1e-9, atol=1e-11)
        assert (x @ w * signs > 0).all()  # Novikoff's theorem: there is a separating vector, so the rule finds one


def test_back_propagation_as_a_gradient_is_gradient_descent(problem, registered):
    """With any optimiser, frozen layers, batches and a run that is cut in two."""

    @gradient
    def back_propagation(students, points, labels, step):
        arrays = [a.detach().requires_grad_() for a in students.parameters]
        with torch.enable_grad():
            moving = iter(arrays)
            outputs = tt.networks.outputs(students.map(lambda _: next(moving)), points)
            return torch.autograd.grad((outputs - labels).square().sum((1, 2)).sum() / 2 / points.shape[1], arrays)

    p = problem(widths=(5, 4, 4, 3))
    for optimiser in ({"kind": "sgd"}, {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.1}, {"kind": "adam"}):
        settings = {"steps": 30, "batch": 8, "learning_rate": (0.1, 0.05, 0.02), "optimiser": optimiser, "frozen": 2}
        usual = tt.train(p.teacher, p.students, p.inputs, **settings, engine="stacked")
        for record in ((), (7, 8, 20)):
            ours = tt.train(p.teacher, p.students, p.inputs, **settings, gradient=back_propagation, record=record)
            for a, b in zip(usual.students.parameters, ours.students.parameters, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_a_natural_gradient_does_not_depend_on_the_scale_of_weights(random_network):
    """Without damping, units a times as long with fan-outs 1/a move so that the function moves the same."""
    teacher = random_network((3, 2, 2), members=1, bias=False, activation="erf")
    students = random_network((3, 2, 2), members=1, seed=1, bias=False, activation="linear")
    # a linear network of one unit per output has a regular Fisher matrix up to the scale, so damping stays tiny
    inputs = tt.inputs.Gaussian(train=50, evaluate=1).draw(teacher, [0])
    v, w = students.weights
    scaled = students.map(lambda a: a * (3.0 if a is v else 1 / 3.0))
    ends = []
    for start in (students, scaled):
        options = {"name": "natural", "damping": 1e-10}
        run = tt.train(teacher, start, inputs, steps=3, batch="all", learning_rate=1e-3, gradient=options)
        a, b = run.students.weights
        ends.append((a @ b) - (v @ w))
    difference = (ends[0] - ends[1]).abs().max() / ends[0].abs().max()
    assert difference < 0.01  # of second order in the rate; plain descent differs by far more
    assert ends[0].abs().max() > 1e-4


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (lambda a: a[:-1], r"must return arrays of shape \[\[3, 6, 8\]"),
        (lambda a: [b.tolist() for b in a], r"got \['list'"),
    ],
)
def test_what_does_not_fit(problem, registered, returned, sentence):
    p = problem()

    @gradient
    def wrong(students, points, labels, step):
        return returned(list(students.parameters))

    with pytest.raises(TutelageError, match=f"the gradient 'wrong' .*{sentence}"):
        tt.train(p.teacher, p.students, p.inputs, steps=2, gradient=wrong)


def test_settings_of_gradients(shipped):
    by_table = Training(steps=1, gradient={"name": "natural", "damping": 0.5})
    assert by_table.gradient.options == {"damping": 0.5}
    assert Training(**plain(by_table)) == by_table
    with pytest.raises(TutelageError, match="unknown gradient 'natrual'; did you mean 'natural'"):
        Training(steps=1, gradient="natrual")
    with pytest.raises(TutelageError, match="unknown option of the gradient 'natural' 'dampening'"):
        Training(steps=1, gradient={"name": "natural", "dampening": 0.5})


def test_other_engines_say_why_not(problem):
    p = problem(dtype=torch.float32)
    run = tt.train(p.teacher, p.students, p.inputs, steps=2, gradient="natural")
    assert "not fused-cpu: its loops are compiled, and the gradient 'natural' is a function" in run.why
    with pytest.raises(TutelageError, match="the engine 'fused-cpu' cannot do this"):
        tt.train(p.teacher, p.students, p.inputs, steps=2, gradient="natural", engine="fused-cpu")


def test_trainers_with_an_objective_of_their_own_say_so():
    with pytest.raises(TutelageError, match=r"Training.gradient=.* is not supported by"):
        Supported("this trainer", "epochs", "epochs").check(Training(epochs=1, gradient="natural"))


def test_stored_experiments_have_the_file_in_their_hash(registered, tmp_path):
    def experiment(**training):
        return TeacherStudent(
            teacher={"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2},
            student={"kind": "small-normal"},
            inputs={"kind": "gaussian", "train": 40, "evaluate": 30},
            seeds=2,
            training={"steps": 5, **training},
        )

    def nowhere(students, points, labels, step):
        return students.parameters

    gradient(nowhere)
    with pytest.raises(TutelageError, match="the gradient 'nowhere' comes from no plugin file"):
        experiment(gradient="nowhere").hash  # noqa: B018
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from tutelage.training import curriculum, gradient, loss\n"
        "@gradient\ndef my_gradient(students, points, labels, step):\n    return list(students.parameters)\n"
        "@loss\ndef my_loss(labels, outputs):\n    return (labels - outputs).pow(4).sum(-1)\n"
        "@curriculum\ndef my_course(points, labels):\n    return lambda u, done: (u * points.shape[1]).long() // 2\n"
    )
    loaded = load_plugin(plugin)
    assert loaded.names == ("gradient my_gradient", "loss my_loss", "curriculum my_course")
    settings = ({}, {"gradient": "my_gradient"}, {"loss": "my_loss"}, {"curriculum": "my_course"})
    experiments = [experiment(**chosen) for chosen in settings]
    assert len({e.hash for e in experiments}) == 4
    assert [e.description().get("plugins") for e in experiments] == [None, *[[loaded.digest]] * 3]
    results = tt.run(experiments, results=tmp_path / "results")
    losses = [r.report["evaluate_loss"][-1] for r in results]
    assert len({float(value[0]) for value in losses}) == 4
