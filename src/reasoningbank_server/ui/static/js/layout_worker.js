// Lays a graph out by ForceAtlas2, off the page's own thread: takes indexes of the ends of edges, gives places back.
import iterate from "../vendor/forceatlas2.js";

const PER_NODE = 10;
const PER_EDGE = 3;
const AT_A_TIME = 8;
const LONGEST_MS = 6000;

onmessage = ({ data: { count, ends, weights, start } }) => {
  const nodes = new Float32Array(count * PER_NODE);
  const edges = new Float32Array((ends.length / 2) * PER_EDGE);
  for (let i = 0; i < count; i++) {
    const at = i * PER_NODE;
    nodes[at] = start[2 * i];
    nodes[at + 1] = start[2 * i + 1];
    nodes[at + 6] = nodes[at + 7] = nodes[at + 8] = 1;
  }
  for (let i = 0; i < ends.length / 2; i++) {
    const source = ends[2 * i] * PER_NODE, target = ends[2 * i + 1] * PER_NODE;
    edges.set([source, target, weights[i]], i * PER_EDGE);
    nodes[source + 6] += weights[i];
    nodes[target + 6] += weights[i];
  }
  const settings = {
    linLogMode: false, outboundAttractionDistribution: false, adjustSizes: false, edgeWeightInfluence: 1, scalingRatio: 8,
    strongGravityMode: true, gravity: count > 200 ? 0.02 : 0.05, slowDown: 1 + Math.log(count + 1), barnesHutOptimize: count > 300, barnesHutTheta: 0.6,
  };
  const rounds = count > 2000 ? 160 : count > 300 ? 300 : 600;
  const began = performance.now();
  const step = (done) => {
    for (let i = 0; i < AT_A_TIME; i++) iterate(settings, nodes, edges);
    const over = done + AT_A_TIME >= rounds || performance.now() - began > LONGEST_MS;
    const places = new Float32Array(count * 2);
    for (let i = 0; i < count; i++) places.set([nodes[i * PER_NODE], nodes[i * PER_NODE + 1]], 2 * i);
    postMessage({ places, over }, [places.buffer]);
    if (!over) setTimeout(step, 0, done + AT_A_TIME);
  };
  step(0);
};
