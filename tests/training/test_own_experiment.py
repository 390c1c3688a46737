"""The experiments that people write themselves: other teachers, data sets, depths, batches, stopping and progress."""

import numpy as np
import pytest
import torch
from torch import nn

import tutelage as tt
from tutelage import TutelageError
from tutelage.lab.experiment import plain
from tutelage.networks import BlackBox, Network, outputs, save, to_module
from tutelage.training.inputs import from_loader, from_tensors

SEEDS = range(3)


def students(d=4, c=2, hidden=6, **options):
    shape = BlackBox(None, d, c, 3, torch.float64)
    return tt.students.FanInNormal(hidden=hidden, activation="tanh", **options).build(shape, SEEDS)


def gaussian(d=4, train=50, evaluate=40):
    return tt.inputs.Gaussian(train=train, evaluate=evaluate).draw(BlackBox(None, d, 2, 3, torch.float64), SEEDS)


# ------------------------------------------------------------------------------------------------------- teachers
def test_one_teacher_is_broadcast_to_all_students():
    one = tt.teachers.Normal(inputs=4, hidden=3, outputs=2).build([7], dtype=torch.float64)
    inputs = tt.inputs.Gaussian(train=20, evaluate=20).draw(one, SEEDS)
    run = tt.train(one, students(), inputs, steps=20)
    every = tt.train(one.expand(3), students(), inputs, steps=20)
    assert all(torch.equal(a, b) for a, b in zip(run.students.parameters, every.students.parameters, strict=True))


def test_a_stack_of_layers_becomes_a_network_and_its_units_are_measured():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()
    run = tt.train(module, students(), gaussian(), steps=20, learning_rate=0.05)
    assert isinstance(run.teacher, Network)
    assert run.teacher.activation == "tanh"
    assert tt.measure(run)["best_correlation"].shape == (2, 3, 3)


def test_any_module_labels_the_points_and_is_left_in_its_mode():
    module = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 9), nn.Dropout(0.5), nn.Linear(9, 2)).double()
    module[0].eval()
    inputs = gaussian()
    run = tt.train(module, students(), inputs, steps=300, learning_rate=0.1)
    assert isinstance(run.teacher, BlackBox)
    assert [m.training for m in module.modules()] == [True, False, True, True, True]
    report = tt.measure(run)
    assert "best_correlation" not in report.values
    assert (report["evaluate_loss"][1] < 0.5 * report["evaluate_loss"][0]).all()
    module.eval()
    got = 0.5 * (outputs(run.students, inputs.evaluate) - module(inputs.evaluate)).square().sum(2).mean(1)
    np.testing.assert_allclose(report["evaluate_loss"][1], got.detach().numpy())


def test_a_function_is_a_teacher_with_fresh_samples():
    run = tt.train(lambda x: x[:, :2] * x[:, 2:], students(), gaussian(train=1), steps=50, sampling="online", batch=8)
    assert run.engine == "fused-cpu"
    with pytest.raises(TutelageError, match="the measure 'strength' compares with units of the teacher"):
        tt.measure(run, ["evaluate_loss", "strength"])


def test_a_module_that_does_not_fit_is_named():
    with pytest.raises(TutelageError, match=r"cannot be evaluated on inputs \[1, 4\]"):
        tt.train(nn.Linear(5, 2).double(), students(), gaussian(), steps=1)
    with pytest.raises(TutelageError, match=r"the teacher is torch\.float32"):
        tt.train(nn.Linear(4, 2), students(), gaussian(), steps=1)
    with pytest.raises(TutelageError, match=r"must return outputs \[1, C\].*got \[1\]"):
        tt.train(lambda x: x.sum(1), students(), gaussian(), steps=1)


# ------------------------------------------------------------------------------------------------------ data sets
def test_a_data_set_needs_no_teacher():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(60, 4, generator=draw, dtype=torch.float64)
    inputs = from_tensors(x[:50], x[:50, :2], seeds=SEEDS, evaluate=(x[50:], x[50:, :2]))
    run = tt.train(None, students(), inputs, steps=500, batch=10, learning_rate=0.05)
    report = tt.measure(run)
    wanted = 0.5 * (outputs(run.students, x[50:]) - x[50:, :2]).square().sum(2).mean(1)
    np.testing.assert_allclose(report["evaluate_loss"][1], wanted.numpy())
    with pytest.raises(TutelageError, match="labels for its own inputs only"):
        tt.train(None, students(), inputs, steps=5, batches=lambda step: x[:16])
    with pytest.raises(TutelageError, match="needs a distribution to draw from"):
        tt.train(None, students(), inputs, steps=5, sampling="online")


