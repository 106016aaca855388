/**
 * What previews have given and nobody has read yet, on the thread that answers readers. Each is
 * bounded: `give` resolves when there is room again, and the sink leaves rows out that do not wait.
 * Rules: SU70, SU71.
 */
import { type QueryRun, runName } from "../core/stream-host.ts";

/** Rows that go together. */
export interface PreviewPiece {
  /** A line of JSON for each row. */
  readonly lines: Uint8Array;
  /** How many rows the sink has left out until here. */
  readonly leftOut: number;
}

/** What a reader gets: pieces, then `ended` or, when the run was stopped, no more. */
export type PreviewNews = PreviewPiece | "ended";

interface Outlet {
  readonly waiting: PreviewPiece[];
  waitingBytes: number;
  hasEnded: boolean;
  isClosed: boolean;
  isRead: boolean;
  /** Whether the reader knows that it has ended. */
  isTold: boolean;
  /** Resolves at the next change, and is then replaced. */
  changed: ReturnType<typeof Promise.withResolvers<void>>;
}

const waitingBytesMax = 1024 * 1024;

export class PreviewOutlets {
  readonly #outlets = new Map<string, Outlet>();

  get count(): number {
    return this.#outlets.size;
  }

  /** The outlet of the run's only preview. */
  open(run: QueryRun): void {
    this.#outlets.set(runName(run), {
      waiting: [],
      waitingBytes: 0,
      hasEnded: false,
      isClosed: false,
      isRead: false,
      isTold: false,
      changed: Promise.withResolvers(),
    });
  }

  /** Resolves when there is room for more, or nobody wants any. One call at a time. */
  async give(run: QueryRun, piece: PreviewPiece): Promise<void> {
    const outlet = this.#outlets.get(runName(run));
    if (outlet === undefined) return;
    outlet.waiting.push(piece);
    outlet.waitingBytes += piece.lines.length;
    change(outlet);
    while (!outlet.isClosed && outlet.waitingBytes > waitingBytesMax) await outlet.changed.promise;
  }

  /** Called after the last row. Resolves when the reader has all, or the run was stopped. */
  async end(run: QueryRun): Promise<void> {
    const outlet = this.#outlets.get(runName(run));
    if (outlet === undefined) return;
    outlet.hasEnded = true;
    change(outlet);
    while (!outlet.isClosed && !outlet.isTold) await outlet.changed.promise;
  }

  /** The run is over; idempotent. */
  close(run: QueryRun): void {
    const outlet = this.#outlets.get(runName(run));
    if (outlet === undefined) return;
    outlet.isClosed = true;
    change(outlet);
    this.#outlets.delete(runName(run));
  }

  closeAll(): void {
    for (const outlet of this.#outlets.values()) {
      outlet.isClosed = true;
      change(outlet);
    }
    this.#outlets.clear();
  }

  /** `undefined`: there is no such preview, or it already has a reader. */
  read(run: QueryRun): AsyncGenerator<PreviewNews> | undefined {
    const outlet = this.#outlets.get(runName(run));
    if (outlet === undefined || outlet.isRead) return undefined;
    outlet.isRead = true;
    return readAll(outlet);
  }
}

async function* readAll(outlet: Outlet): AsyncGenerator<PreviewNews> {
  try {
    while (!outlet.isClosed || outlet.hasEnded) {
      const piece = outlet.waiting.shift();
      if (piece !== undefined) {
        outlet.waitingBytes -= piece.lines.length;
        change(outlet);
        yield piece;
      } else if (outlet.hasEnded) {
        outlet.isTold = true;
        yield "ended";
        return;
      } else {
        await outlet.changed.promise;
      }
    }
  } finally {
    outlet.isRead = false;
    change(outlet);
  }
}

function change(outlet: Outlet): void {
  const { changed } = outlet;
  outlet.changed = Promise.withResolvers();
  changed.resolve();
}
