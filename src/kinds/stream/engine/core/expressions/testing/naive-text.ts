/** The meaning of the functions of texts and times, on strings and dates: a part of the oracle. */
import { DialectError, type FunctionName, type TypeName } from "../../../../language/core/index.ts";

type Value = boolean | number | bigint | string;

/** `undefined`: not a function of this file. */
export function textFunctionNaively(
  fn: FunctionName,
  values: readonly Value[],
  type: TypeName,
): Value | null | undefined {
  const [a, b, c] = values as [string, string, string];
  const characters = [...String(a)];
  switch (fn) {
    case "upper":
      return a.toUpperCase();
    case "lower":
      return a.toLowerCase();
    case "trim":
      return a.replace(/^ +/, "").replace(/ +$/, "");
    case "ltrim":
      return a.replace(/^ +/, "");
    case "rtrim":
      return a.replace(/ +$/, "");
    case "substring": {
      const first = Number(values[1]);
      const length = values.length > 2 ? Math.max(0, Number(values[2])) : Infinity;
      return characters
        .filter((_, index) => index + 1 >= first && index + 1 < first + length)
        .join("");
    }
    case "position": {
      const index = a.indexOf(b);
      return BigInt(index < 0 ? 0 : [...a.slice(0, index)].length + 1);
    }
    case "replace":
      return b === "" ? a : a.split(b).join(c);
    case "starts_with":
      return a.startsWith(b);
    case "ends_with":
      return a.endsWith(b);
    case "contains":
      return a.includes(b);
    case "split_part": {
      const parts = b === "" ? [a] : a.split(b);
      const index = Number(values[2]);
      return (index > 0 ? parts[index - 1] : index < 0 ? parts.at(index) : undefined) ?? "";
    }
    case "to_base64":
      return Buffer.from(a).toString("base64");
    case "from_base64":
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(a) || a.replace(/=/g, "").length % 4 === 1) {
        throw new DialectError(4003, a);
      }
      return new TextDecoder().decode(Buffer.from(a, "base64"));
    case "like":
      return new RegExp(`^${likeToRegExp(b)}$`, "su").test(a);
    case "regexp_matches":
      return new RegExp(b, "su").test(a);
    case "regexp_extract":
      return new RegExp(b, "su").exec(a)?.[Number(values[2])] ?? null;
    case "regexp_replace": {
      let behind = -1;
      return a.replace(new RegExp(b, "gsu"), (...found) => {
        const [whole, at] = [String(found[0]), Number(found.at(-2))];
        const isRepeated = whole === "" && at === behind;
        behind = at + whole.length;
        if (isRepeated) return "";
        return c.replace(/\\([0-9\\])/g, (_, which: string) =>
          which === "\\" ? which : String(found.slice(0, -2)[Number(which)] ?? ""),
        );
      });
    }
    case "json_extract":
      return extracted(a, b);
    case "parse_iso_time": {
      const ms = Date.parse(/[Tt ]/.test(a) && !/(Z|[+-]\d\d:\d\d)$/.test(a) ? `${a}Z` : a);
      const isDate = new Date(`${a.slice(0, 10)}Z`).getUTCDate() === Number(a.slice(8, 10));
      if (
        !/^\d{4}-\d\d-\d\d/.test(a) ||
        !isDate ||
        Number.isNaN(ms) ||
        (type === "UINT64" && ms < 0)
      ) {
        throw new DialectError(4003, a);
      }
      return BigInt(ms);
    }
    default:
      return timeFunctionNaively(fn, values);
  }
}

function likeToRegExp(pattern: string): string {
  return pattern.replace(/\\?[\s\S]/gu, (part) => {
    if (part === "%") return ".*";
    if (part === "_") return ".";
    const literal = part.length > 1 && part.startsWith("\\") ? part.slice(1) : part;
    return literal.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  });
}

function extracted(text: string, path: string): string | null {
  try {
    let value = JSON.parse(text) as unknown;
    for (const [, key, index] of path.matchAll(/\.(\w+)|\[(\d+)\]/g)) {
      if (typeof value !== "object" || value === null) return null;
      if (Array.isArray(value) !== (index !== undefined)) return null;
      value = (value as Record<string, unknown>)[key ?? index ?? ""];
    }
    if (value === undefined || value === null) return null;
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch {
    return null;
  }
}

/** Years that `Date` does not reach are moved by cycles of 400 years, which are alike. */
function timeFunctionNaively(fn: FunctionName, values: readonly Value[]): Value | undefined {
  const time = values.at(-1);
  if (typeof time !== "bigint") return undefined;
  const cycle = 146_097n * 86_400_000n;
  const cycles = time / cycle;
  const date = new Date(Number(time - cycles * cycle));
  const years = BigInt(date.getUTCFullYear()) + cycles * 400n;
  const back = (ms: number): bigint => BigInt(ms) + cycles * cycle;
  const dayMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  switch (fn) {
    case "year_of":
      return years;
    case "month_of":
      return BigInt(date.getUTCMonth() + 1);
    case "day_of":
      return BigInt(date.getUTCDate());
    case "hour_of":
      return BigInt(date.getUTCHours());
    case "minute_of":
      return BigInt(date.getUTCMinutes());
    case "second_of":
      return BigInt(date.getUTCSeconds());
    case "day_of_week":
      return BigInt(date.getUTCDay());
    case "format_iso_time":
      return `${String(years).padStart(4, "0")}${date.toISOString().replace(/^[+-]?\d+/, "")}`;
    case "date_trunc":
      switch (values[0]) {
        case "second":
          return back(date.setUTCMilliseconds(0));
        case "minute":
          return back(date.setUTCSeconds(0, 0));
        case "hour":
          return back(date.setUTCMinutes(0, 0, 0));
        case "day":
          return back(dayMs);
        case "week":
          return back(dayMs - ((date.getUTCDay() + 6) % 7) * 86_400_000);
        case "month":
          return back(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
        default:
          return back(Date.UTC(date.getUTCFullYear(), 0, 1));
      }
    default:
      return undefined;
  }
}
