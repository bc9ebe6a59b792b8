// Numbers and times the way people read them.
const UNITS = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"], [30 * 86400, 86400, "d"]];
const DATE = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const WHOLE = new Intl.NumberFormat("en");

export const count = (number) => WHOLE.format(number ?? 0);

export function counted(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

export function ago(text, now = Date.now()) {
  if (!text) return "never";
  const seconds = (now - Date.parse(text)) / 1000;
  if (seconds < 1) return "just now";
  for (const [below, unit, name] of UNITS) if (seconds < below) return `${Math.floor(seconds / unit)} ${name} ago`;
  return DATE.format(new Date(text));
}

export const moment = (text) => (text ? MOMENT.format(new Date(text)) : "");
export const two = (number) => Number(number).toFixed(2);
export function signed(number) {
  const figures = Math.abs(number).toFixed(2);
  return figures === "0.00" ? figures : `${number < 0 ? "−" : "+"}${figures}`;
}
export const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");

export function lasted(from, to) {
  if (!from || !to) return "";
  const seconds = Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

// Long texts are cut for the screen, and say so; nothing is lost by it.
export const PART_CHARS = 20000;
export function cut(text, most = PART_CHARS) {
  const whole = text ?? "";
  return whole.length <= most ? whole : `${whole.slice(0, most)}…`;
}

// Ended where a word ends, if there is one: neither a word nor a sign of two halves is torn.
export function inParts(text, most) {
  const parts = [];
  for (let start = 0; start < text.length; start += parts.at(-1).length) {
    const part = text.slice(start, start + most);
    const end = start + most < text.length ? part.search(/\s\S{0,200}$/) : -1;
    const torn = /[\uD800-\uDBFF]$/.test(part);
    parts.push(end > 0 ? part.slice(0, end + 1) : torn ? part.slice(0, -1) : part);
  }
  return parts;
}
