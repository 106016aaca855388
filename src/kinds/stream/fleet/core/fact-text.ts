/** A fragment's report as a fact: JSON of a bounded length. */
import type { FragmentReport } from "./commands.ts";

/** What a fact may have at most. */
const lengthMax = 4_096;

/** A message that is too long is cut; control characters take six characters each in JSON. */
export function factTextOf(report: FragmentReport): string {
  for (let length = lengthMax; ; length = Math.floor(length / 2)) {
    const text = JSON.stringify({ ...report, error: cut(report.error, length) });
    if (text.length <= lengthMax) return text;
  }
}

/** `undefined` for a text that is none. */
export function parseFactText(text: string): FragmentReport | undefined {
  try {
    const { fragment, epoch, state, error } = JSON.parse(text) as FragmentReport;
    return { fragment, epoch, state, error };
  } catch {
    return undefined;
  }
}

function cut(error: FragmentReport["error"], length: number): FragmentReport["error"] {
  if (error === undefined || error.message.length <= length) return error;
  return { ...error, message: `${error.message.slice(0, length)}…` };
}
