/**
 * Runs one fragment on the thread that it is called on: opens its sources and sinks, pumps rows
 * through, and takes checkpoints between two turns. Rules: SU1 to SU9.
 *
 * A fragment ends when its sources have ended and its sinks have everything. When anything fails,
 * everything is closed and the first error is the answer; nothing that was written is taken back,
 * which is the business of whoever starts it again.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  createOperator,
  createRecordParser,
  createSender,
  endOfTime,
  Fragment,
  type FragmentEdges,
  type NodeState,
  type Operator,
  QueryMemory,
  type RecordParser,
  type SavedNodeState,
  type StationCounts,
  startOfTime,
} from "../../engine/core/index.ts";
import {
  deadLetterNode,
  type PlanNode,
  type QuerySettings,
  type Schema,
  type SinkOp,
  type SourceOp,
} from "../../language/core/index.ts";
import type { Prepared } from "../core/checkpoint-record.ts";
import type { SinkWriter } from "../core/connector.ts";
import type { Connectors } from "../core/connectors.ts";
import type { InEdge, OutEdge } from "../core/edge.ts";
import { BarrierGate } from "./barrier-gate.ts";
import { deadLetterBatch } from "./dead-letter-batch.ts";
import { ReceiverPump } from "./receiver-pump.ts";
import { type ParserOptions, SourcePump } from "./source-pump.ts";

export interface FragmentHostOptions {
  readonly nodes: readonly PlanNode[];
  readonly settings: QuerySettings;
  readonly connectors: Connectors;
  readonly clock: Clock;
  /** What a checkpoint says of this fragment, to go on from there. */
  readonly restored: RestoredFragment | undefined;
  /** The edges to other fragments, by the exchange's node; absent for a plan in one piece. */
  readonly exchanges?: FragmentExchanges;
}

export interface FragmentExchanges {
  /** One for each fragment that receives. */
  out(node: number): readonly OutEdge[];
  /** One for each fragment that sends. */
  in(node: number): readonly InEdge[];
  /** The fragment's state when the barriers of a checkpoint have met. */
  onCheckpoint(checkpoint: number, taken: TakenCheckpoint): void;
}

export interface TakenCheckpoint {
  /** To be encoded in the same turn. */
  readonly state: FragmentCheckpoint;
  /** Resolves when what the sinks wrote until then is durable, with what they prepared. */
  readonly durable: Promise<Prepared>;
}

/** What a checkpoint holds of a fragment: all of it belongs to one moment. */
export interface FragmentCheckpoint {
  readonly nodes: readonly NodeState[];
  /** By node; a source that cannot be replayed and a sink that need not know have none. */
  readonly positions: ReadonlyMap<number, string>;
}

export interface RestoredFragment {
  readonly nodes: readonly SavedNodeState[];
  readonly positions: ReadonlyMap<number, string>;
}

export interface SourceProgress {
  readonly node: number;
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  readonly malformed: number;
}

export interface FragmentProgress {
  readonly sources: readonly SourceProgress[];
  readonly rowsOut: number;
  readonly lateRows: number;
  readonly stateBytes: number;
  /** The least event time that rows to come can have, less one; absent before the first one. */
  readonly watermark: bigint | undefined;
}

interface SourceNode extends PlanNode {
  readonly op: SourceOp;
}

interface SinkNode extends PlanNode {
  readonly op: SinkOp;
}

/** How many malformed records are kept to be told. */
const malformedKept = 10;

export class FragmentHost {
  readonly #options: FragmentHostOptions;
  readonly #memory: QueryMemory;
  readonly #sinks = new Map<number, SinkWriter>();
  readonly #pumps = new Map<number, SourcePump>();
  readonly #receivers: ReceiverPump[] = [];
  readonly #senders: ReturnType<typeof createSender>[] = [];
  readonly #outEdges: OutEdge[] = [];
  #gate: BarrierGate | undefined;
  readonly #malformed = new Map<number, number>();
  readonly #stopped = new AbortController();
  #fragment: Fragment | undefined;
  #isClosed = false;
  /** Waits of sinks that have no room. */
  #rooms: Promise<void>[] = [];

  /** Records that were left out, the first few of each source, for people. */
  readonly malformedTexts: string[] = [];

  constructor(options: FragmentHostOptions) {
    this.#options = options;
    this.#memory = new QueryMemory(options.settings.memoryBytesMax);
  }

