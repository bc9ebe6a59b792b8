// Paints a graph bit by bit: edges, then nodes, then as many names as have room. Yields after each bit.
const AT_A_TIME = 200;
const MOST_ARROWS = 1500;
const MOST_NAMES = 70;
const NAMES_AT_A_TIME = 40;
const NAME_CELL = [12, 10];
const NAMED_FROM_PX = 5.5;
const ALL_NAMED = 60;
const FONT = "12px ui-sans-serif, system-ui, sans-serif";

export const radius = (node, zoom) => Math.max(1.4, node.size * zoom);

// How a node looks now: [colour, larger by, its name is wanted]; null when it is hidden.
function nodeLook({ lit, chosen, near, hidden, theme }, node) {
  if (hidden(node.id)) return null;
  if (lit) return lit.nodes.has(node.id) ? [node.colour, 2, true] : [theme.line, 0, false];
  if (chosen) return near.has(node.id) ? [node.colour, node.id === chosen ? 2 : 0, true] : [theme.line, 0, false];
  return [node.colour, 0, null];
}

function linkLook({ lit, chosen, theme }, link) {
  if (lit) return lit.edges.has(link.id) ? [theme.accent, 3] : [theme.line, 0.6];
  if (chosen) return link.source.id === chosen || link.target.id === chosen ? [theme.muted, 1.8] : [theme.line, 0.6];
  return [theme["strong-line"], Math.round(2 * link.width) / 2];
}

function grouped(things, keyed) {
  const groups = new Map();
  for (const [key, thing] of keyed(things)) {
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(thing);
  }
  return groups;
}

export function* paint(context, { nodes, links, named, lit, chosen, hidden, theme }, { view: [scale, dx, dy], width, height, edges, zoom }) {
  const near = new Set([chosen]);
  if (chosen) for (const { source, target } of links) if (source.id === chosen || target.id === chosen) near.add(source.id).add(target.id);
  const state = { lit, chosen, near, hidden, theme };
  const looks = new Map();
  for (const node of nodes) {
    const look = nodeLook(state, node);
    if (look) looks.set(node, look);
  }
  const x = (node) => node.x * scale + dx, y = (node) => node.y * scale + dy;
  const outside = (a, b) => Math.max(a[0], b[0]) < 0 || Math.min(a[0], b[0]) > width || Math.max(a[1], b[1]) < 0 || Math.min(a[1], b[1]) > height;
  yield;
  // What is lit lies above what is not.
  const lines = grouped(links, function* () {
    for (const link of links) {
      if (!looks.has(link.source) || !looks.has(link.target)) continue;
      const from = [x(link.source), y(link.source)], to = [x(link.target), y(link.target)];
      if (!outside(from, to)) yield [linkLook(state, link).join(" "), [link, from, to]];
    }
  });
  let drawn = 0;
  for (const group of lines.values()) drawn += group.length;
  yield;
  for (const [key, group] of [...lines].sort(([a], [b]) => Number(a.split(" ").pop()) - Number(b.split(" ").pop()))) {
    const at = key.lastIndexOf(" ");
    context.strokeStyle = context.fillStyle = key.slice(0, at);
    context.lineWidth = Number(key.slice(at + 1));
    for (let first = 0; first < group.length; first += AT_A_TIME) {
      const part = group.slice(first, first + AT_A_TIME);
      context.beginPath();
      for (const [, from, to] of part) {
        context.moveTo(...from);
        context.lineTo(...to);
      }
      context.stroke();
      if (drawn <= MOST_ARROWS) arrows(context, part, zoom);
      yield;
    }
  }
  const dots = grouped(nodes, function* () {
    for (const [node, [colour, larger]] of looks) {
      const size = radius(node, zoom) + larger, at = [x(node), y(node)];
      if (at[0] > -size && at[0] < width + size && at[1] > -size && at[1] < height + size) yield [colour, [...at, size]];
    }
  });
  // Those that stand back first.
  for (const [colour, group] of [...dots].sort(([a], [b]) => (b === theme.line) - (a === theme.line))) {
    context.fillStyle = colour;
    for (let first = 0; first < group.length; first += AT_A_TIME) {
      context.beginPath();
      for (const [left, top, size] of group.slice(first, first + AT_A_TIME)) {
        context.moveTo(left + size, top);
        context.arc(left, top, size, 0, 2 * Math.PI);
      }
      context.fill();
      yield;
    }
  }
  yield* names(context, named, looks, { x, y, width, height, edges, zoom, theme });
}

