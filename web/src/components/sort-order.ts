/** The order of lists that are sorted by a column. Pure. */

export type SortValue = string | number | null | undefined;

const collator = new Intl.Collator("en", { numeric: true });

/** Unknown values come last, in either direction. */
export function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  const left = a ?? undefined;
  const right = b ?? undefined;
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined);
  }
  const ascending =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : compareNames(String(left), String(right));
  return descending ? -ascending : ascending;
}

/** Compares numbers in names as numbers: worker-2 is before worker-10. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b);
}
