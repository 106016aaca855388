/** The word among `known` that was probably meant; `undefined`: none is near. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const near = known
    .map((candidate) => ({ candidate, distance: distanceOf(word.toLowerCase(), candidate) }))
    .filter(
      ({ candidate, distance }) =>
        distance <= Math.max(1, Math.floor(word.length / 3)) || isBeginning(word, candidate),
    )
    .sort((left, right) => left.distance - right.distance);
  return near[0]?.candidate;
}

/** `duration` for `duration_seconds`. */
function isBeginning(word: string, candidate: string): boolean {
  const short = word.toLowerCase();
  if (short.length < 3) return false;
  return candidate.startsWith(short) || candidate.split("_").includes(short);
}

/** How many letters must be added, left out, changed, or swapped with their neighbour. */
function distanceOf(left: string, right: string): number {
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let row = 1; row <= left.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= right.length; at += 1) {
      const isSame = left[row - 1] === right[at - 1];
      const isSwapped = left[row - 1] === right[at - 2] && left[row - 2] === right[at - 1];
      next.push(
        Math.min(
          (last[at] ?? 0) + 1,
          (next[at - 1] ?? 0) + 1,
          (last[at - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped && row > 1 ? (before[at - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    before = last;
    last = next;
  }
  return last[right.length] ?? 0;
}
