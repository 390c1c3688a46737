"""The text format of the ACAS Xu networks."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import outputs, read_network
from tutelage.networks.nnet_files import load_nnet

TEXT = """// a comment
2,2,1,2,
2,2,1,
0,
-1.0,-1.0,
1.0,1.0,
0.0,0.0,0.0,
1.0,1.0,1.0,
1.0,-1.0,
0.5,2.0,
0.25,
-1.0,
1.0,3.0,
0.125,
"""


def test_weights_and_biases_are_read_row_by_row(tmp_path):
    path = tmp_path / "net.nnet"
    path.write_text(TEXT)
    network = read_network(path)
    x = torch.tensor([[1.0, 0.5]], dtype=torch.float64)
    assert outputs(network, x).item() == 0.75 + 3 * 0.5 + 0.125


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not an .nnet file"),
        (TEXT.replace("0.125,\n", ""), "biases of layer 2"),
        (TEXT.replace("0.5,2.0,", "0.5,"), "weights of layer 1"),
        (TEXT.replace("0.5,2.0,", "0.5,two,"), "not an .nnet file"),
        (TEXT.replace("0.5,2.0,", "0.5,inf,"), "not finite"),
        (TEXT.replace("2,2,1,\n", "2,0,1,\n"), "widths"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path, text, words):
    path = tmp_path / "net.nnet"
    path.write_text(text)
    with pytest.raises(TutelageError, match=words):
        load_nnet(path)
