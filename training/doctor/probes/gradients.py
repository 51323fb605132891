"""What one backward pass shows: weights that get no gradient, units that are all alike, a gradient that does not come through."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import torch
from pydantic import JsonValue
from torch import Tensor, nn

from training.doctor.probes.look import Layer, Look, describe_module, measure_gain, record_calls
from training.events import Finding, FindingLevel
from training.findings.probes import (
    INIT_SCALE,
    LOW_GAIN,
    MANY_LAYERS,
    NOT_TRAINED,
    REPEATED,
    SATURATING,
    SHRINKS,
    SYMMETRIC,
    TOO_DEEP,
    UNUSED,
)
from training.models import make_model
from training.system.untrusted import escape_unprintable

_ENOUGH = 3
"""Hidden layers, of which more are seldom better."""


def gradient_findings(look: Look) -> list[Finding]:
    """Of a pass over the first batch, in training, as the loss has it."""
    batch, objective = look.batches[0], look.objective
    look.model.train()
    with torch.enable_grad(), record_calls(look.model, tensors=False) as calls:
        outputs = look.model(batch.inputs)
        loss = objective.loss(outputs, batch.targets, objective.loss_weight(batch.targets))
    if not loss.requires_grad:
        look.restore()
        title = "No weight of the network gets a gradient: what it answers is cut off from them."
        return [
            NOT_TRAINED.find("error", title, "Look in forward for detach(), torch.no_grad(), .data, argmax or NumPy.")
        ]
    leaves = _find_leaves(loss)
    weights = [weight for weight in look.model.parameters() if weight.requires_grad]
    gradients = torch.autograd.grad(loss, weights, allow_unused=True)  # of no other tensor, whatever module holds it
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
    called = {id(module) for _, module, _, _ in calls}
    found = [
        *_find_without_gradient(look, called),
        *_find_unregistered(look, leaves),
        *_find_frozen(look),
        *_find_repeated(look),
    ]
    order = [module for _, module, _, _ in calls if isinstance(module, Layer)]
    found += _find_symmetric(look, order) or _find_vanishing(look, order)
    look.restore()
    return found


def _find_without_gradient(look: Look, called: set[int]) -> list[Finding]:
    total = sum(weight.numel() for weight in look.model.parameters())
    unused: list[tuple[str, int]] = []
    cut: list[tuple[str, nn.Module]] = []
    for name, module in look.model.named_modules():
        missing = [each for each in module.parameters(recurse=False) if each.requires_grad and each.grad is None]
        if not missing:
            continue
        if id(module) in called:
            cut.append((name, module))
        else:
            unused.append((name, sum(each.numel() for each in missing)))
    if not look.is_own:
        names = [name for name, _ in (*cut, *unused)]
        title = f"These get no gradient: {_list(names)}."
        return [NOT_TRAINED.find("info", title, place=names[0])] if names else []
    found = []
    if cut:
        name, module = cut[0]
        more = f" (and {len(cut) - 1} more)" if len(cut) > 1 else ""
        title = f"{describe_module(name, module)}{more} works, but gets no gradient: its result is cut off, and its weights stay as they are."
        advice = "Look behind it for detach(), torch.no_grad(), .data, argmax or NumPy; or set requires_grad to False if that is meant."
        found.append(
            NOT_TRAINED.find("warning", title, advice, place=name, evidence={"modules": [each for each, _ in cut][:10]})
        )
    if unused:
        share = sum(size for _, size in unused) / total
        level: FindingLevel = "warning" if share > UNUSED else "info"
        names = [name for name, _ in unused]
        title = f"Forward never uses {_list(names)}: {share:.0%} of the weights stay as they are."
        advice = "Call it in forward, or take it out."
        found.append(
            NOT_TRAINED.find(level, title, advice, place=names[0], evidence={"modules": names[:10], "share": share})
        )
    return found


def _find_leaves(loss: Tensor) -> list[Tensor]:
    """The tensors that the gradient arrives at."""
    leaves, seen, todo = [], set(), [loss.grad_fn]
    while todo:
        node: Any = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves.append(leaf)
        todo += [following for following, _ in node.next_functions]
    return leaves


def _find_unregistered(look: Look, leaves: list[Tensor]) -> list[Finding]:
    """Weights that are used and are none of the network's: the optimizer does not know them, nor does a checkpoint."""
    known = {id(weight) for weight in look.model.parameters()}
    strangers = [leaf for leaf in leaves if id(leaf) not in known]
    if not strangers:
        return []
    held = {id(tensor): path for path, tensor in _list_hidden_weights(look.model)}
    path = next((held[id(leaf)] for leaf in strangers if id(leaf) in held), "")
    where = f" in {escape_unprintable(path, 60)}" if path else ""
    title = f"{len(strangers)} tensors of weights{where} are used but do not belong to the network, so nothing trains or saves them."
    advice = "Keep layers in nn.ModuleList, nn.ModuleDict or nn.ParameterList, not in a plain list or dict."
    return [NOT_TRAINED.find("warning", title, advice, place=path, evidence={"tensors": len(strangers)})]


