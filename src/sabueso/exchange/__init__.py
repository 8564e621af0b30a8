"""Runs to and from the tools that people use already: TensorBoard, MLflow, Parquet, trace viewers. One of them a file."""
