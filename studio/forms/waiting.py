"""Settings that wait for their first value."""

from __future__ import annotations

from studio.forms.messages import as_sentence, problem_sentence, with_title
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import is_setting, specs, split_path
from training.errors import Problem


def is_missing(draft: Draft, problem: Problem) -> bool:
    """Whether nothing stands in the setting that ``problem`` is about."""
    return is_setting(problem.path, draft.kind) and draft.value(problem.path) == ""


def is_waiting(draft: Draft, problem: Problem) -> bool:
    """Whether the setting is empty only because nobody has come to it yet."""
    return is_missing(draft, problem) and not draft.touched.has(problem.path)


def ask_to_mend(draft: Draft, what: str, *sections: str) -> str:
    """What to do to see ``what``, where something in ``sections`` keeps it from being seen: which settings, they say themselves."""
    wrong = [each for each in draft.problems() if not sections or split_path(each.path)[0] in sections]
    if wrong and all(is_waiting(draft, each) for each in wrong):
        return f"Fill in the required fields to see {what}."
    return f"Fix the highlighted fields to see {what}."


def name_problem(problem: Problem, draft: Draft) -> str:
    """What is wrong, with the setting's title, where its field cannot be seen."""
    section, name = split_path(problem.path)
    spec = specs(section, draft.kind(section)).get(name)
    if spec is None:
        return as_sentence(problem.message, draft.kind)
    return with_title(spec.title, problem_sentence(problem, spec, draft.value(problem.path)))
