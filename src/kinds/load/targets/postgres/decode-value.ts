/**
 * A column's text as a JSON value: what JSON has exactly becomes that, everything else stays text.
 */
const integerOids = new Set([20, 21, 23, 26]);
const floatOids = new Set([700, 701]);
const booleanOid = 16;
const numericOid = 1700;
const jsonOids = new Set([114, 3802]);

export function decodeValue(oid: number, text: string): unknown {
  if (oid === booleanOid) return text === "t";
  if (jsonOids.has(oid)) return JSON.parse(text);
  if (integerOids.has(oid)) return exactNumber(text);
  if (floatOids.has(oid)) return finiteNumber(text);
  // What sum() of BIGINTs is: a number where it is one.
  if (oid === numericOid && /^-?\d+$/.test(text)) return exactNumber(text);
  return text;
}

function exactNumber(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

function finiteNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text; // `NaN` and `Infinity` are no JSON.
}