def test_a_loader_of_classes_becomes_columns():
    x, y = torch.randn(40, 2, 2), torch.arange(40) % 3
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=7)
    inputs = from_loader(loader, seeds=SEEDS)
    assert inputs.train.shape == (3, 40, 4)
    assert torch.equal(inputs.train_labels[1].argmax(1), y)
    start = tt.students.FanInNormal(hidden=9).build(BlackBox(None, 4, 3, 3), SEEDS)
    assert tt.train(None, start, inputs, steps=10, loss="cross-entropy").students.outputs == 3
    with pytest.raises(TutelageError, match="must give batches x or"):
        from_loader([{"x": x}], seeds=SEEDS)
    with pytest.raises(TutelageError, match=r"must have shape \[40\] or \[40, C\].*got \[7\]"):
        from_tensors(x, y[:7], seeds=SEEDS)
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        from_tensors(x, seeds=5)


# --------------------------------------------------------------------------------------------------- architecture
def test_students_of_another_depth_are_trained_and_measured():
    teacher = tt.teachers.Normal(inputs=4, hidden=3, outputs=2, activation="tanh").build(SEEDS, dtype=torch.float64)
    deep = students(hidden=(5, 6))
    run = tt.train(teacher, deep, tt.inputs.Gaussian(train=50, evaluate=30).draw(teacher, SEEDS), steps=50)
    report = tt.measure(run)
    assert report["best_correlation"].shape == (2, 3, 3)
    assert report["specialisation"].shape == (2, 3, 11)


def test_heads_and_layer_scales_are_as_given():
    built = students(head=1.0, layer_scales=(2.0, 0.5), bias=False)
    plain = students(bias=False)
    assert built.biases is None
    assert torch.equal(built.weights[0], 2 * plain.weights[0])
    assert bool((built.weights[1] == 0.5).all())
    with pytest.raises(TutelageError, match="layer_scales has 3 entries for 2 layers"):
        students(layer_scales=(1, 2, 3))
    with pytest.raises(TutelageError, match="give 'hidden'"):
        tt.students.SmallNormal().build(BlackBox(None, 4, 2, 3), SEEDS)


def test_frozen_layers_stay_as_they_are():
    inputs, start = gaussian(), students()
    run = tt.train(lambda x: x[:, :2], start, inputs, steps=20, frozen=(-1,), optimiser={"kind": "adam"})
    assert torch.equal(run.students.weights[1], start.weights[1])
    assert torch.equal(run.students.biases[1], start.biases[1])
    assert not torch.equal(run.students.weights[0], start.weights[0])
    with pytest.raises(TutelageError, match="frozen names layer 3: layers are 1 to 2"):
        tt.train(lambda x: x[:, :2], start, inputs, steps=20, frozen=(3,))


