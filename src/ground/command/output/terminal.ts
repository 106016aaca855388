/** Where the command line writes. NO_COLOR and FORCE_COLOR override whether it is coloured. */
import { pad } from "./terminal-text.ts";

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Whether standard output is a terminal. */
  readonly interactive: boolean;
  readonly columns: number;
  readonly paint: Paint;
  readonly paintError: Paint;
}

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

export function wantsColour(
  isTty: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if ((env.NO_COLOR ?? "") !== "") return false;
  if ((env.FORCE_COLOR ?? "") !== "") return env.FORCE_COLOR !== "0";
  return isTty && env.TERM !== "dumb";
}

export function createPaint(colour: boolean): Paint {
  const code =
    (start: number, end: number) =>
    (text: string): string =>
      colour && text !== "" ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  return {
    bold: code(1, 22),
    dim: code(2, 22),
    red: code(31, 39),
    green: code(32, 39),
    yellow: code(33, 39),
    cyan: code(36, 39),
  };
}

export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    interactive: stdout.isTTY === true,
    columns: stdout.columns ?? 80,
    paint: createPaint(wantsColour(stdout.isTTY === true, env)),
    paintError: createPaint(wantsColour(stderr.isTTY === true, env)),
  };
}

/** Aligns `label  value` lines below each other. */
export function formatFields(
  fields: readonly (readonly [label: string, value: string])[],
  paint: Paint,
): string {
  const width = Math.max(...fields.map(([label]) => label.length));
  return fields
    .map(([label, value]) => `${paint.dim(pad(label, width, "left"))}  ${value}\n`)
    .join("");
}
