"""The shape of a collection: its fields, their indexes, and which of them a version of Milvus can have.

rb_id key_lesson context_to_prefer context_sparse_vector tags     for whoever asks the collection with other tools
tenant namespace scope state outcome agent task_type tags         what a `Filter` asks for
terms terms_vector length                                         our own words, and what they weigh
text_vector is_embedded                                           the embedder's vector
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import EmbedderIdentity

if TYPE_CHECKING:
    from pymilvus import CollectionSchema
    from pymilvus.milvus_client.index import IndexParams

MOST_TEXT_BYTES = 65_535
MOST_IN_ARRAY = 4_096
PARTITIONS = 16
"""Tenants share them by a hash of their names. Each costs the server something, whether it is used or not."""
_NAME_BYTES = 800
"""Names have at most 200 characters."""
_TAG_BYTES = 16_384
_NAMES = ("namespace", "scope", "state", "outcome", "agent", "task_type")
_DENSE = {"index_type": "HNSW", "metric_type": "IP", "params": {"M": 24, "efConstruction": 200}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """Features of a version of Milvus that this engine has a use for."""

    version: str
    sparse: bool
    """Sparse vectors; and an upsert that finds the partition of its tenant, which 2.3 looks for in the wrong field."""
    full_text: bool
    """The function BM25."""
    array_index: bool

    @classmethod
    def of(cls, version: str) -> Abilities:
        if version.startswith("milvus_lite"):
            return cls(version=version, sparse=True, full_text=True, array_index=False)
        numbers = tuple(map(int, re.findall(r"\d+", version)[:2])) or (0, 0)
        return cls(
            version=version, sparse=numbers >= (2, 4), full_text=numbers >= (2, 5), array_index=numbers >= (2, 5)
        )


def schema_for(identity: EmbedderIdentity, can: Abilities) -> CollectionSchema:
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    schema = MilvusClient.create_schema(
        auto_id=False,
        enable_dynamic_field=True,
        description=f"An index of ReasoningBank, made anew by itself where it is dropped; vectors of {identity}.",
    )
    schema.add_field("rb_id", DataType.VARCHAR, is_primary=True, max_length=_NAME_BYTES)
    schema.add_field("tenant", DataType.VARCHAR, max_length=_NAME_BYTES, is_partition_key=can.sparse)
    for name in _NAMES:
        schema.add_field(name, DataType.VARCHAR, max_length=_NAME_BYTES)
    schema.add_field(
        "tags",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_capacity=MOST_IN_ARRAY,
        max_length=_TAG_BYTES,
    )
    schema.add_field("key_lesson", DataType.VARCHAR, max_length=MOST_TEXT_BYTES)
    analyzer = {"enable_analyzer": True} if can.full_text else {}
    schema.add_field("context_to_prefer", DataType.VARCHAR, max_length=MOST_TEXT_BYTES, **analyzer)
    schema.add_field("terms", DataType.ARRAY, element_type=DataType.INT64, max_capacity=MOST_IN_ARRAY)
    schema.add_field("length", DataType.INT64)
    schema.add_field("is_embedded", DataType.BOOL)
    schema.add_field("text_vector", DataType.FLOAT_VECTOR, dim=identity.dimension)
    if can.sparse:
        schema.add_field("terms_vector", DataType.SPARSE_FLOAT_VECTOR)
    if can.full_text:
        schema.add_field("context_sparse_vector", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            Function(
                name="context_bm25",
                function_type=FunctionType.BM25,
                input_field_names=["context_to_prefer"],
                output_field_names=["context_sparse_vector"],
            )
        )
    return schema


def indexes_for(can: Abilities) -> IndexParams:
    from pymilvus import MilvusClient

    params = MilvusClient.prepare_index_params()
    params.add_index("text_vector", **_DENSE)
    if can.sparse:
        params.add_index("terms_vector", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    if can.full_text:
        params.add_index("context_sparse_vector", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    if can.array_index:
        params.add_index("terms", index_type="INVERTED")
        params.add_index("tags", index_type="INVERTED")
    return params


def is_ours(description: Mapping[str, Any], identity: EmbedderIdentity, can: Abilities) -> bool:
    """True if a collection has the fields that this engine writes, and room for vectors of this embedder."""
    there = {field["name"]: (field["type"], field["params"].get("dim")) for field in description["fields"]}
    fields = schema_for(identity, can).fields
    return all(there.get(field.name) == (field.dtype, field.params.get("dim")) for field in fields)
