/** The known word that was probably meant, for an error about a word that is not known. */

const wordLengthMax = 64;

/**
 * Returns undefined when no word is near: when more than a third of the letters differ, and
 * `isAlsoNear` accepts none. Upper and lower case do not matter.
 */
export function nearestWord(
  word: string,
  known: Iterable<string>,
  isAlsoNear: (candidate: string) => boolean = () => false,
): string | undefined {
  const wanted = word.toUpperCase().slice(0, wordLengthMax);
  const distanceMax = Math.max(1, Math.floor(wanted.length / 3));
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const isNear = isAlsoNear(candidate);
    const bound = isNear ? bestDistance : Math.min(bestDistance, distanceMax + 1);
    if (Math.abs(candidate.length - wanted.length) >= bound) continue;
    const distance = editDistance(wanted, candidate.toUpperCase());
    if (distance >= bound) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Counts letters that were added, left out or changed. Two that changed places count half. */
function editDistance(left: string, right: string): number {
  let before: readonly number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          (previous[column - 1] ?? 0) + (isSame ? 0 : 1),
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          isSwapped && row > 1 ? (before[column - 2] ?? 0) + 0.5 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}
