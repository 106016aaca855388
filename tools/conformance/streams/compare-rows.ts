/**
 * Compares rows as multisets, as the suite does: numbers by relative error, texts with or without
 * quotes, fields separated by commas or by blanks. `undefined` means that they are equal.
 */

const errorMax = 1e-5;

export function compareRows(
  expected: readonly string[],
  actual: readonly string[],
  columnCount: number,
): string | undefined {
  if (expected.length !== actual.length) {
    return `${expected.length} rows expected, ${actual.length} came${sample(expected, actual)}`;
  }
  const wanted = expected.map((row) => splitExpected(row, columnCount)).sort(byFields);
  const came = actual.map((row) => splitRow(row)).sort(byFields);
  const open: string[][] = [];
  const left = new Set<number>();
  for (const [index, row] of wanted.entries()) {
    const other = came[index];
    if (other === undefined || !areEqual(row, other)) {
      open.push(row);
      left.add(index);
    }
  }
  // Rounding may have sorted neighbours differently, so what is left is matched by search.
  for (const row of open) {
    const found = [...left].find((index) => areEqual(row, came[index] ?? []));
    if (found === undefined) {
      const rest = [...left].slice(0, 3).map((index) => came[index]?.join(","));
      return `no row ${row.join(",")}; left over: ${rest.join(" | ")}`;
    }
    left.delete(found);
  }
  return undefined;
}

/** Our own output: CSV whose quotes, if any, are doubled inside. */
export function splitRow(row: string): string[] {
  if (row.startsWith("{")) return jsonFields(row) ?? [row];
  return splitAt(row, ",");
}

function splitExpected(row: string, columnCount: number): string[] {
  if (row.startsWith("{")) return jsonFields(row) ?? [row];
  if (columnCount === 1) return [unquote(row.trim())];
  const candidates = [splitAt(row, ","), splitAt(row, " ").filter((field) => field !== "")];
  return candidates.find((fields) => fields.length === columnCount) ?? splitAt(row, ",");
}

function splitAt(row: string, separator: string): string[] {
  const fields: string[] = [];
  let field = "";
  let isQuoted = false;
  for (const character of row) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === separator && !isQuoted) {
      fields.push(unquote(field.trim()));
      field = "";
    } else field += character;
  }
  fields.push(unquote(field.trim()));
  return fields;
}

/** Values that keep the quotes of their input are quoted twice. */
function unquote(field: string): string {
  if (field.length < 2 || !field.startsWith('"') || !field.endsWith('"')) return field;
  return unquote(field.slice(1, -1).replaceAll('""', '"'));
}

function jsonFields(row: string): string[] | undefined {
  try {
    const fields = JSON.parse(row) as Record<string, unknown>;
    return Object.entries(fields)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([key, value]) => [key, value === null ? "NULL" : String(value)]);
  } catch {
    return undefined;
  }
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return areWordsEqual(one, other);
  return one.every((field, index) => isSame(field, other[index] ?? ""));
}

/** Texts with blanks, in a row that is separated by blanks, can be told by their words only. */
function areWordsEqual(one: readonly string[], other: readonly string[]): boolean {
  const [a, b] = [one, other].map((fields) =>
    fields
      .join(" ")
      .trim()
      .split(/[\s,]+/),
  );
  return (
    a !== undefined &&
    a.length === b?.length &&
    a.every((word, index) => isSame(word, b[index] ?? ""))
  );
}

function isSame(one: string, other: string): boolean {
  if (one === other || one.toUpperCase() === other.toUpperCase()) return true;
  if (one.trim() === "" || other.trim() === "") return false;
  // The suite's own runner reads the beginning of a text as a number, as C++ does.
  const [a, b] = [Number.parseFloat(one), Number(other)];
  if (Number.isNaN(a) || Number.isNaN(b)) return asBoolean(one) === asBoolean(other);
  if (Number.isSafeInteger(a) && Number.isSafeInteger(b)) return a === b;
  if (/^-?\d+$/.test(one) && /^-?\d+$/.test(other)) return BigInt(one) === BigInt(other);
  return Math.abs(a - b) <= errorMax * Math.max(Math.abs(a), Math.abs(b));
}

/** The suite writes booleans as words and as digits. */
function asBoolean(field: string): string {
  const lower = field.toLowerCase();
  if (lower === "true") return "1";
  return lower === "false" ? "0" : lower;
}

function byFields(one: readonly string[], other: readonly string[]): number {
  for (const [index, field] of one.entries()) {
    const [a, b] = [sortable(field), sortable(other[index] ?? "")];
    if (a !== b) return a < b ? -1 : 1;
  }
  return one.length - other.length;
}

function sortable(field: string): string {
  const number = Number(field);
  const isFraction = field.trim() !== "" && !Number.isNaN(number) && !/^-?\d+$/.test(field);
  return isFraction ? number.toPrecision(4) : field;
}

function sample(expected: readonly string[], actual: readonly string[]): string {
  return `; expected first ${expected[0] ?? "nothing"}, came ${actual[0] ?? "nothing"}`;
}