# ----------------------------------------------------------------------------------------------- batches and steps
def test_the_users_batches_are_trained_on():
    start, inputs = students(), gaussian()
    x = torch.randn(3, 30, 16, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def teacher(points):
        return points[:, :2].sin()

    seen = []
    run = tt.train(
        teacher, start, inputs, steps=30, batches=lambda step: seen.append(step) or x[:, step], engine="stacked"
    )
    labelled = tt.train(
        teacher, start, inputs, steps=30, engine="stacked", batches=lambda step: (x[:, step], x[:, step, :, :2].sin())
    )
    assert set(seen) == set(range(30))
    for a, b in zip(run.students.parameters, labelled.students.parameters, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)
    with pytest.raises(TutelageError, match=r"batches\(0\) must return points of shape \[16, 4\].*got \[3, 4\]"):
        tt.train(teacher, start, inputs, steps=30, batches=lambda step: x[0, 0, :3])


def test_members_stop_by_themselves_and_the_others_go_on():
    teacher = tt.teachers.Normal(inputs=4, hidden=2, outputs=2, activation="tanh").build(SEEDS, dtype=torch.float64)
    inputs = tt.inputs.Gaussian(train=40, evaluate=10).draw(teacher, SEEDS)
    how = {"steps": 3000, "learning_rate": (0.3, 0.001, 0.3), "batch": "all"}
    stop = {"kind": "loss-below", "threshold": 1e-3, "every": 100}
    run = tt.train(teacher, students(), inputs, stop=stop, record=[1000], **how)
    whole = tt.train(teacher, students(), inputs, **how)
    assert run.stopped_at[1] == -1
    assert run.stopped_at[0] > 0
    assert run.stopped_at[0] % 100 == 0
    for a, b in zip(run.students.parameters, whole.students.parameters, strict=True):
        torch.testing.assert_close(a[1], b[1], rtol=1e-10, atol=1e-12)
    early = tt.train(teacher, students(), inputs, **how | {"steps": int(run.stopped_at[0])})
    for a, b in zip(run.students.parameters, early.students.parameters, strict=True):
        torch.testing.assert_close(a[0], b[0], rtol=1e-10, atol=1e-12)


def test_a_plateau_stops_after_its_patience():
    stop = {"kind": "plateau", "share": 0.5, "patience": 3, "every": 10}
    run = tt.train(lambda x: x[:, :2], students(), gaussian(), steps=1000, learning_rate=1e-6, stop=stop)
    assert run.stopped_at.tolist() == [40, 40, 40]  # the first look sets the best loss, three more wait


@pytest.mark.parametrize(("every", "steps"), [(1000, 25), (10, 25), (25, 25)])
def test_the_rule_is_looked_at_once_more_at_the_last_step(every, steps):
    how = {"steps": steps, "learning_rate": 1e-6}
    looks = -(-steps // every)
    stop = {"kind": "plateau", "share": 0.5, "patience": max(1, looks - 1), "every": every}
    below = {"kind": "loss-below", "threshold": 1e9, "every": every}
    run = tt.train(lambda x: x[:, :2], students(), gaussian(), stop=stop, **how)
    assert run.stopped_at.tolist() == [steps if looks > 1 else -1] * 3  # one look alone sets the best loss
    early = tt.train(lambda x: x[:, :2], students(), gaussian(), stop=below, **how)
    assert early.stopped_at.tolist() == [min(every, steps)] * 3


def test_progress_names_the_engine_once(capfd):
    run = tt.train(lambda x: x[:, :2], students(), gaussian(), steps=30, progress=True)
    shown = capfd.readouterr().err
    assert shown.count("engine: fused-cpu") == 1
    assert "30 steps" in shown
    assert run.why


# ---------------------------------------------------------------------------------------------------------- YAML
BASE = {
    "teacher": {
        "kind": "normal",
        "inputs": 6,
        "hidden": 2,
        "outputs": 1,
        "head": 1.0,
        "activation": "erf",
        "shared": True,
    },
    "student": {"kind": "fan-in-normal", "hidden": 4, "activation": "erf", "bias": False, "head": 1.0},
    "inputs": {"kind": "gaussian", "train": 10, "evaluate": 100},
    "training": {
        "steps": 200,
        "batch": 2,
        "sampling": "online",
        "label_noise": 0.1,
        "frozen": [2],
        "optimiser": {"kind": "sgd", "momentum": 0.5},
        "schedule": {"kind": "inverse", "after": 100, "warm_up": 10},
        "stop": {"kind": "loss-below", "threshold": 1e-9},
    },
    "record": {
        "every": 100,
        "measures": ["evaluate_loss", "overlap", "population_loss", "gradient_norm", "weight_drift"],
    },
    "seeds": 3,
}


def test_the_same_names_serve_in_yaml(tmp_path):
    from tutelage.lab import TeacherStudent, from_yaml, to_yaml

    experiment = TeacherStudent(**BASE)
    (tmp_path / "own.yaml").write_text(to_yaml(experiment))
    assert from_yaml(tmp_path / "own.yaml").hash == experiment.hash
    result = tt.run(experiment, results=tmp_path / "results")
    assert result.report["overlap"].shape == (3, 3, 2, 4)
    assert result.report["population_loss"].shape == (3, 3)
    teacher = result.teacher()
    assert torch.equal(teacher.weights[0][0], teacher.weights[0][2])
    assert result.weights().weights[1].unique().tolist() == [1.0]
    table = tt.results(tmp_path / "results")
    assert {"evaluate_loss", "population_loss", "step"} <= set(table.column_names)


def test_a_teacher_and_a_data_set_from_files(tmp_path):
    from tutelage.lab import TeacherStudent

    module = nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 1))
    save(tt.networks.from_module(module), tmp_path / "teacher.safetensors")
    of_file = BASE | {"teacher": {"kind": "file", "path": str(tmp_path / "teacher.safetensors")}, "record": {}}
    experiment = TeacherStudent(**of_file)
    before = experiment.hash
    result = tt.run(experiment, results=tmp_path / "results")
    torch.testing.assert_close(to_module(result.teacher(), 2)[0].weight, module[0].weight)
    with torch.no_grad():
        module[0].weight += 1
    save(tt.networks.from_module(module), tmp_path / "teacher.safetensors")
    assert TeacherStudent(**of_file).hash != before

    x = np.random.default_rng(0).standard_normal((80, 6)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=x[:, :1] ** 2)
    data = BASE | {
        "teacher": {"kind": "none", "inputs": 6, "outputs": 1},
        "inputs": {"kind": "file", "path": str(tmp_path / "data.npz"), "train": 60, "evaluate": 20},
        "training": {"steps": 300, "batch": 5, "learning_rate": 0.05},
        "record": {},
    }
    result = tt.run(TeacherStudent(**data), results=tmp_path / "results")
    assert set(result.report.values) == {"evaluate_loss", "fan_out"}
    got = outputs(result.weights(), torch.from_numpy(x[-20:]))
    wanted = 0.5 * (got - torch.from_numpy(x[-20:, :1] ** 2)).square().sum(2).mean(1)
    np.testing.assert_allclose(result.report["evaluate_loss"][-1], wanted.numpy(), rtol=1e-5)
    with pytest.raises(TutelageError, match="has no weights to read"):
        result.teacher()


