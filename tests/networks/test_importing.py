"""Files of every kind are told apart, and pickles are never opened."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tutelage.errors import TutelageError
from tutelage.functions import same_function
from tutelage.networks import Network, read_any_network, read_network, save, save_network, to_network
from tutelage.networks.importing import tells_activation


def test_files_are_told_apart(tmp_path):
    ours = tmp_path / "ours.safetensors"
    save(Network((torch.ones(2, 3, 4), torch.ones(2, 4, 1)), activation="abs"), ours)
    assert read_network(ours).activation == "abs"
    theirs = tmp_path / "theirs.safetensors"
    save_file({"0.weight": torch.ones(4, 3), "2.weight": torch.ones(1, 4)}, theirs)
    assert read_network(theirs, "leaky", 0.3).slope == 0.3
    onnx = pytest.importorskip("onnx")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.ones((3, 2), np.float32), "w")],
    )
    onnx.save(onnx.helper.make_model(graph), tmp_path / "net.onnx")
    assert read_network(tmp_path / "net.onnx").widths == (3, 2)


def test_no_activation_is_ignored(tmp_path):
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    save(Network((torch.ones(2, 3, 4), torch.ones(2, 4, 1)), None, "leaky", 0.2), ours)
    save_file({"0.weight": torch.ones(4, 3), "2.weight": torch.ones(1, 4)}, theirs)
    assert (tells_activation(ours), tells_activation(theirs)) == (True, False)
    assert read_network(ours, "leaky", 0.2).slope == read_network(ours, "leaky").slope == 0.2
    with pytest.raises(TutelageError, match=r"ours.safetensors says that its units are leaky, not relu: leave the act"):
        read_network(ours, "relu")
    with pytest.raises(TutelageError, match=r"are leaky with slope 0.2, not 0.3: leave the slope out"):
        read_any_network(ours, slope=0.3)
    with pytest.raises(TutelageError, match=r"slope=0.3 has no effect on relu units"):
        read_network(theirs, slope=0.3)


def test_an_activation_that_is_assumed_is_warned_of(tmp_path):
    theirs = tmp_path / "theirs.safetensors"
    save_file({"0.weight": torch.ones(4, 3), "2.weight": torch.ones(1, 4)}, theirs)
    for read in (read_network, read_any_network, to_network, same_function_with_itself):
        with pytest.warns(UserWarning, match=r"theirs.safetensors does not say its activation and is read as relu"):
            read(theirs)
    assert read_network(theirs, "relu").activation == "relu"  # warnings are errors here
    save_file({"0.weight": torch.ones(4, 3)}, theirs)
    assert read_network(theirs).depth == 1  # and have no unit to assume an activation of


def same_function_with_itself(path):
    return same_function(path, path)


def test_no_activation_is_ignored_beside_an_onnx_file(tmp_path):
    pytest.importorskip("onnx")
    save_network(Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1))), tmp_path / "net.onnx")
    for read in (read_network, read_any_network):
        assert read(tmp_path / "net.onnx", "relu").widths == (3, 4, 1)
        with pytest.raises(TutelageError, match=r"net.onnx says that its units are relu, not leaky: leave the act"):
            read(tmp_path / "net.onnx", "leaky")
        with pytest.raises(TutelageError, match=r"are relu, which have no slope: leave the slope out"):
            read(tmp_path / "net.onnx", slope=0.1)


def test_an_onnx_file_of_another_name_is_recognised(tmp_path):
    pytest.importorskip("onnx")
    save_network(Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1))), tmp_path / "net.onnx")
    (tmp_path / "net.onnx").rename(tmp_path / "net.safetensors")
    with pytest.raises(TutelageError, match=r"looks like an ONNX file: rename it so that it ends in .onnx"):
        read_network(tmp_path / "net.safetensors")


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin"])
def test_a_pickle_is_never_opened(tmp_path, suffix):
    with pytest.raises(TutelageError, match="is a pickle"):
        read_network(tmp_path / f"model{suffix}")


def test_other_files_are_refused_with_their_path(tmp_path):
    with pytest.raises(TutelageError, match="there is no file"):
        read_network(tmp_path / "nothing.safetensors")
    (tmp_path / "text.safetensors").write_text("words")
    with pytest.raises(TutelageError, match="neither a safetensors nor an ONNX file"):
        read_network(tmp_path / "text.safetensors")
    save_file({"x": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(TutelageError, match=r"other.safetensors: there is no array"):
        read_network(tmp_path / "other.safetensors")


def written(folder, **layers):
    path = folder / "net.safetensors"
    save_file({f"{name}.weight": torch.full(size, float(i)) for i, (name, size) in enumerate(layers.items())}, path)
    return path


def test_a_file_keeps_no_order_and_sizes_tell_it(tmp_path):
    network = read_network(written(tmp_path, z=(5, 3), m=(4, 5), a=(2, 4)), "relu")
    assert network.widths == (3, 5, 4, 2)
    assert [float(w[0, 0, 0]) for w in network.weights] == [0, 1, 2]


@pytest.mark.parametrize("layers", [{"z": (4, 4), "a": (4, 4)}, {"z": (4, 8), "a": (8, 4)}, {"z": (5, 3), "a": (2, 4)}])
def test_a_file_whose_names_and_sizes_do_not_tell_the_order_is_an_error(tmp_path, layers):
    with pytest.raises(TutelageError, match=r"net.safetensors: "):
        read_network(written(tmp_path, **layers))
