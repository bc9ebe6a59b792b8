"""Graphs as files of other tools: GraphML, Cypher, JSON nodes and links; written as streams, read whole or not."""
