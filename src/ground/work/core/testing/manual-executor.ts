/** Executions that end when a test says so. */
import { assert, OperatingError } from "../../../kernel/errors.ts";
import type { WorkSpec } from "../assignment/index.ts";
import type { Executor, ProducedFile } from "../ports.ts";

interface Execution {
  readonly work: WorkSpec;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly end: PromiseWithResolvers<ProducedFile | Uint8Array>;
}

export class ManualExecutor implements Executor {
  readonly executions: Execution[] = [];
  /** Whether an aborted execution ends at once, without the test. */
  endsOnAbort = true;
  /** The time range of what is produced. */
  range: Pick<ProducedFile, "minTs" | "maxTs"> = { minTs: 1, maxTs: 2 };

  execute(work: WorkSpec, path: string, signal: AbortSignal): Promise<ProducedFile | Uint8Array> {
    const end = Promise.withResolvers<ProducedFile | Uint8Array>();
    this.executions.push({ work, path, signal, end });
    signal.addEventListener("abort", () => {
      if (this.endsOnAbort) end.reject(new OperatingError("cancelled", "never", "cancelled"));
    });
    return end.promise;
  }

  produce(sizeBytes = 10, index = this.executions.length - 1): void {
    const execution = this.executions[index];
    assert(execution !== undefined, "there is such an execution");
    execution.end.resolve({
      sizeBytes,
      checksum: `sha256:${"0".repeat(64)}`,
      rowCount: 3,
      ...this.range,
      schemaVersion: 1,
    });
  }

  /** Like `produce`, with bytes at hand. */
  produceBytes(bytes: Uint8Array<ArrayBuffer>, index = this.executions.length - 1): void {
    this.executions[index]?.end.resolve({
      bytes,
      sizeBytes: bytes.length,
      checksum: `sha256:${"0".repeat(64)}`,
      rowCount: 3,
      ...this.range,
      schemaVersion: 1,
    });
  }

  answer(bytes: Uint8Array, index = this.executions.length - 1): void {
    this.executions[index]?.end.resolve(bytes);
  }

  fail(error: Error, index = this.executions.length - 1): void {
    this.executions[index]?.end.reject(error);
  }
}
