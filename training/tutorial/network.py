"""The network of a run as lines that make it from the shape of a sample, and the classes of ours that it has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from training.config import RunConfig
from training.config.fields import Section
from training.config.rules.signature import FILLED, FUNCTION, read_signature
from training.config.sections.data.tabular import Tabular
from training.config.sections.data.text import Gpt
from training.config.sections.data.toys import ToySection
from training.config.sections.model import Mlp, SmallCnn, UNet, WhitenedCnn
from training.config.sections.model_section import Norm
from training.config.sections.pretrained import StartingWeights, TimmModel, TorchvisionModel
from training.config.sections.user_file import UserFile
from training.errors import InputError
from training.tutorial.definitions import Definitions
from training.tutorial.literals import call, keywords

_WIDTH = 110
_NETWORKS = "training.models.networks"
_ACTIVATIONS = {"relu": "nn.ReLU()", "gelu": "nn.GELU()", "silu": "nn.SiLU()", "tanh": "nn.Tanh()"}
_MOST_GROUPS, _LEAST_IN_GROUP = 32, 8
_SIZED = ("vit", "deit", "beit", "eva", "swin", "cait", "mixer", "xcit", "crossvit", "volo")
"""How those networks of timm begin that are built for one size of image."""
_OUTPUTS = {"channels": "shape[0]", "height": "shape[1]", "width": "shape[2]", "image_size": "shape[1]"}
_FILLED = {**_OUTPUTS, "features": "shape[-1]", "outputs": "outputs", "vocabulary": "outputs", "context": "shape[0]"}


@dataclass(frozen=True)
class NetworkText:
    """``lines`` are the body of ``make_model(shape, outputs)``, ``code`` stands above it; ``begin`` is done with the fresh ``model``.
    ``beside`` is the text of a person's own file, which the script imports ``FUNCTION`` from."""

    lines: list[str]
    code: str = ""
    begin: tuple[str, ...] = ()
    beside: str = ""
    batch_norm: bool = False

    def write_made(self, outputs: str) -> str:
        """The network as one expression of the samples ``inputs``, with so many ``outputs``; empty where it is more than that."""
        before, found, made = " ".join(line.strip() for line in self.lines).partition("return ")
        if before or not found:
            return ""
        made = re.sub(r",? \)", ")", made.replace("( ", "("))
        made = re.sub(r"\bshape\b", "inputs[0].shape", made).replace("inputs[0].shape[0]", "inputs.shape[1]")
        return re.sub(r"\boutputs\b(?!=)", lambda _: outputs, made)


def describe_network(config: RunConfig, module: str) -> NetworkText:
    """For the templates; ``module`` is what a person's own file is to be called. Raises InputError for a network that the short
    script does not say."""
    model, items = config.model, config.dataset.layout == "list"
    gray = config.dataset.kind == "idx" or getattr(config.dataset, "color", "rgb") == "grey"
    if isinstance(model, StartingWeights) and model.weights:
        raise InputError(
            "model.weights: the short script begins with random or published weights only; empty it, or export --to script."
        )
    if isinstance(model, SmallCnn):
        return NetworkText(_return(_sequential(_small_cnn(model))))
    if isinstance(model, WhitenedCnn):
        lines = ["side = ((shape[1] - 1) // 8, (shape[2] - 1) // 8)"]
        lines += _return(f"prepare_whitening({_sequential(_whitened_cnn(model))})")
        some = "torch.stack([train_set[number][0] for number in range(min(len(train_set), WHITENED_IMAGES))])"
        code = _paste(("whitening", "WHITENED_IMAGES"), ("whitening", "prepare_whitening"), ("whitening", "whiten"))
        return NetworkText(lines, code, (f"whiten(model[0], [{some}])",))
    if isinstance(model, Mlp):
        if isinstance(config.dataset, ToySection):  # vectors
            layers = _write_hidden(model, "shape[-1]" if items else "shape[0]")
        else:
            layers = ["nn.Flatten()", *_write_hidden(model, "shape[-1]" if items else "math.prod(shape)")]
        return _of_items(_sequential(layers), items, model.norm)
    if isinstance(model, Tabular):
        return _tabular(model, items)
    if isinstance(model, UNet):
        made = _call_ours("UNet", model, {"in_channels": "shape[0]", "outputs": "outputs"})
        return NetworkText(_return(made), _paste(("unet", "UNet")))
    if isinstance(model, Gpt):
        made = _call_ours("Gpt", model, {"vocabulary": "outputs", "context": "shape[0]"})
        return NetworkText(_return(made), _paste(("gpt", "Gpt")))
    if isinstance(model, TorchvisionModel):
        return _torchvision(model, gray)
    if isinstance(model, TimmModel):
        name = model.name if model.pretrained in (None, "DEFAULT") else f"{model.name}.{model.pretrained}"
        given = [f'"{name}"', *keywords(pretrained=bool(model.pretrained)), "num_classes=outputs", "in_chans=shape[0]"]
        given += ["img_size=tuple(shape[1:])"] * model.name.startswith(_SIZED)
        given += keywords(drop_path_rate=model.drop_path_rate) if model.drop_path_rate else []
        return NetworkText(_return(call("timm.create_model", given, _WIDTH)), batch_norm=True)
    if isinstance(model, UserFile):
        return _user_file(model)
    raise InputError(f"model.kind: the short script does not say {model.kind} yet; export --to script instead.")


def _return(made: str) -> list[str]:
    return f"return {made}".split("\n")


def _sequential(layers: list[str]) -> str:
    return call("nn.Sequential", layers, 60)


def _paste(*names: tuple[str, str]) -> str:
    definitions = Definitions()
    for module, name in names:
        definitions.take(f"{_NETWORKS}.{module}", name)
    return definitions.text


