/** A thread that executes works. It alone owns this part of the worker's caches. */
import "./core/error-codes.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { trimWhenIdle } from "../../../ground/kernel/node/trim-when-idle.ts";
import { type Call, servePeer, WithTransfer } from "../../../ground/threads/index.ts";
import { producedBytes } from "../../../ground/work/index.ts";
import type { RawSeries } from "../promql/core/index.ts";
import { MemoryColumnCache } from "./column-cache.ts";
import type {
  ComputeAnswer,
  ComputeOwner,
  ComputeRequest,
  ComputeThread,
  ComputeThreadOptions,
  ComputeUsage,
} from "./compute-messages.ts";
import { Computing } from "./computing.ts";
import { type LabelsWork, parseWork } from "./core/work-body.ts";
import { type ColumnFileNote, DiskColumns } from "./disk-columns.ts";
import { HeadPuller, heldBytes } from "./head-puller.ts";
import { runLabels } from "./label-runner.ts";
import { type LeafOutputBytes, runWork, workError } from "./leaf-runner.ts";
import { MemoryAccount } from "./memory-account.ts";
import { paceOf } from "./pace.ts";
import { queryThreadErrors } from "./query-threads.ts";
import { SegmentShelf } from "./segment-shelf.ts";
import { SelectionCache } from "./selection-cache.ts";
import { warmUpCompute } from "./warm-up.ts";

class ComputeService {
  readonly #options: ComputeThreadOptions;
  readonly #cache: MemoryColumnCache;
  readonly #shelf: SegmentShelf;
  readonly #selections: SelectionCache;
  readonly #head: HeadPuller;
  readonly #computing: Computing;
  #isIdle: boolean = true;

  constructor(options: ComputeThreadOptions, note: (note: ColumnFileNote) => void) {
    const { columnsDir, lakeDir, cacheBytesMax, clusterToken, tls } = options;
    this.#options = options;
    const spill = columnsDir === undefined ? undefined : new DiskColumns(columnsDir, note);
    this.#cache = new MemoryColumnCache(cacheBytesMax, spill);
    this.#shelf = new SegmentShelf(lakeDir, this.#cache);
    this.#selections = new SelectionCache(this.#cache);
    this.#head = new HeadPuller({
      clusterToken,
      tls,
      clock: realClock,
      sliceBytesMax: Math.floor(options.workBytesMax / 2),
    });
    this.#computing = new Computing(options.current);
  }

  warmUp(): void {
    const { pending, warmUpDelayMs: delayMs } = this.#options;
    if (delayMs === undefined) return;
    const works = new Int32Array(pending);
    const isPaused = (): boolean => Atomics.load(works, 0) > 0;
    void warmUpCompute({ clock: realClock, isIdle: () => this.#isIdle, isPaused, delayMs });
  }

  /** While one work waits for the head, others compute. */
  async compute(request: ComputeRequest, call: Call): Promise<WithTransfer<ComputeAnswer>> {
    if (!request.isRehearsal) this.#isIdle = false;
    const work = parseWork(request.body);
    const headSeries = await this.#head.series(request.queryId, work, call.signal);
    call.check();
    const memory = new MemoryAccount(this.#options.memory, this.#options.workBytesMax);
    try {
      memory.take(heldBytes(headSeries));
      const { number, bytesMax } = request;
      const answer = (output: LeafOutputBytes): WithTransfer<ComputeAnswer> => {
        call.check();
        const produced = producedBytes(output.bytes, bytesMax, output);
        return new WithTransfer({ produced, usage: this.#usage() }, [produced.bytes.buffer]);
      };
      if (work.op !== "leaf") return answer(await this.#labels(number, work, headSeries, call));
      const caches = { shelf: this.#shelf, selections: this.#selections };
      return this.#computing.run(number, () =>
        answer(runWork(work, headSeries, caches, memory, () => call.check())),
      );
    } finally {
      memory.close();
    }
  }

  close(): void {
    this.#isIdle = false;
    this.#head.close();
    this.#shelf.clear();
  }

  async #labels(
    number: number,
    work: LabelsWork,
    headSeries: readonly RawSeries[],
    call: Call,
  ): Promise<LeafOutputBytes> {
    try {
      return await this.#computing.paced(number, paceOf(realClock, call), (rest) =>
        runLabels(work, headSeries, this.#shelf, rest),
      );
    } catch (thrown) {
      throw workError(thrown);
    } finally {
      this.#shelf.trim();
    }
  }

  #usage(): ComputeUsage {
    return {
      cacheBytes: this.#cache.bytes,
      cacheHits: this.#cache.hits,
      cacheMisses: this.#cache.misses,
      headPulls: this.#head.pullCount,
      headBytes: this.#head.pulledBytes,
      headMs: this.#head.lastPullMs,
    };
  }
}

servePeer<ComputeThread, ComputeThreadOptions, ComputeOwner>((options, owner) => {
  const service = new ComputeService(options, (note) => owner.tell("columnFile", note));
  trimWhenIdle();
  service.warmUp();
  return {
    requests: { compute: (request, call) => service.compute(request, call) },
    notes: {},
    close: () => service.close(),
  };
}, queryThreadErrors);
