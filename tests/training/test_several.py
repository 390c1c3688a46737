"""Students of several architectures in one call: the numbers of separate calls, in the order given."""

import pytest
import torch

import tutelage as tt
from tutelage import TutelageError


@pytest.fixture
def stacks(problem):
    def build(p, *hidden):
        return [
            tt.students.FanInNormal(hidden=h, activation="relu").build(p.teacher, p.seeds).to(dtype=torch.float64)
            for h in hidden
        ]

    return build


@pytest.mark.parametrize("engine", ["auto", "stacked"])
@pytest.mark.parametrize("sampling", ["replacement", "online"])
def test_different_architectures_are_the_bits_of_separate_runs(problem, stacks, engine, sampling):
    p = problem()
    several = stacks(p, 3, 8, (4, 5), (2, 2, 2))
    settings = {"steps": 40, "batch": 5, "learning_rate": (0.1, 0.05, 0.02), "record": [7], "engine": engine}
    runs = tt.train(p.teacher, several, p.inputs, **settings, sampling=sampling)
    assert [run.students.widths for run in runs.runs] == [s.widths for s in several]
    for stack, run in zip(several, runs.runs, strict=True):
        alone = tt.train(p.teacher, stack, p.inputs, **settings, sampling=sampling)
        assert (run.engine, run.steps) == (alone.engine, alone.steps)
        for step in run.steps:
            for a, b in zip(run.recorded[step].parameters, alone.recorded[step].parameters, strict=True):
                assert torch.equal(a, b)
        assert run.inputs is p.inputs


@pytest.mark.parametrize(("engine", "exact"), [("fused-cpu", True), ("stacked", False)])
def test_stacks_of_one_architecture_are_trained_as_one(problem, stacks, engine, exact):
    """On the engine 'stacked' the last bits depend on the number of members side by side (its docstring says why)."""
    p = problem()
    narrow, wide = stacks(p, 3, 8)
    wider = tt.students.SmallNormal(width_factor=2, scale=0.3).build(p.teacher, p.seeds)
    assert wider.widths == wide.widths
    second = p.recipe.build([5, 6, 7], p.distribution, torch.float64)
    settings = {"steps": 40, "batch": 5, "learning_rate": (0.1, 0.05, 0.02), "engine": engine, "later": {20: second}}
    runs = tt.train(p.teacher, [wide, narrow, wider], p.inputs, **settings)
    for stack, run in zip([wide, narrow, wider], runs.runs, strict=True):
        alone = tt.train(p.teacher, stack, p.inputs, **settings)
        for a, b in zip(run.students.parameters, alone.students.parameters, strict=True):
            torch.testing.assert_close(a, b, rtol=0 if exact else 1e-10, atol=0 if exact else 1e-12)


def test_data_sets_and_functions_teach_too(problem, stacks):
    p = problem()
    labels = tt.networks.outputs(p.teacher, p.inputs.train)
    data = tt.inputs.from_tensors(p.inputs.train[0], labels[0], seeds=p.seeds)
    for teacher, inputs in ((None, data), (lambda x: x[:, :3].sin(), p.inputs)):
        runs = tt.train(teacher, stacks(p, 3, 3, 5), inputs, steps=5)
        again = tt.train(teacher, stacks(p, 3, 3, 5)[1], inputs, steps=5)
        for a, b in zip(runs[1].students.parameters, again.students.parameters, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


def test_one_table_of_all(problem, stacks):
    p = problem()
    several = stacks(p, 3, (4, 5))
    runs = tt.train(p.teacher, several, p.inputs, steps=10, record=[5])
    table = tt.measures.table(runs, "evaluate_loss")
    assert table.num_rows == 2 * 3 * 3
    rows = table.to_pylist()
    for place, run in enumerate(runs.runs):
        values = tt.measure(run, "evaluate_loss")["evaluate_loss"]
        mine = [row for row in rows if row["student"] == place]
        assert [row["evaluate_loss"] for row in mine] == values.ravel().tolist()
        assert {row["widths"] for row in mine} == {"-".join(map(str, run.students.widths))}
        assert [(row["step"], row["seed"]) for row in mine] == [(t, s) for t in (0, 5, 10) for s in p.seeds]
    with pytest.raises(TutelageError, match="'best_correlation' has more than one value per member"):
        tt.measures.table(runs, "best_correlation")


def test_what_cannot_be_trained_together(problem, stacks):
    p = problem()
    (narrow,) = stacks(p, 3)
    for students, options, sentence in [
        ([], {}, "got a list of nothing"),
        ([narrow, 3], {}, "got a list of Network, int"),
        ([narrow, narrow[:2]], {}, "a stack has 2 students for 3 seeds"),
        ([narrow], {"on_record": print}, "on_record and batches know one stack"),
    ]:
        with pytest.raises(TutelageError, match=sentence):
            tt.train(p.teacher, students, p.inputs, steps=1, **options)