def _call_ours(name: str, section: Section, known: dict[str, str]) -> str:
    given = [f"{key}={text}" for key, text in known.items()]
    return call(name, given + keywords(**section.model_dump(exclude={"kind"})), _WIDTH)


def write_norm(kind: Norm, channels: int, images: bool) -> list[str]:
    """``make_norm`` of ``training.models.networks.norms`` as the call that makes the layer."""
    if kind == "batch":
        return [f"nn.BatchNorm{2 if images else 1}d({channels})"]
    if kind == "group":
        most = max(1, min(_MOST_GROUPS, channels // _LEAST_IN_GROUP))
        return [f"nn.GroupNorm({max(n for n in range(1, most + 1) if channels % n == 0)}, {channels})"]
    if kind == "layer":
        return [f"nn.GroupNorm(1, {channels})" if images else f"nn.LayerNorm({channels})"]
    return []


def _small_cnn(model: SmallCnn) -> list[str]:
    first, second = model.channels
    layers = [f"nn.Conv2d(shape[0], {first}, 3, padding=1)", *write_norm(model.norm, first, True)]
    layers += ["nn.ReLU()", "nn.MaxPool2d(2)"]
    layers += [f"nn.Conv2d({first}, {second}, 3, padding=1)", *write_norm(model.norm, second, True)]
    layers += ["nn.ReLU()", "nn.MaxPool2d(2)", "nn.Flatten()"]
    layers += [f"nn.Linear({second} * (shape[1] // 4) * (shape[2] // 4), {model.hidden})", "nn.ReLU()"]
    layers += [f"nn.Dropout({model.dropout})"] * bool(model.dropout)
    return [*layers, f"nn.Linear({model.hidden}, outputs)"]


def _whitened_cnn(model: WhitenedCnn) -> list[str]:
    def block(before: str, after: int, pool: list[str]) -> list[str]:
        bias = "" if model.norm == "none" else ", bias=False"
        norm = [
            layer.replace("nn.BatchNorm2d(", "nn.BatchNorm2d(momentum=0.4, num_features=")
            for layer in write_norm(model.norm, after, True)
        ]
        return [f"nn.Conv2d({before}, {after}, 3, padding=1{bias})", *pool, *norm, "nn.GELU()"]

    layers = ["nn.Conv2d(shape[0], 8 * shape[0], 2)", "nn.GELU()"]
    before = "8 * shape[0]"
    for after in model.channels:
        layers += block(before, after, ["nn.MaxPool2d(2)"]) + block(str(after), after, [])
        before = str(after)
    return [
        *layers,
        "nn.MaxPool2d(side)",
        "nn.AvgPool2d(3, padding=1)",
        "nn.Flatten()",
        f"nn.Linear({before}, outputs, bias=False)",
    ]


def _write_hidden(model: Mlp | Tabular, width: str, residual: bool = False) -> list[str]:
    """The hidden layers and the last one."""
    layers = []
    for units in model.hidden:
        inner = [f"nn.Linear({width}, {units})", *write_norm(model.norm, units, False), _ACTIVATIONS[model.activation]]
        inner += [f"nn.Dropout({model.dropout})"] * bool(model.dropout)
        layers += [f"Residual({', '.join(inner)})"] if residual and width == str(units) else inner
        width = str(units)
    return [*layers, f"nn.Linear({width}, outputs)"]


def _of_items(made: str, items: bool, norm: Norm, before: tuple[str, ...] = (), code: str = "") -> NetworkText:
    code = "\n\n\n".join(filter(None, [_paste(("mlp", "EachItem")) if items else "", code]))
    return NetworkText([*before, *_return(f"EachItem({made})" if items else made)], code, batch_norm=norm == "batch")


def _tabular(model: Tabular, items: bool) -> NetworkText:
    given = (model.embedding_size, model.frequencies, model.frequency_scale)
    features = f"features = EmbeddedFeatures(categories, {', '.join(map(repr, given))})"
    names = [("tabular", "EmbeddedFeatures"), *[("tabular", "Residual")] * model.residual]
    layers = ["features", *_write_hidden(model, "features.width", model.residual)]
    return _of_items(_sequential(layers), items, model.norm, (features,), _paste(*names))


def _torchvision(model: TorchvisionModel, gray: bool) -> NetworkText:
    if model.name.startswith(("googlenet", "inception")):
        raise InputError(
            f"model.name: the short script does not say {model.name}; choose another, or export --to script."
        )
    weights = "None" if model.pretrained is None else f'"{model.pretrained}"'
    sized = [", image_size=shape[1]"] * (model.name.startswith("vit") and model.pretrained is None)
    outputs = [", num_classes=outputs"] * (model.pretrained is None)
    lines = [f"model = models.{model.name}(weights={weights}{''.join(outputs + sized)})"]
    if model.pretrained is not None:
        find = "name, head = [item for item in model.named_modules() if isinstance(item[1], nn.Linear)][-1]"
        lines += [find, "model.set_submodule(name, nn.Linear(head.in_features, outputs))  # the head is new"]
    if gray:
        find = "name, first = next(item for item in model.named_modules() if isinstance(item[1], nn.Conv2d))"
        made = "nn.Conv2d(1, first.out_channels, first.kernel_size, first.stride, first.padding, bias=first.bias is not None)"
        lines += [find, f"model.set_submodule(name, {made})  # gray images"]
    return NetworkText([*lines, "return model"], batch_norm=True)


def _user_file(model: UserFile) -> NetworkText:
    signature = read_signature(Path(model.path))
    given = [f"{name}={_FILLED[FILLED.get(name, name)]}" for name in signature.filled]
    return NetworkText(
        _return(call(FUNCTION, given + keywords(**model.arguments), _WIDTH)), beside=signature.text, batch_norm=True
    )