def test_settings_that_do_not_fit_are_named():
    from tutelage.lab import TeacherStudent

    def error(**changes):
        with pytest.raises(TutelageError) as caught:
            TeacherStudent(**BASE | changes)
        return str(caught.value)

    none = {"kind": "none", "inputs": 6, "outputs": 1}
    assert "compares with units of the teacher" in error(teacher=none, training={"steps": 5})
    assert "cannot be 'online' without a teacher" in error(teacher=none)
    assert "give both the same" in error(student=BASE["student"] | {"parameterisation": "mup"})
    assert "frozen names layer 4" in error(training={"steps": 5, "frozen": [4]})
    assert "unknown activation 'errf'; did you mean 'erf'?" in error(student=BASE["student"] | {"activation": "errf"})
    assert "sampling 'online' has no epochs" in error(training={"epochs": 5, "sampling": "online"})
    assert "give batch 'all'" in error(training={"steps": 5, "optimiser": {"kind": "gradient-flow"}})
    assert "'temperature' belongs to the loss" in error(training={"steps": 5, "temperature": 2})
    assert "flips change labels" in error(training={"steps": 5, "input_noise": {"kind": "flips", "share": 0.1}})


# ----------------------------------------------------------------------------------------------------- the inputs
def test_covariances_are_those_asked_for():
    shape = BlackBox(None, 3, 1, 1, torch.float64)
    wanted = ((2.0, 0.5, 0.0), (0.5, 1.0, 0.3), (0.0, 0.3, 0.5))
    x = tt.inputs.GaussianCovariance(covariance=wanted, mean=(1, 0, 0), train=200_000).draw(shape, [0]).train[0]
    np.testing.assert_allclose(np.cov(x.numpy().T), wanted, atol=0.03)
    assert abs(x.mean(0) - torch.tensor([1.0, 0, 0])).max() < 0.02
    decayed = tt.inputs.GaussianCovariance(decay=1.0, train=100_000).draw(shape, [0]).train[0]
    moved = tt.inputs.GaussianCovariance(decay=1.0, mean=(1, 0, 2), train=100_000).draw(shape, [0]).train[0]
    assert torch.allclose(moved - decayed, torch.tensor([1.0, 0.0, 2.0], dtype=moved.dtype), atol=1e-6)
    np.testing.assert_allclose(decayed.var(0).numpy(), [1, 1 / 2, 1 / 3], rtol=0.03)
    with pytest.raises(TutelageError, match="positive semidefinite"):
        tt.inputs.GaussianCovariance(covariance=((1.0, 2.0), (2.0, 1.0)))
    with pytest.raises(TutelageError, match="give one of covariance, variances and decay, got none"):
        tt.inputs.GaussianCovariance()
    with pytest.raises(TutelageError, match="is for 2 inputs and there are 3"):
        tt.inputs.GaussianCovariance(variances=(1.0, 1.0)).draw(shape, [0])


