/**
 * The work of opaque queries. A body states the right answer, how long it takes, and what it does
 * to its worker. So every executor gives the same answer, and a client can check it.
 */
import { assert, OperatingError } from "../../src/ground/kernel/errors.ts";
import { type WorkSpec, workKeyText } from "../../src/ground/work/core/index.ts";
import type { TaskOf } from "./sim-executor.ts";

export const opaqueWorkKind = "sim";

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

/** The answer, which depends on the work alone. */
export function contentOf(work: WorkSpec): string {
  const { value } = parseWorkBody(work.body);
  return `${work.queryId}/${work.leafId}/${work.workId} = ${Math.imul(value, 2_654_435_761) >>> 0}`;
}

/** Opaque works, as one life executes them. */
export function opaqueTasks(): TaskOf {
  const tried = new Set<string>();
  return (work) => {
    const { value, runMs, fate } = parseWorkBody(work.body);
    const produce = () => {
      if (fate === "fails") {
        throw new OperatingError("bad_request", "never", "this work cannot succeed");
      }
      const key = workKeyText(work);
      if (fate === "flaky" && !tried.has(key)) {
        tried.add(key);
        // A full disk makes the worker pause as well; anything else only makes the work move.
        const code = value % 4 === 0 ? "disk_full" : "overloaded";
        throw new OperatingError(code, "backoff", "this work fails the first time");
      }
      const content = Buffer.from(contentOf(work), "latin1");
      return { content, rowCount: 1, minTs: value, maxTs: value };
    };
    return { runMs, isPoison: fate === "poison", produce };
  };
}

/** A replacement for sha256, in the same format. */
export function checksumOf(content: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < content.length; index += 1) {
    hash = Math.imul(hash ^ (content[index] as number), 0x01000193);
  }
  return `sha256:${(hash >>> 0).toString(16).padStart(64, "0")}`;
}
