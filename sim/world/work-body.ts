/**
 * What a simulated query asks for. A work's body says everything: what the right answer is, how long it takes
 * and what it does to its worker. So any executor gives the same answer, and a client can check it.
 */
import { assert } from "../../src/kernel/errors.ts";
import type { WorkSpec } from "../../src/workcoord/core/index.ts";

export type WorkFate =
  | "plain"
  /** The work itself is at fault: its query fails. */
  | "fails"
  /** The first execution on each life fails, and another may succeed. */
  | "flaky"
  /** Kills whatever process executes it. */
  | "poison";

export interface WorkBody {
  readonly value: number;
  readonly runMs: number;
  readonly fate: WorkFate;
}

export function formatWorkBody({ value, runMs, fate }: WorkBody): string {
  return `${value}:${runMs}:${fate}`;
}

export function parseWorkBody(text: string): WorkBody {
  const [value, runMs, fate] = text.split(":");
  assert(
    value !== undefined && runMs !== undefined && fate !== undefined,
    "a body has three parts",
  );
  return { value: Number(value), runMs: Number(runMs), fate: fate as WorkFate };
}

/** The rows, so to speak: decided by the work alone. */
export function contentOf(work: WorkSpec): string {
  const { value } = parseWorkBody(work.body);
  return `${work.queryId}/${work.leafId}/${work.workId} = ${Math.imul(value, 2_654_435_761) >>> 0}`;
}

/** Stands in for sha256, in its form. */
export function checksumOf(content: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < content.length; index += 1) {
    hash = Math.imul(hash ^ content.charCodeAt(index), 0x01000193);
  }
  return `sha256:${(hash >>> 0).toString(16).padStart(64, "0")}`;
}
