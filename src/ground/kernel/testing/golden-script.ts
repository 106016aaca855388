/**
 * Golden scripts: statements and what they answer, in one text that people read.
 *
 *   # For people.
 *   test [LS1] a table is created and read         one test, its statements in this order
 *
 *   CREATE TABLE t AS SELECT 1 AS n
 *   ----
 *   created
 *
 *   SELECT missing FROM t ends at the line of dashes; may have several lines ---- error
 *   bad_request: t has no column missing
 *
 *   cases [TI3] the plan of a definition           a test for each of its statements
 *
 * An empty line ends an answer, and those within one are left out. With UPDATE_GOLDEN=1 the answers
 * are written anew, and the diff is reviewed.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { after, test } from "node:test";
import { OperatingError } from "../errors.ts";

interface Step {
  readonly text: string;
  /** The line at which the answer begins, counted from 0, and the line after its last. */
  readonly from: number;
  readonly to: number;
  readonly want: string;
}

interface Section {
  readonly kind: "test" | "cases";
  readonly name: string;
  readonly steps: readonly Step[];
}

/** Returns the lines of an answer. A thrown `OperatingError` is an answer too. */
export type RunStep = (text: string) => readonly string[] | Promise<readonly string[]>;

const rule = "----";

export function testGoldenScript(path: string, run: RunStep): void {
  const lines = readFileSync(path, "utf8").split("\n");
  const updates = new Map<Step, string>();
  const check = async (step: Step): Promise<void> => {
    const got = (await answerOf(run, step.text)).replace(/^\n+|\n(?=\n|$)/g, "");
    if (process.env.UPDATE_GOLDEN === "1") updates.set(step, got);
    else assert.equal(got, step.want, `${basename(path)}:${step.from + 1}: ${step.text}`);
  };
  for (const { kind, name, steps } of parseGoldenScript(lines)) {
    assert.ok(steps.length > 0, `${basename(path)}: ${name} has statements`);
    if (kind === "test") {
      test(name, async () => {
        for (const step of steps) await check(step);
      });
    } else for (const step of steps) test(`${name}: ${step.text}`, () => check(step));
  }
  after(() => {
    if (updates.size > 0) writeFileSync(path, updated(lines, updates));
  });
}

export function parseGoldenScript(lines: readonly string[]): Section[] {
  const sections: { kind: "test" | "cases"; name: string; steps: Step[] }[] = [];
  let start: number | undefined;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const [, kind, name] = /^(test|cases) (.+)$/.exec(line) ?? [];
    if (start === undefined && (kind === "test" || kind === "cases")) {
      sections.push({ kind, name: name ?? "", steps: [] });
    } else if (line === rule) {
      assert.ok(start !== undefined, `line ${at + 1}: an answer follows a statement`);
      const found = lines.indexOf("", at);
      const to = found === -1 ? lines.length : found;
      const [text, want] = [lines.slice(start, at), lines.slice(at + 1, to)];
      const section = sections.at(-1);
      assert.ok(section !== undefined, `line ${start + 1}: a statement belongs to a test`);
      section.steps.push({ text: text.join("\n"), from: at + 1, to, want: want.join("\n") });
      start = undefined;
      at = to;
    } else if (line === "") {
      assert.ok(start === undefined, `line ${at + 1}: a statement has an answer`);
    } else if (!line.startsWith("#")) start ??= at;
  }
  return sections;
}

async function answerOf(run: RunStep, text: string): Promise<string> {
  try {
    return (await run(text)).join("\n");
  } catch (thrown) {
    if (!(thrown instanceof OperatingError)) throw thrown;
    const hint = thrown.hint === undefined ? "" : `\nhint: ${thrown.hint}`;
    return `error ${thrown.code}: ${thrown.message}${hint}`;
  }
}

function updated(lines: readonly string[], updates: ReadonlyMap<Step, string>): string {
  const whole = [...lines];
  const backwards = [...updates].sort(([a], [b]) => b.from - a.from);
  for (const [{ from, to }, got] of backwards) {
    whole.splice(from, to - from, ...(got === "" ? [] : got.split("\n")));
  }
  return whole.join("\n");
}
