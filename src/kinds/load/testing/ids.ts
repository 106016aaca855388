import type { LoadWorkerId, RunId } from "../core/ids.ts";

/** Ids of tests, which need no pattern. */
export const testRun = (text: string): RunId => text as RunId;
export const testWorker = (text: string): LoadWorkerId => text as LoadWorkerId;
