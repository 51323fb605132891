"""A text that a language model writes after each validation, for people to see what it has learned."""

from __future__ import annotations

import torch
from torch import Tensor

from training.config import RunConfig
from training.config.sections.objective import LanguageModel
from training.data.texts.vocabulary import vocabulary_of
from training.engine.evaluate import measure_quietly
from training.engine.recovery.memory import OutOfMemory
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.errors import InputError
from training.events import TextSampled
from training.facts import DataFacts
from training.models.generate import generate
from training.system.untrusted import escape_unprintable

_TEMPERATURE = 0.8


class TextSamples:
    """Tells ``objective.sample_tokens`` tokens as an event. What is computed changes nothing of the run, to the bit: the draws are
    functions of the run's seed and the token's number."""

    def __init__(self, session: Session, writer: RunWriter, out_of_memory: OutOfMemory) -> None:
        self._session = session
        self._writer = writer
        self._out_of_memory = out_of_memory
        objective = session.config.objective
        self._count = objective.sample_tokens if isinstance(objective, LanguageModel) else 0
        self._prompt = read_prompt(session.config, session.data.facts) if self._count else []

    def look(self) -> None:
        """Write a text by the weights that are validated."""
        if not self._count:
            return
        made = self._out_of_memory.evaluate(self._generate)
        progress, known = self._session.progress, vocabulary_of(self._session.data.facts)
        prompt = known.decode(self._prompt)
        text = known.decode([*self._prompt, *made])
        self._writer.emit(TextSampled(step=progress.step, epoch=progress.epoch, prompt=prompt, text=text))

    def _generate(self) -> list[int]:
        session = self._session

        def ask(seen: Tensor) -> Tensor:
            with session.numerics.autocast():
                outputs: Tensor = session.answer(seen)
            return outputs.float()

        with measure_quietly(session, "text"), torch.inference_mode():
            session.answer.eval()
            drawn = generate(
                ask,
                self._prompt,
                self._count,
                context=session.data.facts.shape[0],
                temperature=_TEMPERATURE,
                seed=session.config.seed,
                device=session.device,
            )
            return list(drawn)


def read_prompt(config: RunConfig, facts: DataFacts) -> list[int]:
    """What the texts of a run begin with, none where it writes none. Raises InputError for a prompt that the vocabulary does not
    hold."""
    objective = config.objective
    if not isinstance(objective, LanguageModel) or not objective.sample_tokens:
        return []
    known, prompt = vocabulary_of(facts), objective.sample_prompt
    tokens: list[int] = known.encode(prompt or "\n").tolist()
    if known.kind != "characters" or 0 not in tokens:
        return tokens
    if not prompt:
        return [1]  # the first of its characters
    unknown = escape_unprintable(prompt[tokens.index(0)])
    raise InputError(f"objective.sample_prompt: the training text has no '{unknown}'; leave it out.")