function arrows(context, part, zoom) {
  context.beginPath();
  for (const [{ target }, [ax, ay], [bx, by]] of part) {
    const far = Math.hypot(bx - ax, by - ay), rim = radius(target, zoom);
    if (far < rim + 12) continue;
    const ux = (bx - ax) / far, uy = (by - ay) / far, tipX = bx - ux * rim, tipY = by - uy * rim, long = 5 + context.lineWidth;
    context.moveTo(tipX, tipY);
    context.lineTo(tipX - ux * long - uy * long * 0.45, tipY - uy * long + ux * long * 0.45);
    context.lineTo(tipX - ux * long + uy * long * 0.45, tipY - uy * long - ux * long * 0.45);
  }
  context.fill();
}

const cellOf = (left, top) => `${Math.floor(top / NAME_CELL[1])} ${Math.floor(left / NAME_CELL[0])}`;

function cellsOf(left, wide, top) {
  const cells = [];
  for (let at = left; at < left + wide + NAME_CELL[0]; at += NAME_CELL[0]) cells.push(cellOf(at, top), cellOf(at, top - NAME_CELL[1]));
  return cells;
}

// On the right of its node; where the view ends there or something lies in its way, on the left; or nowhere. One that is
// wanted goes under or over its node then, and over others rather than out of the view.
function placeOf(node, { at: [x, y], size, wide, edges, taken, wanted }) {
  const beside = [[x + size + 4, y], [x - size - 4 - wide, y]], across = [[x - wide / 2, y + size + 14], [x - wide / 2, y - size - 12]];
  const free = ([left, top]) => cellsOf(left, wide, top).every((cell) => !taken.has(cell) || taken.get(cell) === node);
  const whole = ([left]) => !edges.some((edge) => left < edge && left + wide > edge);
  const places = (wanted ? [...beside, ...across] : beside).filter(whole);
  return places.find(free) ?? (wanted ? places[0] ?? beside[0] : null);
}

// The largest nodes first; a name that would lie over another one or over a node is left out, unless it is wanted.
function* names(context, named, looks, { x, y, width, height, edges, zoom, theme }) {
  const taken = new Map();
  const wanted = (node) => looks.get(node)?.[2];
  for (const node of looks.keys()) taken.set(cellOf(x(node), y(node)), node);
  let drawn = 0, tried = 0;
  for (const node of [...named.filter((one) => wanted(one)), ...named.filter((one) => wanted(one) === null)]) {
    const size = radius(node, zoom), at = [x(node), y(node) + 4];
    if (drawn >= MOST_NAMES) break;
    if (size < NAMED_FROM_PX && !wanted(node) && named.length > ALL_NAMED) continue;
    if (at[0] < 0 || at[0] > width || at[1] < 0 || at[1] > height) continue;
    Object.assign(context, { font: FONT, lineWidth: 3, lineJoin: "round", strokeStyle: theme.raised, fillStyle: theme.ink });
    const wide = context.measureText(node.name).width;
    const place = placeOf(node, { at, size, wide, edges, taken, wanted: wanted(node) });
    if (++tried % NAMES_AT_A_TIME === 0) yield;
    if (place === null) continue;
    for (const cell of cellsOf(place[0], wide, place[1])) taken.set(cell, null);
    context.strokeText(node.name, ...place);
    context.fillText(node.name, ...place);
    drawn += 1;
  }
}
