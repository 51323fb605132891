"""The lines of the short script's loop that the settings decide, whatever is trained."""

from __future__ import annotations

from training.config import RunConfig
from training.errors import InputError
from training.tutorial.schedule import OptimizerText, ScheduleText

_AMP = {"bf16": "torch.bfloat16", "fp16": "torch.float16"}


def write_forward(config: RunConfig, accelerate: bool) -> str:
    """What makes ``outputs`` of ``inputs``."""
    made, after = "outputs = model(inputs)", ""
    if getattr(config.objective, "loss", "") == "dice_bce":  # softmax over (0, z) is the sigmoid of z
        after = "\noutputs = functional.pad(outputs, (0, 0, 0, 0, 1, 0))  # 0 is the logit of the first class"
    if accelerate or config.precision.compute not in _AMP:
        return made + after
    return f"with torch.autocast(DEVICE.type, {_AMP[config.precision.compute]}):\n    {made}.float(){after}"


def write_epoch(config: RunConfig) -> list[str]:
    """How an epoch begins: with an end before it, and with what sets the network to training."""
    ends = ["step == total_steps"] * (config.loop.max_steps is not None)
    ends += ["waited == PATIENCE"] * bool(config.loop.early_stopping_patience)
    lines = [f"if {' or '.join(ends)}:", "    break"] * bool(ends)
    if config.optimizer.freeze != "all_but_head":
        return [*lines, "model.train()"]
    until = "True" if config.optimizer.unfreeze_epoch is None else "epoch < UNFREEZE_EPOCH"
    return [
        *lines,
        f"frozen = {until}  # at first the new head alone is trained",
        "for parameter in model.parameters():",
        "    parameter.requires_grad_(not frozen or id(parameter) in head)",
        "model.train(not frozen)  # what is frozen keeps the statistics of its batch norms",
    ]


def write_update(config: RunConfig, optimizer: OptimizerText, schedule: ScheduleText, accelerate: bool) -> list[str]:
    """From the loss to the new weights."""
    loop, scaler = config.loop, config.precision.compute == "fp16" and not accelerate
    clips = [f"nn.utils.clip_grad_value_(model.parameters(), {loop.clip_value})"] * bool(loop.clip_value)
    clips += ["nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)"] * bool(loop.clip_norm)
    if accelerate:
        _refuse_accelerate(config, optimizer.several)
        clips = [f"    {line.replace('nn.utils.', 'accelerator.')}" for line in clips]
        clips = ["if accelerator.sync_gradients:"] * bool(clips) + clips
    lines = [_write_backward(config, accelerate)]
    if loop.accumulation > 1 and not accelerate:
        lines.append("if batch % ACCUMULATION and batch < len(train_loader):")
        lines.append("    continue  # the gradients of several batches add up")
    unscale = f"{optimizer.unscale}  # else the norm were that of the scaled gradients"
    lines += [unscale] * (scaler and bool(clips)) + clips
    lines.append(optimizer.step.replace("optimizer.step()", "scaler.step(optimizer)") if scaler else optimizer.step)
    lines += ["scaler.update()"] * scaler
    lines += [schedule.step] * (schedule.per == "step")
    return lines + [optimizer.zero] * (not zeroes_first(config, optimizer, accelerate))


def zeroes_first(config: RunConfig, optimizer: OptimizerText, accelerate: bool) -> bool:
    """Whether the gradients of the batch before are cleared as a batch begins; else after the step, which not every batch makes."""
    return config.loop.accumulation == 1 and not accelerate and not optimizer.several


def write_after_step(config: RunConfig, accelerate: bool) -> list[str]:
    """What follows the optimizer's step in the loop."""
    lines = ["if not accelerator.sync_gradients:", "    continue"] * accelerate
    lines += ["averaged.update_parameters(model)"] * (config.loop.ema_decay is not None)
    counted = ["step += 1", "if step == total_steps:", "    break"]
    return lines + counted * (config.loop.max_steps is not None)


def write_accelerator(config: RunConfig) -> str:
    """The object that Accelerate does everything by."""
    given = [f'mixed_precision="{config.precision.compute}"'] * (config.precision.compute in _AMP)
    given += ["gradient_accumulation_steps=ACCUMULATION"] * (config.loop.accumulation > 1)
    given.append('cpu=DEVICE.type == "cpu"')
    given.append("dataloader_config=DataLoaderConfiguration(split_batches=True)")  # a batch is that of all processes
    return f"accelerator = Accelerator({', '.join(given)})"


def _write_backward(config: RunConfig, accelerate: bool) -> str:
    if accelerate:
        return "accelerator.backward(loss)"
    several = config.loop.accumulation > 1
    if config.precision.compute == "fp16":
        return f"scaler.scale(loss{' / ACCUMULATION' if several else ''}).backward()"
    return "(loss / ACCUMULATION).backward()" if several else "loss.backward()"


def _refuse_accelerate(config: RunConfig, several: bool) -> None:
    """Raise InputError, naming the setting, for what the script by Accelerate cannot say."""
    if several:
        raise InputError("optimizer.kind: two optimizers are not said by Accelerate here; choose another one.")
    if config.precision.compute == "fp16" and config.loop.clip_value:
        raise InputError("loop.clip_value: Accelerate does not clip FP16's gradients by value; use loop.clip_norm.")
