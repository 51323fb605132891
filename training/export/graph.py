"""The ONNX graph that is used as it is: around the plain network the form of its samples before, and its answers behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.export.model_json import GraphFacts, GraphValue
from training.verify.answers import Answering
from training.verify.kept import INPUTS, LENGTHS, LOGITS, PLAIN_INPUT

BATCH = "batch"


class _Graph:
    """Nodes that are added to a graph, by short words."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self._count = 0

    def constant(self, value: NDArray[Any] | Sequence[str]) -> str:
        name = self._name()
        if isinstance(value, np.ndarray):
            self.constants.append(numpy_helper.from_array(value, name))
        else:
            texts: Any = [each.encode() for each in value]
            self.constants.append(helper.make_tensor(name, TensorProto.STRING, [len(texts)], texts))
        return name

    def add(self, kind: str, *inputs: str, called: str = "", **attributes: Any) -> str:
        """A node; returns the name of its output, ``called`` where it is given."""
        name = called or self._name()
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def give(self, name: str, dtype: int, *shape: int | str) -> None:
        """``name`` is an output, of a batch of ``shape``."""
        self.outputs.append(helper.make_tensor_value_info(name, dtype, [BATCH, *shape]))

    def _name(self) -> str:
        self._count += 1
        return f"answer_{self._count}"


def complete_graph(
    plain: onnx.ModelProto, answering: Answering, layout: str, with_texts: bool = True
) -> onnx.ModelProto:
    """``plain`` takes samples (n, *shape) and answers logits. The graph made of it takes images as uint8 (n, H, W, C), tokens with how
    many of them are of the text, and other samples as they are; it answers what ``answering`` says, by names, and the logits.
    ``with_texts``: names of classes are among the answers; without them there are their numbers alone."""
    model = onnx.ModelProto()
    model.CopyFrom(plain)
    graph, made = model.graph, _Graph()
    first = graph.input[0]
    _change_inputs(graph, first, layout)
    add = {
        "class": _answer_class,
        "labels": _answer_labels,
        "values": _answer_values,
        "tasks": _answer_tasks,
        "mask": _answer_mask,
        "tokens": _answer_tokens,
        "ranks": _answer_ranks,
        "embedding": _answer_embedding,
    }[answering.kind]
    shape = [each.dim_param or each.dim_value for each in graph.output[0].type.tensor_type.shape.dim][1:]
    add(made, answering, shape, with_texts)
    graph.node.extend(made.nodes)
    graph.initializer.extend(made.constants)
    logits = graph.output.pop()
    graph.output.extend([*made.outputs, logits])
    return model


def _change_inputs(graph: onnx.GraphProto, first: Any, layout: str) -> None:
    """Give the input the name and the form of the layout; beside tokens their number in each text is one, too."""
    kind = first.type.tensor_type
    sides = [each.dim_param or each.dim_value for each in kind.shape.dim]
    name = INPUTS[layout]
    graph.input.pop()
    if layout == "image":
        batch, channels, height, width = sides
        graph.input.append(helper.make_tensor_value_info(name, kind.elem_type, [batch, height, width, channels]))
        graph.node.insert(0, helper.make_node("Transpose", [name], [PLAIN_INPUT], perm=[0, 3, 1, 2]))
        return
    graph.input.append(helper.make_tensor_value_info(name, kind.elem_type, sides))
    graph.node.insert(0, helper.make_node("Identity", [name], [PLAIN_INPUT]))
    if layout == "tokens":
        graph.input.append(helper.make_tensor_value_info(LENGTHS, TensorProto.INT64, [sides[0]]))


_MOST_BYTES = 1 << 30
"""Of a graph in one file: weights of a larger one lie beside it."""


def load_graph(path: Path) -> onnx.ModelProto:
    """With its weights."""
    return onnx.load(path)


def save_graph(model: onnx.ModelProto, path: Path) -> None:
    """Write it, large weights into a file beside it."""
    if model.ByteSize() > _MOST_BYTES:
        onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data")
    else:
        onnx.save(model, path)


def mark_graph(path: Path, facts: Mapping[str, str]) -> None:
    """Write ``facts`` into the metadata of the graph in ``path``."""
    model = onnx.load(path, load_external_data=False)
    helper.set_model_props(model, dict(facts))
    onnx.save(model, path)


def describe_graph(model: onnx.ModelProto, plain: str, quantized: str) -> GraphFacts:
    """Its inputs and outputs, and the ``plain`` variant beside it."""
    return GraphFacts(
        inputs=tuple(map(_describe_value, model.graph.input)),
        outputs=tuple(map(_describe_value, model.graph.output)),
        plain=plain,
        quantized=quantized,
    )


def _describe_value(value: Any) -> GraphValue:
    kind = value.type.tensor_type
    dtype = TensorProto.DataType.Name(kind.elem_type).lower()
    named = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    sides = (each.dim_param or each.dim_value for each in kind.shape.dim)
    return GraphValue(name=value.name, dtype=named, shape=tuple(sides))


# --------------------------------------------------------------------------------------------------- the answers


