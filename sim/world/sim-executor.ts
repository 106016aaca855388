/** Executes simulated work: waits for its run time, then writes, fails, or kills the process. */
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import type { WorkSpec } from "../../src/ground/work/core/index.ts";
import {
  artifactSchemaVersion,
  type Executor,
  type ProducedFile,
} from "../../src/ground/work/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { SimDisk } from "./disk.ts";
import { checksumOf } from "./work-body.ts";

/** Called with what executes where, for checkers and for faults that wait for it. */
export interface ExecutionProbe {
  /** `runMs` is how long it takes without interruption. */
  executionStarted(life: Life, work: WorkSpec, runMs: number): void;
  /** Called at every end, except that of the life itself. */
  executionEnded(life: Life, work: WorkSpec): void;
  /** Its artifact lies at `path`, and is about to be offered. */
  artifactWritten(life: Life, work: WorkSpec, path: string): void;
  /** The work is about to take its process down. */
  poisoned(life: Life, work: WorkSpec): void;
}

export interface Product {
  readonly content: Uint8Array;
  readonly rowCount: number;
  readonly minTs: number;
  readonly maxTs: number;
}

/** What to do for a work. */
export interface Task {
  readonly runMs: number;
  /** It kills whatever process executes it. */
  readonly isPoison: boolean;
  /** Called when the run time is over. Throws `OperatingError`. */
  produce(): Product;
}

export type TaskOf = (work: WorkSpec) => Task;

export class SimExecutor implements Executor {
  readonly #life: Life;
  readonly #disk: SimDisk;
  readonly #probe: ExecutionProbe;
  readonly #taskOf: TaskOf;

  constructor(life: Life, disk: SimDisk, probe: ExecutionProbe, taskOf: TaskOf) {
    this.#life = life;
    this.#disk = disk;
    this.#probe = probe;
    this.#taskOf = taskOf;
  }

  execute(
    work: WorkSpec,
    path: string,
    signal: AbortSignal,
    bytesMax: number,
  ): Promise<ProducedFile> {
    const task = this.#taskOf(work);
    const life = this.#life;
    this.#probe.executionStarted(life, work, task.runMs);
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        signal.removeEventListener("abort", abort);
        this.#probe.executionEnded(life, work);
        settle();
      };
      const abort = (): void => {
        timer.cancel();
        // An interrupt takes a moment to be noticed.
        life.after(2, () =>
          finish(() => reject(new OperatingError("cancelled", "never", "interrupted"))),
        );
      };
      const timer = life.after(task.runMs, () => {
        if (task.isPoison) {
          signal.removeEventListener("abort", abort);
          this.#probe.poisoned(life, work);
          return;
        }
        finish(() => {
          try {
            resolve(this.#write(work, task.produce(), path, bytesMax));
          } catch (thrown) {
            if (!(thrown instanceof OperatingError)) throw thrown;
            reject(thrown);
          }
        });
      });
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
    });
  }

  #write(work: WorkSpec, product: Product, path: string, bytesMax: number): ProducedFile {
    const { content, rowCount, minTs, maxTs } = product;
    const sizeBytes = content.length;
    if (sizeBytes > bytesMax) throw new OperatingError("query_too_large", "never", "too large");
    this.#disk.write(path, content);
    this.#probe.artifactWritten(this.#life, work, path);
    const checksum = checksumOf(content);
    return {
      ...(travelsWithReport(checksum) && { bytes: Uint8Array.from(content) }),
      sizeBytes,
      checksum,
      rowCount,
      minTs,
      maxTs,
      schemaVersion: artifactSchemaVersion,
    };
  }
}

/** One artifact in four, the same ones each time; the others are fetched. */
function travelsWithReport(checksum: string): boolean {
  return Number.parseInt(checksum.slice(-1), 16) % 4 === 0;
}
