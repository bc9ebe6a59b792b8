// Curves by uPlot in the page's own colours; each with a sentence for who cannot see it and a table for who wants figures.
import { html, useEffect, useRef } from "./framework.js";
import { two } from "./words.js";

let loading = null;
const library = () => (loading ??= import("../vendor/uplot.js").then((module) => module.default));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");

const TENTHS = [0.2, 0.5, 1];
function axes(values, incrs) {
  const shared = { stroke: colour("muted"), font: "12px ui-sans-serif, system-ui, sans-serif", ticks: { show: false } };
  return [
    { ...shared, grid: { show: false }, size: (_, labels) => (labels?.some((label) => label?.includes("\n")) ? 40 : 26), space: 70, values: [
      [3600 * 24 * 365, "{YYYY}", null, null, null, null, null, null, 1],
      [3600 * 24 * 28, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
      [3600 * 24, "{D} {MMM}", null, null, null, null, null, null, 1],
      [60, "{H}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
      [1, "{H}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
    ] },
    { ...shared, grid: { stroke: colour("line"), width: 1 }, size: 38, space: 22, values, ...(incrs && { incrs }) },
  ];
}

// Drawn anew when `of` is another one: what the page draws around it does not touch it.
function Chart({ make, data, of, says, height = 170 }) {
  const place = useRef(null);
  useEffect(() => {
    let plot = null;
    let gone = false;
    const draw = () =>
      library().then((uPlot) => {
        if (gone || !place.current) return;
        plot?.destroy();
        const width = place.current.clientWidth;
        plot = new uPlot({ width, height, legend: { show: false }, cursor: { show: false }, padding: [10, 18, 0, 0], ...make(uPlot) }, data, place.current);
      });
    draw();
    const resized = new ResizeObserver(() => plot && place.current && plot.setSize({ width: place.current.clientWidth, height }));
    resized.observe(place.current);
    dark.addEventListener("change", draw);
    return () => {
      gone = true;
      dark.removeEventListener("change", draw);
      resized.disconnect();
      plot?.destroy();
    };
  }, [of]);
  return html`<div class="chart" ref=${place} role="img" aria-label=${says} style=${{ height: `${height}px` }}></div>`;
}

const WIDTH = 0.62;
function columns(uPlot) {
  return { stroke: null, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [WIDTH, 22], radius: 0.12 }) };
}

// Successes upward, failures downward from one line: both are read at a glance, and neither hides the other.
export function TasksChart({ days }) {
  const at = days.map((day) => Date.parse(day.day) / 1000 + 43200);
  const well = days.map((day) => day.succeeded);
  const badly = days.map((day) => -day.failed);
  const most = Math.max(2, ...well), least = Math.min(-1, ...badly);
  const says = `Tasks by day: ${well.reduce((a, b) => a + b, 0)} went well, ${-badly.reduce((a, b) => a + b, 0)} failed.`;
  const make = (uPlot) => ({
    scales: { x: { time: true, range: (_, first, last) => [first - 43199, last + 43199] }, y: { range: [least * 1.1, most * 1.1] } },
    axes: axes((_, splits) => splits.map((n) => (Number.isInteger(n) ? Math.abs(n) : ""))),
    series: [{}, { ...columns(uPlot), fill: colour("good") }, { ...columns(uPlot), fill: colour("bad") }],
  });
  return html`<${Chart} make=${make} data=${[at, well, badly]} of=${days} says=${says} />`;
}

export function SurenessChart({ days }) {
  const at = days.map((day) => Date.parse(day.day) / 1000 + 43200);
  const of = (name) => days.map((day) => day.confidence?.[name] ?? null);
  const middle = of("middle");
  const known = middle.filter((value) => value !== null);
  const says = known.length
    ? `Confidence of the middle memory: ${two(known[0])} at first, ${two(known.at(-1))} now.`
    : "No evidence yet.";
  const make = () => ({
    scales: { x: { time: true }, y: { range: [0, 1] } },
    axes: axes((_, splits) => splits.map((n) => n.toFixed(1)), TENTHS),
    series: [
      {},
      { stroke: colour("accent"), width: 2, points: { show: known.length < 3 } },
      { stroke: "transparent", points: { show: false } },
      { stroke: "transparent", points: { show: false } },
    ],
    bands: [{ series: [3, 2], fill: colour("accent-wash") }],
  });
  return html`<${Chart} make=${make} data=${[at, middle, of("low"), of("high")]} of=${days} says=${says} />`;
}

// The confidence after each piece of evidence, with the piece on it: filled for, hollow against.
export function EvidenceChart({ curve }) {
  const at = [], mean = [], low = [], high = [], good = [], bad = [];
  for (const point of curve) {
    const time = Date.parse(point.at) / 1000;
    at.push(at.length && time <= at.at(-1) ? at.at(-1) + 0.001 : time);
    mean.push(point.confidence);
    low.push(point.confidence_low);
    high.push(point.confidence_high);
    good.push(point.signal?.positive === true ? point.confidence : null);
    bad.push(point.signal?.positive === false ? point.confidence : null);
  }
  at.push(Math.max(Date.now() / 1000, (at.at(-1) ?? 0) + 1));
  for (const column of [mean, low, high]) column.push(column.at(-1));
  good.push(null);
  bad.push(null);
  const says = `Confidence from ${two(mean[0])} to ${two(mean.at(-1))} over ${curve.length - 1} pieces of evidence.`;
  const dots = (name) => ({ stroke: "transparent", width: 0, points: { show: true, size: 9, fill: colour(name), stroke: colour("paper"), width: 1.5 } });
  const make = (uPlot) => {
    const stepped = uPlot.paths.stepped({ align: 1 });
    return {
      scales: { x: { time: true }, y: { range: [0, 1] } },
      axes: axes((_, splits) => splits.map((n) => n.toFixed(1)), TENTHS),
      series: [
        {},
        { stroke: colour("ink"), width: 1.5, points: { show: false }, paths: stepped },
        { stroke: "transparent", points: { show: false }, paths: stepped },
        { stroke: "transparent", points: { show: false }, paths: stepped },
        dots("good"),
        dots("bad"),
      ],
      bands: [{ series: [3, 2], fill: colour("wash") }],
    };
  };
  return html`<${Chart} make=${make} data=${[at, mean, low, high, good, bad]} of=${curve} says=${says} height=${224} />`;
}

// A value with its interval on a line through nought.
export function Whisker({ of, reach = 1 }) {
  const x = (value) => 60 + (56 * Math.max(-reach, Math.min(reach, value))) / reach;
  const sure = of.low > 0 ? "good" : of.high < 0 ? "bad" : "unsure";
  return html`<svg class=${`whisker ${sure}`} viewBox="0 0 120 16" width="120" height="16" aria-hidden="true">
    <line class="nought" x1="60" x2="60" y1="1" y2="15" />
    <line class="reach" x1=${x(of.low)} x2=${x(of.high)} y1="8" y2="8" />
    <circle cx=${x(of.value)} cy="8" r="3.5" />
  </svg>`;
}
