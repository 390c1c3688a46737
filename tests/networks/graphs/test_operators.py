"""The tables of operators: every entry names what its library has."""

import pytest
import torch

from tutelage.networks.graphs import torch_graph  # noqa: F401  (fills the tables)
from tutelage.networks.graphs.operators import ONNX, TORCH

onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize("name", sorted(ONNX))
def test_an_operator_of_onnx_reads_attributes_that_onnx_knows(name):
    history = onnx.defs.get_all_schemas_with_history()
    versions = [schema for schema in history if (schema.domain, schema.name) == ("", name)]
    assert versions
    assert ONNX[name].reads <= {attribute for schema in versions for attribute in schema.attributes}


@pytest.mark.parametrize("name", sorted(TORCH))
def test_an_operator_of_torch_exists(name):
    assert hasattr(torch.ops.aten, name)