def _list_hidden_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Weights in plain lists, tuples and dicts of the modules, with the attribute."""
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute.startswith("_") and attribute in ("_parameters", "_buffers", "_modules"):
                continue
            parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for part in parts:
                path = f"{name}.{attribute}".lstrip(".")
                if isinstance(part, nn.Module):
                    yield from ((path, weight) for weight in part.parameters())
                elif isinstance(part, Tensor):
                    yield path, part


def _find_frozen(look: Look) -> list[Finding]:
    """Layers of a person's own network that are frozen as they were drawn."""
    session = look.session
    if not look.is_own or session.config.optimizer.freeze != "off" or session.beginning:
        return []
    names = [
        f"{name}.weight".lstrip(".")
        for name, module in look.model.named_modules()
        if isinstance(module, Layer | nn.Embedding) and not module.weight.requires_grad
    ]
    if not names:
        return []
    config = session.config
    other = make_model(config.model, session.data.facts, look.objective.outputs, config.seed + 1)
    weights, mine = dict(other.named_parameters()), dict(look.model.named_parameters())
    drawn = [
        name for name in names if name in weights and not torch.equal(weights[name].to(mine[name].device), mine[name])
    ]
    if not drawn:
        return []
    layers = [name.rpartition(".")[0] for name in drawn]
    title = f"{_list(layers)}: frozen (requires_grad is off) with random weights, which learn nothing."
    advice = "Leave requires_grad on, or load trained weights into it."
    return [NOT_TRAINED.find("warning", title, advice, place=layers[0], evidence={"modules": layers[:10]})]


def _find_repeated(look: Look) -> list[Finding]:
    if not look.is_own:
        return []
    places: dict[int, list[str]] = {}
    for name, module in look.model.named_modules(remove_duplicate=False):
        if isinstance(module, Layer):
            places.setdefault(id(module), []).append(name)
    found = next((names for names in places.values() if len(names) > 1), None)
    if found is None:
        return []
    title = f"{_list(found)} are one and the same layer, with the same weights."
    return [
        REPEATED.find(
            "info", title, "If that is not meant, build each in a loop: [layer] * n repeats one.", place=found[0]
        )
    ]


def _find_symmetric(look: Look, order: list[Layer]) -> list[Finding]:
    names = {id(module): name for name, module in look.model.named_modules()}
    alike = []
    for module in order:
        weight: Tensor = module.weight
        if len(weight) < 2 or weight.grad is None or id(module) not in names or not _rows_alike(weight):
            continue
        begins_as_zeros = not bool(weight.any())  # which only a layer behind it, or the classes, can tell apart
        if not begins_as_zeros or (module is not order[-1] and _rows_alike(weight.grad)):
            alike.append(names[id(module)])
    if not alike:
        return []
    value = float(dict(look.model.named_parameters())[f"{alike[0]}.weight".lstrip(".")].detach().flatten()[0])
    title = f"{_list(alike)}: all units begin with the same weights ({value:.3g}), so that they learn the same."
    advice = "Leave torch's own initialization, or draw the weights at random (nn.init.kaiming_normal_)."
    return [SYMMETRIC.find("warning", title, advice, place=alike[0], evidence={"modules": alike[:10]})]


def _rows_alike(weight: Tensor) -> bool:
    rows = weight.detach().reshape(len(weight), -1)
    return bool(((rows - rows[:1]).abs() <= 1e-6 * rows.abs().max() + 1e-30).all())


def _find_vanishing(look: Look, order: list[Layer]) -> list[Finding]:
    """The gradient of the first layer's weights beside that of the last's, each as a share of the weights."""
    ends = [module for module in order if isinstance(module.weight, Tensor) and module.weight.grad is not None]
    if len(ends) < 3:
        return []
    first, last = (_relative_gradient(module.weight) for module in (ends[0], ends[-1]))
    if not 0.0 < first < SHRINKS * last:
        return []
    names = {id(module): name for name, module in look.model.named_modules()}
    place = names.get(id(ends[0]), "")
    bends = sorted(
        {type(module).__name__ for module in look.model.modules() if isinstance(module, nn.Sigmoid | nn.Tanh)}
    )
    deep = not bends and len(ends) >= MANY_LAYERS and not (look.is_own and _begins_small(ends))
    cause = f" {' and '.join(bends)} let little of it through, layer by layer." if bends else ""
    cause = " Each lets a part of it through, and nothing makes up for that." if deep else cause
    title = f"The gradient hardly reaches {describe_module(place, ends[0])}: beside its weights it is {first / last:.0e} of that of the last of {len(ends)} layers.{cause}"
    advice = (
        "Use fewer layers, a normalization between them, or residual connections."
        if deep
        else "Use ReLU or GELU, a normalization between the layers, or fewer of them."
    )
    fix = _mend(look)
    rule = SATURATING if bends else TOO_DEEP if deep else INIT_SCALE
    return [rule.find("warning", title, advice, place=place, evidence={"first": first, "last": last}, fix=fix)]


def _begins_small(layers: list[Layer]) -> bool:
    """Whether weights are smaller than torch draws them."""
    return median(map(measure_gain, layers)) < LOW_GAIN


def _relative_gradient(weight: Tensor) -> float:
    assert weight.grad is not None, "looked at"
    return float(weight.grad.norm() / weight.detach().norm().clamp(min=1e-12))


def _mend(look: Look) -> dict[str, JsonValue]:
    model, layout = look.session.config.model, look.session.data.facts.layout
    hidden = getattr(model, "hidden", ())
    if isinstance(hidden, tuple) and len(hidden) >= MANY_LAYERS:
        return {"model.hidden": [*hidden[:_ENOUGH]]}
    if getattr(model, "norm", "") == "none":
        return {"model.norm": "layer" if layout == "list" else "batch"}
    return {"model.activation": "relu"} if getattr(model, "activation", "") == "tanh" else {}


def _list(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return escape_unprintable(", ".join(name or "the network" for name in names[:3]) + more, 160)
