"""The scenarios, a function each: two sessions or more at one desk, and what must be true after them."""

from __future__ import annotations

from collections.abc import Callable

from bench.clients.desk import Desk
from bench.clients.scenarios import installing, learning, mistakes, quiet, sessions

Scenario = Callable[[Desk], None]

SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        mistakes.told_with_the_prompt,
        mistakes.told_at_the_start_of_a_session,
        mistakes.denied_once,
        mistakes.insisting_passes,
        mistakes.known_in_other_clothes,
        mistakes.not_refused_where_so_set,
        mistakes.told_after_a_failure,
        mistakes.harmful_command_denied,
        learning.red_edit_green,
        learning.bypass_not_taught,
        learning.lookup_and_typo_not_taught,
        learning.thanks_reach_the_lesson,
        learning.users_rules_stand,
        learning.forged_prompt_sets_no_rule,
        learning.subagent_learned_from,
        sessions.speaks_again_after_compaction,
        sessions.private_stays_private,
        sessions.file_that_mentions_private,
        quiet.silent_when_nothing_fits,
        quiet.silent_where_nothing_is_known,
        quiet.within_budgets,
        quiet.off_is_off,
        quiet.never_in_the_way,
        installing.doctor_tells_the_truth,
        installing.gone_when_uninstalled,
    )
}
