// What changed between two texts, word by word: the longest run of common words stays, the rest is taken out or put in.
const MOST_WORDS = 1500;

export function diff(before, after) {
  let one = before.split(/(\s+)/), other = after.split(/(\s+)/), ahead = 0, behind = 0;
  const shorter = Math.min(one.length, other.length);
  while (ahead < shorter && one[ahead] === other[ahead]) ahead += 1;
  while (behind < shorter - ahead && one.at(-1 - behind) === other.at(-1 - behind)) behind += 1;
  const [first, last] = [one.slice(0, ahead).join(""), one.slice(one.length - behind).join("")];
  [one, other] = [one.slice(ahead, one.length - behind), other.slice(ahead, other.length - behind)];
  const between = compare(one, other);
  return [["same", first], ...between, ["same", last]].filter(([, text]) => text);
}

function compare(one, other) {
  if (one.length > MOST_WORDS || other.length > MOST_WORDS) return [["gone", one.join("")], ["come", other.join("")]];
  const width = other.length + 1;
  const common = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      common[i * width + j] = one[i] === other[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const parts = [];
  const add = (kind, word) => (parts.at(-1)?.[0] === kind ? (parts.at(-1)[1] += word) : parts.push([kind, word]));
  let i = 0, j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) add("same", one[i++]), j++;
    else if (j >= other.length || (i < one.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) add("gone", one[i++]);
    else add("come", other[j++]);
  }
  return parts;
}
