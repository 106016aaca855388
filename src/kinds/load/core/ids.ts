/** Ids of load tests: see `ground/kernel/ids.ts`. */
import type { Brand } from "../../../ground/kernel/ids.ts";

/** One run of a load test. */
export type RunId = Brand<string, "RunId">;
/** A load worker's name, unique within its run. Not a Capstan worker's. */
export type LoadWorkerId = Brand<string, "LoadWorkerId">;

const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/** The only way text from outside becomes a `RunId`. */
export function parseRunId(text: string): RunId | undefined {
  return runIdPattern.test(text) ? (text as RunId) : undefined;
}

/** A worker's id is made from its group. */
export function workerIdOf(groupId: number): LoadWorkerId {
  return `worker-${groupId}` as LoadWorkerId;
}

/** The group in a worker's id. */
export function groupOf(workerId: LoadWorkerId): number {
  return Number(/^worker-(\d+)/.exec(workerId)?.[1] ?? 0);
}
