/**
 * What a fragment has done so far, for whoever watches its query: rows and bytes at its ends, how
 * long it worked and how long it waited for room, and which of its inputs holds its time back.
 * Nothing depends on these figures.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  endOfTime,
  type Fragment,
  type QueryMemory,
  type StationCounts,
  startOfTime,
} from "../../engine/core/index.ts";
import type { PlanNode } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";
import type { OutEdge } from "../core/edge.ts";
import type { EdgeProgress, FragmentProgress, SlowestEntry } from "../core/progress.ts";
import { findSlowestEntry } from "../core/slowest-entry.ts";
import type { FragmentSpec } from "../core/stream-host.ts";
import { TimeShare } from "../core/time-share.ts";
import type { MalformedRecords } from "./malformed-records.ts";
import type { ReceiverPump } from "./receiver-pump.ts";
import type { SourcePump } from "./source-pump.ts";

export interface FragmentFiguresParts {
  readonly spec: FragmentSpec;
  readonly clock: Clock;
  readonly memory: QueryMemory;
  readonly malformed: MalformedRecords;
  /** The key is the node's id. */
  readonly sources: ReadonlyMap<number, SourcePump>;
  readonly sinks: ReadonlyMap<number, SinkWriter>;
  readonly receivers: readonly ReceiverPump[];
  /** Absent until everything is open. */
  readonly fragment: () => Fragment | undefined;
}

interface WatchedEdge {
  readonly exchange: number;
  readonly to: string;
  readonly edge: OutEdge;
  readonly waits: TimeShare;
  rows: number;
  bytes: number;
}

/** A pump's work between two waits. */
export interface Labour {
  begin(): void;
  end(): void;
}

export class FragmentFigures {
  readonly #parts: FragmentFiguresParts;
  readonly #busy = new TimeShare();
  readonly #waits = new TimeShare();
  readonly #edges: WatchedEdge[] = [];

  constructor(parts: FragmentFiguresParts) {
    this.#parts = parts;
  }

  readonly labour: Labour = {
    begin: () => this.#busy.begin(this.#nowMs),
    end: () => this.#busy.end(this.#nowMs),
  };

  /** The wait of a pump for room behind it. */
  async waiting(room: Promise<void>): Promise<void> {
    await this.#during(this.#waits, room);
  }

  /** Counts what is sent over an edge. */
  watch(exchange: number, to: string, edge: OutEdge): (frame: Frame, rows: number) => Room {
    const watched: WatchedEdge = {
      ...{ exchange, to, edge, waits: new TimeShare() },
      ...{ rows: 0, bytes: 0 },
    };
    this.#edges.push(watched);
    return (frame, rows) => {
      watched.rows += rows;
      watched.bytes += frame.length;
      const room = edge.send(frame);
      if (room === undefined) return undefined;
      const waits = this.#during(watched.waits, room);
      waits.catch(() => undefined); // Nobody may be left who waits.
      return waits;
    };
  }

  progress(): FragmentProgress {
    const { spec, memory, receivers, malformed } = this.#parts;
    const nowMs = this.#nowMs;
    const counts = spec.nodes.map((node) => ({ node, counts: this.#counts(node.id) }));
    const received = (pumps: readonly ReceiverPump[]): number =>
      pumps.reduce((total, pump) => total + pump.rowsReceived, 0);
    const edges = this.#edges.map((edge) => this.#edgeProgress(edge, nowMs));
    return {
      fragment: spec.fragment,
      sources: counts.flatMap(({ node, counts: at }) => this.#sourceProgress(node, at)),
      rowsOut: counts.reduce(
        (sum, { node: { op }, counts: at }) => sum + (op.kind === "sink" ? (at?.rowsIn ?? 0) : 0),
        0,
      ),
      lateRows: counts.reduce((sum, { counts: at }) => sum + (at?.lateRows ?? 0), 0),
      stateBytes: memory.totalBytes,
      watermark: this.#watermark(),
      rowsReceived: {
        all: received(receivers),
        remote: received(receivers.filter(({ isRemote }) => isRemote)),
      },
      malformedTexts: [...malformed.texts],
      bytesOut: edges.reduce((sum, { bytes }) => sum + bytes, this.#bytesOfSinks()),
      busyMs: this.#busy.totalMs(nowMs),
      waitedMs: this.#waits.totalMs(nowMs),
      edges,
      slowest: this.#slowest(),
    };
  }

  async #during(share: TimeShare, room: Promise<void>): Promise<void> {
    share.begin(this.#nowMs);
    try {
      await room;
    } finally {
      share.end(this.#nowMs);
    }
  }

  get #nowMs(): number {
    return this.#parts.clock.nowMs();
  }

  #counts(node: number): StationCounts | undefined {
    return this.#parts.fragment()?.counts(node);
  }

  #sourceProgress({ id, op }: PlanNode, counts: StationCounts | undefined) {
    if (op.kind !== "source") return [];
    const { sources, malformed } = this.#parts;
    return [
      {
        node: id,
        name: op.name,
        rows: counts?.rowsIn ?? 0,
        bytes: sources.get(id)?.bytesRead ?? 0,
        malformed: malformed.count(id),
      },
    ];
  }

  #edgeProgress({ exchange, to, edge, waits, rows, bytes }: WatchedEdge, nowMs: number) {
    const progress: EdgeProgress = {
      ...{ exchange, to, rows, bytes },
      backlogBytes: edge.backlogBytes,
      waitedMs: waits.totalMs(nowMs),
      watermark: knownTime(this.#counts(exchange)?.watermark),
    };
    return progress;
  }

  #bytesOfSinks(): number {
    let bytes = 0;
    for (const { bytesWritten = 0 } of this.#parts.sinks.values()) bytes += bytesWritten;
    return bytes;
  }

  /**
   * That of the slowest time column; without one, what the slowest sender has told. Sources that
   * have ended hold nothing back.
   */
  #watermark(): bigint | undefined {
    const { nodes } = this.#parts.spec;
    const times = nodes.filter(({ op }) => op.kind === "eventTime");
    const entries = nodes.filter(({ op, inputs }) => op.kind === "exchange" && inputs.length === 0);
    let least = endOfTime;
    for (const { id } of times.length > 0 ? times : entries) {
      const { watermark } = this.#counts(id) ?? { watermark: startOfTime };
      if (watermark < least) least = watermark;
    }
    return knownTime(least);
  }

  #slowest(): SlowestEntry | undefined {
    const fragment = this.#parts.fragment();
    return fragment && findSlowestEntry(this.#parts.spec, fragment);
  }
}

type Frame = Uint8Array<ArrayBuffer>;
type Room = Promise<void> | undefined;

function knownTime(watermark: bigint | undefined): bigint | undefined {
  return watermark === startOfTime || watermark === endOfTime ? undefined : watermark;
}
