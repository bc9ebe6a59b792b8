"""Finds the metrics and the kinds of analysis that an answer names."""

from __future__ import annotations

from reasoningbank.learn.graph.word_tables import WordTable, any_word

_SHORT = any_word(
    """
    roi roas cpa cpc cpm cpl ctr cvr aov ltv clv cac mrr arr arpu nps csat dau mau ebitda gmv kpi sla slo rmse mae mape
    auc f1 mttr p50 p95 p99 qps rps tps
    """
)
_LONG = any_word(
    r"""
    (?:conversion|churn|retention|click[-_]through|bounce|open|error|failure|growth|win|return|refund|hit)_rates?
    (?:success|response|engagement|attrition|default|interest|fill|cancellation|pass)_rates?
    (?:cost|revenue|profit|spend|leads?|sales)_per_\w+ return_on_(?:investment|ad_spend) revenue profit margin turnover
    spend budget impressions clicks conversions leads sessions pageviews traffic sales_volume net_sales gross_sales
    headcount latency throughput uptime downtime memory_usage cpu_usage coverage accuracy precision recall refund
    total_price price_difference balance
    """
)
_SPOKEN = {
    "click-through rate": "ctr", "click through rate": "ctr", "conversion rate": "cvr", "cost per acquisition": "cpa",
    "cost per click": "cpc", "cost per lead": "cpl", "return on investment": "roi", "return on ad spend": "roas",
}  # fmt: skip
_ANALYSES: WordTable = (
    (
        "attribution_modeling",
        any_word(
            r"""
            attribut(?:ion|ed_to) multi-?touch last[-_]click first[-_]touch
            """
        ),
    ),
    (
        "forecasting",
        any_word(
            r"""
            forecast\w* project(?:ed|ion|ions) predict\w* extrapolat\w*
            """
        ),
    ),
    (
        "scenario_analysis",
        any_word(
            r"""
            scenarios? what[-_]if sensitivity stress[-_]test\w* simulat\w*
            """
        ),
    ),
    (
        "root_cause_analysis",
        any_word(
            r"""
            root_cause because_of caused_by driven_by due_to stems?_from culprit explains?_the linked_to
            """
        ),
    ),
    (
        "trend_analysis",
        any_word(
            r"""
            trend\w* year[-_]over[-_]year yoy month[-_]over[-_]month mom week[-_]over[-_]week wow seasonal\w*
            """
        ),
    ),
    (
        "comparison",
        any_word(
            r"""
            compared_(?:to|with) versus vs\.? outperform\w* underperform\w* relative_to benchmark\w*
            """
        ),
    ),
    (
        "segmentation",
        any_word(
            r"""
            segment\w* cohorts? cluster\w* by_(?:channel|region|age|country|product)
            """
        ),
    ),
    (
        "funnel_analysis",
        any_word(
            r"""
            funnels? drop-?off
            """
        ),
    ),
    (
        "ab_test",
        any_word(
            r"""
            a/b_tests? ab_tests? statistically_significant p-value control_group confidence_interval
            """
        ),
    ),
    (
        "regression",
        any_word(
            r"""
            regress(?:ion|ed_on) correlat\w* coefficient
            """
        ),
    ),
    (
        "anomaly_detection",
        any_word(
            r"""
            anomal\w* outliers?
            """
        ),
    ),
    (
        "profiling",
        any_word(
            r"""
            profil(?:e|ed|ing) hot_?spots? bottlenecks?
            """
        ),
    ),
    (
        "code_review",
        any_word(
            r"""
            code_review reviewed_the_(?:code|diff|pull_request)
            """
        ),
    ),
    (
        "debugging",
        any_word(
            r"""
            stack_?trace traceback reproduc\w+ off[-_]by[-_]one race_condition null_pointer the_bug
            """
        ),
    ),
)
MOST_NAMED = 8


def metrics_in(text: str) -> tuple[str, ...]:
    """The measures that are named, short and singular, in the order in which they are."""
    positions: dict[str, int] = {}
    for match in (*_SHORT.finditer(text), *_LONG.finditer(text)):
        term = " ".join(match[0].casefold().split()).replace(" rates", " rate")
        positions.setdefault(_SPOKEN.get(term, term), match.start())
    return tuple(sorted(positions, key=lambda name: positions[name]))[:MOST_NAMED]


def analysis_types_in(text: str) -> tuple[str, ...]:
    return tuple(name for name, words in _ANALYSES if words.search(text))[:MOST_NAMED]
