/** Whether two results differ relatively by less than 1e-6, as in Prometheus's own tests. */
const epsilon = 0.000001;
const leastNormal = 2 ** -1022;

export function almostEqual(a: number, b: number): boolean {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) && Number.isNaN(b);
  if (a === b) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < leastNormal) return difference < epsilon * leastNormal;
  return difference / Math.min(sum, Number.MAX_VALUE) < epsilon;
}
