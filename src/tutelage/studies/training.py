"""Training inside an experiment: on the device of its context, with its progress reported."""

from tutelage.lab import Context
from tutelage.networks import Network
from tutelage.training import Training, train
from tutelage.training.inputs import Inputs


def train_in(
    context: Context, teacher: Network, students: Network, inputs: Inputs, settings: Training, share: float = 1.0
) -> Network:
    """Students after training on the device of the context, brought back to the CPU.

    share: how much of the experiment's work this training is, for its progress.
    """
    done, device = [0], context.device

    def report(steps: int) -> None:
        done[0] += steps
        context.progress(share * done[0] / settings.length(inputs.train.shape[1]))

    there = Inputs(inputs.train.to(device), inputs.evaluate.to(device), inputs.seeds)
    networks = teacher.to(device), students.to(device)
    run = train(*networks, there, settings, keep="last", engine=context.engine, on_progress=report)
    return run.students.to("cpu")
