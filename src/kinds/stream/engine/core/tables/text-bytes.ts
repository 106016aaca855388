/** Texts are compared and copied as bytes: UTF-8 sorts like its code points. */

/** Less than 0, 0 or more than 0, as the first text is less, equal or greater. */
export function compareBytes(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): number {
  const length = Math.min(aTo - aFrom, bTo - bFrom);
  for (let i = 0; i < length; i += 1) {
    const difference = (a[aFrom + i] as number) - (b[bFrom + i] as number);
    if (difference !== 0) return difference;
  }
  return aTo - aFrom - (bTo - bFrom);
}

export function equalBytes(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): boolean {
  const length = aTo - aFrom;
  if (length !== bTo - bFrom) return false;
  for (let i = 0; i < length; i += 1) if (a[aFrom + i] !== b[bFrom + i]) return false;
  return true;
}
