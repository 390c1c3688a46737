"""Piecewise linear networks as directed graphs: read from ONNX files and torch modules, written as layers of units."""
