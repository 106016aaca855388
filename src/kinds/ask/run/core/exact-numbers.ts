/**
 * JSON that keeps every number. JSON has no infinities, no NaN and loses the sign of zero; a leaf
 * may have all of them (`x > +Inf`, `quantile_over_time(NaN, …)`). They travel as texts that begin
 * with `#`, and texts that really begin with `#` get one more.
 */
export function stringifyExact(value: unknown): string {
  // Without a function to call for each value, JSON.stringify takes a fifth of the time.
  if (isPlainTree(value)) return JSON.stringify(value);
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === "number") return isPlain(each) ? each : `#${show(each)}`;
    return typeof each === "string" && each.startsWith("#") ? `#${each}` : each;
  });
}

/** Throws `SyntaxError` for what is not JSON. */
export function parseExact(text: string): unknown {
  if (!text.includes('"#')) return JSON.parse(text);
  return JSON.parse(text, (_key, each: unknown) => {
    if (typeof each !== "string" || !each.startsWith("#")) return each;
    return each.startsWith("##") ? each.slice(1) : Number(each.slice(1));
  });
}

/** Whether JSON keeps everything in it. */
function isPlainTree(value: unknown): boolean {
  switch (typeof value) {
    case "number":
      return isPlain(value);
    case "string":
      return !value.startsWith("#");
    case "object":
      return value === null || Object.values(value).every(isPlainTree);
    default:
      return true;
  }
}

function isPlain(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0);
}

function show(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}
