/** Executes simulated work: waits as long as the body says, then writes the answer, fails, or kills. */
import { OperatingError } from "../../src/kernel/errors.ts";
import type { Executor, ProducedFile } from "../../src/queries/core/index.ts";
import { type WorkSpec, workKeyText } from "../../src/workcoord/core/index.ts";
import type { Life } from "../engine/life.ts";
import type { SimDisk } from "./disk.ts";
import { checksumOf, contentOf, parseWorkBody } from "./work-body.ts";

/** Told of what executes where, for the checkers. */
export interface ExecutionProbe {
  executionStarted(life: Life, work: WorkSpec): void;
  /** However it ended, the life's own end excepted. */
  executionEnded(life: Life, work: WorkSpec): void;
  /** The work is about to take its process down. */
  poisoned(life: Life, work: WorkSpec): void;
}

export class SimExecutor implements Executor {
  readonly #life: Life;
  readonly #disk: SimDisk;
  readonly #probe: ExecutionProbe;
  readonly #tried = new Set<string>();

  constructor(life: Life, disk: SimDisk, probe: ExecutionProbe) {
    this.#life = life;
    this.#disk = disk;
    this.#probe = probe;
  }

  execute(
    work: WorkSpec,
    path: string,
    signal: AbortSignal,
    bytesMax: number,
  ): Promise<ProducedFile> {
    const { runMs, fate } = parseWorkBody(work.body);
    const life = this.#life;
    this.#probe.executionStarted(life, work);
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
      const timer = life.after(runMs, () => {
        if (fate === "poison") {
          signal.removeEventListener("abort", abort);
          this.#probe.poisoned(life, work);
          return;
        }
        finish(() => this.#produce(work, path, bytesMax, resolve, reject));
      });
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
    });
  }

  #produce(
    work: WorkSpec,
    path: string,
    bytesMax: number,
    resolve: (file: ProducedFile) => void,
    reject: (error: OperatingError) => void,
  ): void {
    const { fate, value } = parseWorkBody(work.body);
    const key = workKeyText(work);
    if (fate === "fails") {
      reject(new OperatingError("bad_sql", "never", "this work cannot succeed"));
      return;
    }
    if (fate === "flaky" && !this.#tried.has(key)) {
      this.#tried.add(key);
      // A full disk makes the worker pause as well; anything else only makes the work move.
      const code = value % 4 === 0 ? "disk_full" : "overloaded";
      reject(new OperatingError(code, "backoff", "this work fails the first time"));
      return;
    }
    const content = contentOf(work);
    const sizeBytes = content.length;
    if (sizeBytes > bytesMax) {
      reject(new OperatingError("query_too_large", "never", "too large"));
      return;
    }
    this.#disk.write(path, content);
    resolve({
      path,
      sizeBytes,
      checksum: checksumOf(content),
      rowCount: 1,
      minTs: value,
      maxTs: value,
      schemaVersion: 1,
    });
  }
}
