/** Natural order: runs of digits compare as numbers, so that "node10" comes after "node9". */
import { compareText } from "../../labels.ts";

const runs = /\d+|\D+/g;
const wholeMax = 2n ** 63n - 1n;

/** Whether `a` precedes `b`, like in Prometheus. The texts must differ. */
export function precedesNaturally(a: string, b: string): boolean {
  const runsA = a.match(runs) ?? [];
  const runsB = b.match(runs) ?? [];
  for (const [index, runA] of runsA.entries()) {
    const runB = runsB[index];
    if (runB === undefined) return false;
    const order = compareRuns(runA, runB);
    if (order !== 0) return order < 0;
    if (index === runsA.length - 1) return true;
    if (index === runsB.length - 1) return false;
  }
  return false;
}

function compareRuns(a: string, b: string): number {
  const wholeA = parseWhole(a);
  const wholeB = parseWhole(b);
  if (wholeA === undefined || wholeB === undefined) return compareText(a, b);
  return wholeA < wholeB ? -1 : wholeA > wholeB ? 1 : 0;
}

/** Undefined for numbers beyond 64 bits, which compare as text. */
function parseWhole(run: string): bigint | undefined {
  if (!/^[0-9]/.test(run)) return undefined;
  const whole = BigInt(run);
  return whole <= wholeMax ? whole : undefined;
}
