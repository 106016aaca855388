/**
 * Column statistics: least and greatest value as texts, compared by the column's type. An unknown
 * bound is NULL, which is always safe. A wrong bound gives wrong answers, because readers take
 * `min()` and `max()` from it.
 */
export interface ColumnSummary {
  readonly containsNull: boolean | undefined;
  readonly containsNan: boolean | undefined;
  readonly min: string | undefined;
  readonly max: string | undefined;
}

export interface FileSummary extends ColumnSummary {
  /** Whether any value is not NULL. Without values, missing bounds mean nothing. */
  readonly hasValues: boolean;
}

/** Undefined when texts of this type cannot be compared. */
export function compareStatistics(type: string, a: string, b: string): number | undefined {
  const lower = type.toLowerCase();
  if (/^u?int(8|16|32|64)$/.test(lower)) return compareIntegers(a, b);
  if (lower.startsWith("decimal(")) return compareDecimals(a, b);
  if (lower === "float32" || lower === "float64") return compareFloats(a, b);
  if (lower === "boolean") return compareTexts(booleanText(a), booleanText(b));
  if (/^(date|time|timestamp|timestamptz|time_ns|timestamp_(s|ms|us|ns))$/.test(lower)) {
    // Years of four digits compare as texts do; others have a sign, more digits or "(BC)".
    const isPlain = /^(\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d)[ \d:.+]*$/;
    return isPlain.test(a) && isPlain.test(b) ? compareTexts(a, b) : undefined;
  }
  if (/^(varchar|json|blob|uuid)$/.test(lower)) return compareTexts(a, b);
  return undefined;
}

/** Adds a file's summary to `whole`, the summary of the rows so far. */
export function mergeSummaries(
  type: string,
  whole: ColumnSummary,
  file: FileSummary,
): ColumnSummary {
  return {
    containsNull: either(whole.containsNull, file.containsNull),
    containsNan: either(whole.containsNan, file.containsNan),
    min: file.hasValues ? extreme(type, whole.min, file.min, -1) : whole.min,
    max: file.hasValues ? extreme(type, whole.max, file.max, 1) : whole.max,
  };
}

/** The summary of several files. */
export function summarize(type: string, files: readonly FileSummary[]): ColumnSummary {
  const [first, ...rest] = [...files].sort((a, b) => Number(b.hasValues) - Number(a.hasValues));
  if (first === undefined) {
    return { containsNull: false, containsNan: undefined, min: undefined, max: undefined };
  }
  return rest.reduce<ColumnSummary>((whole, file) => mergeSummaries(type, whole, file), first);
}

function either(a: boolean | undefined, b: boolean | undefined): boolean | undefined {
  return a === undefined && b === undefined ? undefined : a === true || b === true;
}

function extreme(
  type: string,
  a: string | undefined,
  b: string | undefined,
  sign: 1 | -1,
): string | undefined {
  if (a === undefined || b === undefined) return undefined;
  const order = compareStatistics(type, a, b);
  if (order === undefined) return undefined;
  return order * sign >= 0 ? a : b;
}

function compareIntegers(a: string, b: string): number | undefined {
  if (!/^-?\d+$/.test(a) || !/^-?\d+$/.test(b)) return undefined;
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

const decimalText = /^(-?)(\d+)(?:\.(\d+))?$/;

function compareDecimals(a: string, b: string): number | undefined {
  const [x, y] = [decimalText.exec(a), decimalText.exec(b)];
  if (x === null || y === null) return undefined;
  const scale = Math.max(x[3]?.length ?? 0, y[3]?.length ?? 0);
  const scaled = ([, sign, whole, part]: RegExpExecArray): string =>
    `${sign}${whole}${(part ?? "").padEnd(scale, "0")}`;
  return compareIntegers(scaled(x), scaled(y));
}

function compareFloats(a: string, b: string): number | undefined {
  const [x, y] = [floatOf(a), floatOf(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return undefined;
  return x < y ? -1 : x > y ? 1 : 0;
}

function floatOf(text: string): number {
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return text.trim() === "" ? Number.NaN : Number(text);
}

function booleanText(text: string): string {
  return text === "true" ? "1" : text === "false" ? "0" : text;
}

/** Compares by code points, as DuckDB's byte order does, not by UTF-16 units. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x === y) continue;
    const bothSurrogateOrNot = isSurrogate(x) === isSurrogate(y);
    return bothSurrogateOrNot ? (x < y ? -1 : 1) : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
