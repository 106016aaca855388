/**
 * For long computations in a shared thread: every few milliseconds they pause, so that others get
 * their turn, and check whether their own answer is still wanted.
 */
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { Call } from "../../../ground/threads/index.ts";

/** Called between two parts of the work. Returns `undefined` to go on; throws `cancelled`. */
export type Rest = () => Promise<void> | undefined;

const turnMs = 8;

export function paceOf(clock: Clock, stop: Pick<Call, "check">): Rest {
  let beganMs = clock.nowMs();
  return () => {
    stop.check();
    if (clock.nowMs() - beganMs < turnMs) return undefined;
    return new Promise<void>((resolve) => {
      clock.after(0, () => {
        beganMs = clock.nowMs();
        resolve();
      });
    }).then(() => stop.check());
  };
}

/** The length of runs that are sorted in one go; merging them pauses in between. */
const runLength = 4_096;

/** A stable sort with the same result as `items.sort(compare)`. */
export async function sortAtPace<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  rest: Rest,
): Promise<readonly T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += runLength) {
    runs.push(items.slice(start, start + runLength).sort(compare));
    await rest();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left = [], right] = runs.slice(index, index + 2);
      merged.push(right === undefined ? left : await mergeRuns(left, right, compare, rest));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function mergeRuns<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  rest: Rest,
): Promise<T[]> {
  const merged: T[] = [];
  let [l, r] = [0, 0];
  while (l < left.length || r < right.length) {
    const isLeft =
      r >= right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0);
    merged.push((isLeft ? left[l++] : right[r++]) as T);
    if (merged.length % runLength === 0) await rest();
  }
  return merged;
}
