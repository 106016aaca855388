/** Existing names similar to a missing one, nearest first, for error messages. */
export function similarNames(
  wanted: string,
  names: readonly string[],
  countMax = 3,
): readonly string[] {
  const target = wanted.toLowerCase();
  const distanceMax = Math.max(1, Math.floor(target.length / 3));
  return names
    .map((name) => ({ name, distance: distanceOf(target, name.toLowerCase()) }))
    .filter(
      ({ name, distance }) => distance <= distanceMax || name.toLowerCase().startsWith(target),
    )
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, countMax)
    .map(({ name }) => name);
}

/** The Levenshtein distance. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