  /** Opens everything. When it throws, nothing is left open. */
  async open(): Promise<void> {
    const { nodes, settings, connectors, clock, restored } = this.#options;
    try {
      for (const node of nodes.filter(isSink)) {
        const from = restored?.positions.get(node.id);
        const schema = node.schema;
        this.#sinks.set(node.id, await connectors.openSink({ op: node.op, schema, from }));
      }
      const fragment = new Fragment({
        nodes,
        settings,
        edges: this.#edges(),
        memory: this.#memory,
        createOperator,
      });
      if (restored !== undefined) fragment.restore(restored.nodes);
      this.#fragment = fragment;
      this.#openReceivers(fragment);
      for (const node of nodes.filter(isSource)) {
        const from = restored?.positions.get(node.id);
        const reader = await connectors.openSource({ op: node.op, settings, clock, from });
        this.#pumps.set(
          node.id,
          new SourcePump({
            name: node.op.name,
            reader,
            input: fragment.input(node.id),
            createParser:
              node.op.parser.TYPE === undefined
                ? undefined
                : (options) => this.#createParser(node, options),
            ingestionTime: node.op.ingestionTime,
            idleTimeoutMs: settings.idleTimeoutMs,
            clock,
            room: () => this.#room(),
          }),
        );
      }
    } catch (thrown) {
      await this.close();
      throw thrown;
    }
  }

  /**
   * Resolves when all sources have ended and everything is in the sinks; `beforeEnd` is called when
   * the last row was given to them.
   */
  async run(beforeEnd?: () => Promise<void>): Promise<void> {
    try {
      const pumps = [...this.#pumps.values(), ...this.#receivers];
      await Promise.all(pumps.map((pump) => this.#pump(pump)));
      if (this.#stopped.signal.aborted) return;
      for (const sink of this.#sinks.values()) await sink.end();
      for (const edge of this.#outEdges) await edge.flush();
      await beforeEnd?.();
    } catch (thrown) {
      if (!this.#isClosed) throw thrown; // What closing brings about is nobody's error.
    } finally {
      await this.close();
    }
  }

  /**
   * Reads no more; what was read goes through to the sinks, and the fragment ends. With `suspend`
   * windows stay open, for the checkpoint that is taken before the end.
   */
  drain(suspend = false): void {
    for (const pump of this.#pumps.values()) pump.drain(suspend);
  }

  /** Begins a checkpoint at the sources; a fragment that receives waits for the barriers. */
  trigger(checkpoint: number): void {
    if (this.#receivers.length === 0) this.#take(checkpoint);
  }

  /** Ends at once: what is under way is dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopped.abort();
    for (const edge of [...this.#receivers, ...this.#outEdges]) edge.close();
    await Promise.allSettled([
      ...[...this.#pumps.values()].map((pump) => pump.close()),
      ...[...this.#sinks.values()].map((sink) => sink.close()),
    ]);
  }

  /** The state of this moment. */
  checkpoint(): TakenCheckpoint {
    const positions = new Map<number, string>();
    for (const [node, edge] of [...this.#pumps, ...this.#sinks]) {
      const position = edge.position();
      if (position !== undefined) positions.set(node, position);
    }
    const nodes = this.#fragment?.snapshot() ?? [];
    return { state: { nodes, positions }, durable: this.flushSinks() };
  }

  /** Resolves when what the sinks have now is durable, with what they prepared. */
  async flushSinks(): Promise<Prepared> {
    const flushed = [...this.#sinks].map(async ([node, sink]) => {
      const prepared = sink.prepare === undefined ? await sink.flush() : await sink.prepare();
      return [node, prepared] as const;
    });
    const prepared = new Map<number, string>();
    for (const [node, text] of await Promise.all(flushed)) {
      if (text !== undefined) prepared.set(node, text);
    }
    return prepared;
  }

  /** What came over exchanges, and how much of it from other places. */
  get rowsReceived(): { readonly all: number; readonly remote: number } {
    const sum = (pumps: readonly ReceiverPump[]): number =>
      pumps.reduce((total, pump) => total + pump.rowsReceived, 0);
    return {
      all: sum(this.#receivers),
      remote: sum(this.#receivers.filter(({ isRemote }) => isRemote)),
    };
  }

  counts(node: number): StationCounts | undefined {
    return this.#fragment?.counts(node);
  }

  progress(): FragmentProgress {
    const { nodes } = this.#options;
    const counts = nodes.map((node) => ({ node, counts: this.counts(node.id) }));
    return {
      sources: counts.flatMap(({ node, counts: at }) =>
        isSource(node)
          ? {
              node: node.id,
              name: node.op.name,
              rows: at?.rowsIn ?? 0,
              bytes: this.#pumps.get(node.id)?.bytesRead ?? 0,
              malformed: this.#malformed.get(node.id) ?? 0,
            }
          : [],
      ),
      rowsOut: counts.reduce(
        (sum, { node, counts: at }) => sum + (isSink(node) ? (at?.rowsIn ?? 0) : 0),
        0,
      ),
      lateRows: counts.reduce((sum, { counts: at }) => sum + (at?.lateRows ?? 0), 0),
      stateBytes: this.#memory.totalBytes,
      watermark: this.#watermark(),
    };
  }

  /** That of the slowest time column. Sources that have ended hold nothing back. */
  #watermark(): bigint | undefined {
    let least = endOfTime;
    for (const node of this.#options.nodes) {
      if (node.op.kind !== "eventTime") continue;
      const { watermark } = this.counts(node.id) ?? { watermark: startOfTime };
      if (watermark < least) least = watermark;
    }
    return least === startOfTime || least === endOfTime ? undefined : least;
  }

  async #pump(pump: SourcePump | ReceiverPump): Promise<void> {
    try {
      await pump.run(this.#stopped.signal);
      if (pump instanceof ReceiverPump) this.#gate?.ended();
    } catch (thrown) {
      this.#stopped.abort();
      throw thrown;
    }
  }

  #edges(): FragmentEdges {
    return {
      createOutput: (node, input) => this.#outlet(node, input),
      inputCount: ({ op, id }) =>
        op.kind === "exchange" ? (this.#options.exchanges?.in(id).length ?? 0) : 1,
    };
  }

  #openReceivers(fragment: Fragment): void {
    const { nodes, exchanges } = this.#options;
    if (exchanges === undefined) return;
    for (const { id, op, inputs, schema } of nodes) {
      if (op.kind !== "exchange" || inputs.length > 0) continue;
      const types = schema.map(({ type }) => type.name);
      for (const [side, edge] of exchanges.in(id).entries()) {
        this.#receivers.push(
          new ReceiverPump({
            edge,
            types,
            input: fragment.input(id, side),
            aligned: (checkpoint) => this.#gate?.arrived(checkpoint) ?? Promise.resolve(),
            room: () => this.#room(),
          }),
        );
      }
    }
    this.#gate = new BarrierGate(this.#receivers.length, (checkpoint) => this.#take(checkpoint));
  }

  #take(checkpoint: number): void {
    const taken = this.checkpoint();
    this.#options.exchanges?.onCheckpoint(checkpoint, taken);
    for (const sender of this.#senders) sender.tell({ kind: "barrier", checkpoint });
  }

  #sender({ id, op }: PlanNode, input: Schema): Operator {
    const edges = this.#options.exchanges?.out(id) ?? [];
    this.#outEdges.push(...edges);
    const keys = op.kind === "exchange" ? op.keys : [];
    const sender = createSender({
      keys,
      keyTypes: keys.map((key) => input[key]?.type.name ?? "UINT8"),
      receiverCount: edges.length,
      send: (receiver, frame) => this.#hold(edges[receiver]?.send(frame)),
    });
    this.#senders.push(sender);
    return sender;
  }

  #hold(room: Promise<void> | undefined): void {
    if (room !== undefined) this.#rooms.push(room);
  }

  #outlet(node: PlanNode, input: Schema): Operator {
    if (node.op.kind === "exchange") return this.#sender(node, input);
    return {
      push: (_, batch) => {
        this.#hold(this.#sinks.get(node.id)?.write(batch));
      },
    };
  }

  #room(): Promise<void> | undefined {
    if (this.#rooms.length === 0) return undefined;
    const rooms = this.#rooms;
    this.#rooms = [];
    return Promise.all(rooms).then(() => undefined);
  }

  #createParser(node: SourceNode, { emit, startsFile, place }: ParserOptions): RecordParser {
    const add = (count: number): void => {
      this.#malformed.set(node.id, (this.#malformed.get(node.id) ?? 0) + count);
    };
    const parser = startsFile ? node.op.parser : { ...node.op.parser, HEADER: false };
    const deadLetters = deadLetterNode(this.#options.nodes, node);
    return createRecordParser(
      { ...node.op, parser },
      {
        emit,
        malformed: {
          nulled: add,
          skipped: (record, offset, reason) => {
            add(1);
            const at = place(offset);
            if (deadLetters !== undefined) {
              const batch = deadLetterBatch(node.op.name, at, reason, record);
              this.#hold(this.#sinks.get(deadLetters)?.write(batch));
            }
            if (this.malformedTexts.length >= malformedKept) return;
            this.malformedTexts.push(`${node.op.name}, ${at}: ${reason}`);
          },
        },
      },
    );
  }
}

function isSource(node: PlanNode): node is SourceNode {
  return node.op.kind === "source";
}

function isSink(node: PlanNode): node is SinkNode {
  return node.op.kind === "sink";
}
