"""Networks written to ONNX are read back as the same function, by us and by the reference evaluator."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import Network, load, outputs, read_network
from tutelage.networks.exporting import save_network, save_onnx


def random_network(activation="relu", members=1, biases=True, dtype=torch.float32):
    torch.manual_seed(0)
    sizes = [(3, 5), (5, 4), (4, 2)]
    weights = tuple(torch.randn(members, a, b, dtype=dtype) for a, b in sizes)
    return Network(
        weights, tuple(torch.randn(members, b, dtype=dtype) for _, b in sizes) if biases else None, activation
    )


@pytest.mark.parametrize("activation", ["relu", "leaky", "linear"])
@pytest.mark.parametrize("biases", [True, False])
def test_what_is_written_is_read_again(activation, biases, tmp_path):
    network = random_network(activation, biases=biases)
    save_network(network, tmp_path / "net.onnx")
    again = read_network(tmp_path / "net.onnx")
    x = torch.randn(1, 20, 3)
    merged = activation == "linear"  # into one layer, whose products float32 would round
    assert again.dtype == (torch.float64 if merged else torch.float32)
    assert torch.allclose(outputs(again, x.to(again.dtype)).float(), outputs(network, x), atol=1e-6)


def test_other_evaluators_agree(tmp_path):
    onnx, evaluator = pytest.importorskip("onnx"), pytest.importorskip("onnx.reference")
    network = random_network("abs", dtype=torch.float64)
    save_onnx(network, tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    onnx.checker.check_model(model, full_check=True)
    x = torch.randn(20, 3, dtype=torch.float64)
    (found,) = evaluator.ReferenceEvaluator(model).run(None, {"input": x.numpy()})
    assert torch.allclose(torch.from_numpy(found), outputs(network, x[None])[0])


def test_members_and_names(tmp_path):
    several = random_network(members=2)
    with pytest.raises(TutelageError, match="an ONNX file holds one network, got 2 members"):
        save_network(several, tmp_path / "net.onnx")
    save_onnx(several, tmp_path / "net.onnx", member=1)
    assert torch.equal(read_network(tmp_path / "net.onnx").weights[0][0], several.weights[0][1])
    save_network(several, tmp_path / "net.safetensors")
    assert load(tmp_path / "net.safetensors").members == 2
    with pytest.raises(TutelageError, match=r"a network is written to a .safetensors or .onnx file, got '.*net.pt'"):
        save_network(several, tmp_path / "net.pt")
