/** What the load's thread and the store's say to each other: calls of `WorkerControl`, by name, and their answers. */
import type { ErrorData } from "../../../ground/kernel/error-codec.ts";
import type { parseStoreUrl } from "../../../ground/store/index.ts";
import type { ParameterValue } from "../core/operation.ts";
import type { WorkerControl } from "../core/worker-control.ts";

export interface ControlThreadOptions {
  readonly store: ReturnType<typeof parseStoreUrl>;
  /** The coordinator's. */
  readonly leaseName: string;
}

/** The store, as a load worker uses it. */
export interface WorkerStore extends WorkerControl {
  readPools(
    runId: string,
    templateId: string | null,
  ): Promise<ReadonlyMap<string, readonly ParameterValue[]>>;
}

export interface ControlCall {
  readonly id: number;
  readonly method: keyof WorkerStore;
  readonly args: readonly unknown[];
}

export type ControlAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorData };
