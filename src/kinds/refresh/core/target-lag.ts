/** Parses durations like `'90 seconds'`, `'1 day 2 hours'` and `'5m'` into milliseconds. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const units: ReadonlyMap<string, number> = new Map(
  (
    [
      [1, "ms msec msecs millisecond milliseconds"],
      [secondMs, "s sec secs second seconds"],
      [minuteMs, "m min mins minute minutes"],
      [hourMs, "h hr hrs hour hours"],
      [dayMs, "d day days"],
      [7 * dayMs, "w week weeks"],
    ] as const
  ).flatMap(([ms, names]) => names.split(" ").map((name) => [name, ms] as const)),
);

export const lagMsMin = 100;
export const lagMsMax = 365 * dayMs;

/** The duration in milliseconds, or the problem with the text. */
export type Duration =
  | { readonly kind: "ms"; readonly ms: number }
  | { readonly kind: "problem"; readonly message: string; readonly hint?: string };

const hint = "Write a number and a unit: '30 seconds', '5 minutes', '1 day 2 hours', '500 ms'.";

/** Parses a target lag, from 100 milliseconds to 365 days. */
export function parseLag(text: string): Duration {
  const duration = parseDuration(text);
  if (duration.kind === "problem") return duration;
  if (duration.ms < lagMsMin) {
    return problem(`'${text}' is too short: the shortest is 100 milliseconds`);
  }
  if (duration.ms > lagMsMax) return problem(`'${text}' is too long: the longest is 365 days`);
  return duration;
}

function parseDuration(text: string): Duration {
  const parts = /[ \t]*([0-9]+(?:\.[0-9]+)?)[ \t]*([A-Za-z]*)[ \t]*,?/y;
  const trimmed = text.trim();
  const seen = new Set<number>();
  let ms = 0;
  while (parts.lastIndex < trimmed.length) {
    const [, digits = "", name = ""] = parts.exec(trimmed) ?? [];
    if (digits === "") return { kind: "problem", message: `'${text}' is no duration`, hint };
    if (name === "") {
      return { kind: "problem", message: `'${text}': ${digits} of what? A unit is missing`, hint };
    }
    const unitMs = units.get(name.toLowerCase());
    if (unitMs === undefined) {
      return { kind: "problem", message: `'${text}': the unit ${name} is not known`, hint };
    }
    if (seen.has(unitMs)) return problem(`'${text}' has the unit ${name} twice`);
    seen.add(unitMs);
    ms += Number(digits) * unitMs;
  }
  if (seen.size === 0) return { kind: "problem", message: "a duration is missing", hint };
  const whole = Math.round(ms);
  if (Math.abs(whole - ms) > 1e-6)
    return problem(`'${text}' is not a whole number of milliseconds`);
  return { kind: "ms", ms: whole };
}

function problem(message: string): Duration {
  return { kind: "problem", message };
}