def test_mixtures_cubes_and_manifolds_look_as_described():
    shape = BlackBox(None, 20, 1, 2, torch.float64)
    mixture = tt.inputs.Mixture(clusters=3, distance=5.0, std=0.0, train=900).draw(shape, [0, 1]).train
    assert len(mixture[0].unique(dim=0)) == 3
    torch.testing.assert_close(mixture.norm(dim=2), torch.full((2, 900), 5.0, dtype=torch.float64))
    corners = tt.inputs.Hypercube(side=0.5, train=100).draw(shape, [0, 1]).train
    assert corners.unique().tolist() == [-0.5, 0.5]
    manifold = tt.inputs.HiddenManifold(latent=2, fold="linear", train=100).draw(shape, [0, 1]).train
    assert torch.linalg.matrix_rank(manifold[0]) == 2
    signs = tt.inputs.HiddenManifold(latent=2, train=100).draw(shape, [0, 1]).train
    assert signs.unique().tolist() == [-1.0, 1.0]


def test_a_second_teacher_takes_over_in_a_stored_experiment(tmp_path):
    """As in Python, with every measure against both teachers, in the tables too."""
    second = {"kind": "levels", "inputs": 6, "hidden": 3, "outputs": 2}
    experiment = tt.TeacherStudent(
        teacher=second, student={"kind": "small-normal", "width_factor": 2}, precision="float64", seeds=3,
        inputs={"kind": "gaussian", "train": 60, "evaluate": 40}, training={"steps": 40, "batch": 4},
        record={"at": (20,), "measures": ("evaluate_loss", "overlap"), "weights": "all"},
        later={"step": 20, "teacher": second},
    )  # fmt: skip
    assert experiment.hash != experiment.model_copy(update={"later": None}).hash
    result = tt.run(experiment, results=tmp_path)
    teacher, other = result.teacher(), result.teacher(second=True)
    assert not torch.equal(teacher.weights[0], other.weights[0])
    inputs = experiment.inputs.draw(teacher, experiment.seeds)
    run = tt.train(teacher, result.weights(0), inputs, steps=40, batch=4, later={20: other}, record=[20])
    torch.testing.assert_close(run.students.weights[0], result.weights().weights[0], rtol=0, atol=0)
    for name in ("evaluate_loss", "overlap"):
        for known, end in ((teacher, ""), (other, "_2")):
            np.testing.assert_array_equal(result.report[name + end], tt.measure(run, name, teacher=known)[name])
    table = tt.query(
        "SELECT step, evaluate_loss, evaluate_loss_2 FROM members WHERE member = 1 ORDER BY step", tmp_path
    )
    assert table["evaluate_loss_2"].to_pylist() == result.report["evaluate_loss_2"][:, 1].tolist()
    assert tt.TeacherStudent(**plain(experiment)) == experiment


@pytest.mark.parametrize(
    ("later", "sentence"),
    [
        ({"step": 5}, r"'later.teacher' is missing|'teacher' is missing"),
        ({"step": 99, "teacher": BASE["teacher"]}, "'later.step' must be below the"),
        ({"step": 1, "teacher": BASE["teacher"] | {"inputs": 7}}, "'later.teacher' has the layers"),
    ],
)
def test_second_teachers_that_do_not_fit(later, sentence):
    with pytest.raises(TutelageError, match=sentence):
        tt.TeacherStudent(**BASE | {"training": {"steps": 20}, "later": later})
