// Word diffs: the longest common run of words kept, what went and what came marked.

const WORDS_MAX = 600;

export function diff(before, after) {
  const a = words(before), b = words(after);
  if (a.length > WORDS_MAX || b.length > WORDS_MAX) return [{ kind: "went", text: before }, { kind: "came", text: after }];
  const length = table(a, b);
  const found = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { push(found, "kept", a[i++]); j++; }
    else if (j < b.length && (i === a.length || length[i][j + 1] >= length[i + 1][j])) push(found, "came", b[j++]);
    else push(found, "went", a[i++]);
  }
  return found;
}

function words(text) {
  return text.match(/\s*\S+\s*/gu) || [];
}

function table(a, b) {
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[i][j] = a[i] === b[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  return length;
}

function push(found, kind, text) {
  const last = found[found.length - 1];
  if (last && last.kind === kind) last.text += text;
  else found.push({ kind, text });
}