def _choose(
    made: _Graph, answering: Answering, scores: str, count: int, index: str, chances: str, cutoff: float = 0.0
) -> None:
    """Of scores (n, count, ...): int64 (n, ...) ``index``, the number of the class told, and float32 (n, classes, ...) ``chances``."""
    cool = _cool(made, answering, scores)
    if count == 1:
        yes = made.add("Sigmoid", cool)
        made.add("Concat", made.add("Sub", made.constant(np.ones(1, np.float32)), yes), yes, called=chances, axis=1)
        told = made.add("GreaterOrEqual", scores, made.constant(np.full(1, cutoff, np.float32)))
        column = made.add("Cast", told, to=TensorProto.INT64)
        made.add("Squeeze", column, made.constant(np.ones(1, np.int64)), called=index)
    else:
        made.add("Softmax", cool, called=chances, axis=1)
        made.add("ArgMax", scores, called=index, axis=1, keepdims=0)


def _cool(made: _Graph, answering: Answering, scores: str) -> str:
    """Divided by the temperature."""
    if answering.temperature == 1.0:
        return scores
    return made.add("Div", scores, made.constant(np.full(1, answering.temperature, np.float32)))


def _name_it(made: _Graph, names: Sequence[str], index: str, called: str) -> None:
    made.add("Gather", made.constant(names), index, called=called)
    made.give(called, TensorProto.STRING)


def _answer_class(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    cutoff = answering.cutoffs[0] if answering.cutoffs else 0.0
    _choose(made, answering, LOGITS, shape[0], "index", "probabilities", cutoff)
    if with_texts:
        _name_it(made, answering.names, "index", "class")
    made.give("index", TensorProto.INT64)
    made.give("probabilities", TensorProto.FLOAT, len(answering.names))


def _answer_labels(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    """A label that is not told has no name, and an empty text stands in its place."""
    made.add("Sigmoid", _cool(made, answering, LOGITS), called="probabilities")
    made.add("GreaterOrEqual", LOGITS, made.constant(np.array(answering.cutoffs, np.float32)), called="told")
    if with_texts:
        made.add("Where", "told", made.constant(answering.names), made.constant([""]), called="labels")
        made.give("labels", TensorProto.STRING, shape[0])
    made.give("told", TensorProto.BOOL, shape[0])
    made.give("probabilities", TensorProto.FLOAT, shape[0])


def _answer_values(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    made.add("Identity", LOGITS, called="values")
    made.give("values", TensorProto.FLOAT, shape[0])


def _answer_tasks(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    for task in answering.tasks:
        column = _cut(made, LOGITS, task.first, task.last)
        answer = f"answer/{task.name}"
        if not task.classes:
            made.add("Squeeze", column, made.constant(np.ones(1, np.int64)), called=answer)
            made.give(answer, TensorProto.FLOAT)
            continue
        index, chances = f"index/{task.name}", f"probabilities/{task.name}"
        _choose(made, answering, column, task.last - task.first, index, chances)
        if with_texts:
            _name_it(made, task.classes, index, answer)
        made.give(index, TensorProto.INT64)
        made.give(chances, TensorProto.FLOAT, len(task.classes))


def _cut(made: _Graph, name: str, first: int, last: int) -> str:
    """The columns from ``first`` to before ``last``."""
    return made.add("Slice", name, *(made.constant(np.array([each], np.int64)) for each in (first, last, 1)))


def _answer_mask(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    sides = shape[1:]
    _choose(made, answering, LOGITS, shape[0], "index", "probabilities")
    made.add("Cast", "index", called="mask", to=TensorProto.UINT8)
    made.give("mask", TensorProto.UINT8, *sides)
    made.give("probabilities", TensorProto.FLOAT, max(2, shape[0]), *sides)


def _answer_tokens(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    """What follows after the last token of each text."""
    last = made.add("Sub", LENGTHS, made.constant(np.ones(1, np.int64)))
    column = made.add("Unsqueeze", last, made.constant(np.ones(1, np.int64)))
    scores = made.add("GatherND", LOGITS, column, batch_dims=1)
    _choose(made, answering, scores, shape[1], "index", "probabilities")
    if with_texts:
        _name_it(made, answering.names, "index", "token")
    made.give("index", TensorProto.INT64)
    made.give("probabilities", TensorProto.FLOAT, shape[1])


def _answer_ranks(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    """The scores of the items, and their numbers, the best first."""
    scores = LOGITS
    if len(shape) > 1:
        scores = made.add("Squeeze", LOGITS, made.constant(np.array([2], np.int64)))
    made.add("Identity", scores, called="scores")
    sorted_scores = "sorted_scores"
    made.nodes.append(
        helper.make_node(
            "TopK", ["scores", made.constant(np.array([shape[0]], np.int64))], [sorted_scores, "order"], axis=1
        )
    )
    made.give("order", TensorProto.INT64, shape[0])
    made.give("scores", TensorProto.FLOAT, shape[0])


def _answer_embedding(made: _Graph, answering: Answering, shape: Sequence[Any], with_texts: bool) -> None:
    made.add("Identity", LOGITS, called="embedding")
    made.give("embedding", TensorProto.FLOAT, shape[0])
