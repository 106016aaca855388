/**
 * Runs one fragment on the thread that it is called on: opens its sources and sinks, pumps rows
 * through, and takes checkpoints between two turns. Rules: SU1 to SU9.
 *
 * A fragment ends when its sources and senders have ended and its sinks have everything. When
 * anything fails, everything is closed and the first error is the answer; nothing that was written
 * is taken back, which is the business of whoever starts it again.
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  createOperator,
  createSender,
  Fragment,
  type FragmentEdges,
  type Operator,
  type QueryMemory,
} from "../../engine/core/index.ts";
import type { PlanNode, Schema, SinkOp } from "../../language/core/index.ts";
import type { Prepared } from "../core/checkpoint-record.ts";
import type { SinkWriter } from "../core/connector.ts";
import type { Connectors, OpenedTable } from "../core/connectors.ts";
import type { InEdge, OutEdge } from "../core/edge.ts";
import type { FragmentProgress } from "../core/progress.ts";
import type {
  EncodedFragment,
  EndedFragment,
  FragmentSpec,
  QueryRun,
} from "../core/stream-host.ts";
import { BarrierGate } from "./barrier-gate.ts";
import { BufferMemory } from "./buffer-memory.ts";
import { StateEncoder } from "./encode-state.ts";
import { type FairTurns, Turn } from "./fair-turns.ts";
import { FragmentFigures } from "./fragment-figures.ts";
import { MalformedRecords, type SourceNode } from "./malformed-records.ts";
import { ReceiverPump } from "./receiver-pump.ts";
import { SourcePump } from "./source-pump.ts";

export interface FragmentHostOptions {
  readonly run: QueryRun;
  readonly spec: FragmentSpec;
  readonly edges: ExchangeEdges;
  readonly connectors: Connectors;
  readonly clock: Clock;
  readonly turns: FairTurns;
  readonly memory: QueryMemory;
  /** Gives the memory back; called when the fragment is closed. */
  readonly release: () => void;
  /** Called with the state of a checkpoint when what the sinks wrote until then is durable. */
  readonly acknowledged: (checkpoint: number, state: EncodedFragment) => void;
}

/** The edges to other fragments, by the exchange's node. */
export interface ExchangeEdges {
  /** One for each fragment that receives. */
  out(exchange: number): readonly OutEdge[];
  /** One for each fragment that sends. */
  in(exchange: number): readonly InEdge[];
}

interface SinkNode extends PlanNode {
  readonly op: SinkOp;
}

export class FragmentHost {
  readonly #options: FragmentHostOptions;
  readonly #encoder: StateEncoder;
  readonly #malformed: MalformedRecords;
  readonly #sinks = new Map<number, SinkWriter>();
  readonly #sources = new Map<number, SourcePump>();
  /** Of lookup joins. */
  readonly #tables = new Map<number, OpenedTable>();
  readonly #receivers: ReceiverPump[] = [];
  readonly #senders: ReturnType<typeof createSender>[] = [];
  readonly #outEdges: OutEdge[] = [];
  readonly #buffers: BufferMemory;
  readonly #figures: FragmentFigures;
  readonly #stopped = new AbortController();
  #gate: BarrierGate | undefined;
  #fragment: Fragment | undefined;
  #isClosed = false;
  /** Its last state stands for it in all checkpoints from now on. */
  #isEnding = false;
  #failure: { readonly thrown: unknown } | undefined;
  /** Resolves when the last checkpoint is acknowledged. */
  #taking: Promise<void> | undefined;
  /** Waits of sinks and edges that have no room. */
  #rooms: Promise<void>[] = [];

  constructor(options: FragmentHostOptions) {
    this.#options = options;
    const { fragment, nodes, restored } = options.spec;
    this.#encoder = new StateEncoder(fragment, restored);
    this.#buffers = new BufferMemory(options.memory, options.spec.settings.bufferBytes);
    this.#malformed = new MalformedRecords(nodes, (sink, batch) =>
      this.#hold(this.#sinks.get(sink)?.write(batch)),
    );
    this.#figures = new FragmentFigures({
      ...options,
      malformed: this.#malformed,
      sources: this.#sources,
      sinks: this.#sinks,
      receivers: this.#receivers,
      fragment: () => this.#fragment,
    });
  }

  /** Opens everything. When it throws, nothing is left open. */
  async open(): Promise<void> {
    const { spec, memory } = this.#options;
    const { nodes, settings, restored } = spec;
    try {
      for (const node of nodes.filter(isSink)) await this.#openSink(node);
      for (const node of nodes) await this.#openTable(node);
      const fragment = new Fragment({
        nodes,
        settings,
        edges: this.#edges(),
        memory,
        lookupTable: (node) => this.#tables.get(node)?.table,
        createOperator,
      });
      this.#fragment = fragment;
      if (restored !== undefined) fragment.restore(restored.nodes);
      this.#openReceivers(fragment);
      for (const node of nodes.filter(isSource)) await this.#openSource(node, fragment);
    } catch (thrown) {
      await this.close();
      throw thrown;
    }
  }

  /**
   * Resolves when all sources and senders have ended; with `undefined` when it was closed. When it
   * throws, whoever hosts it tells the cause before it closes the fragment, since others notice.
   */
  async run(): Promise<EndedFragment | undefined> {
    try {
      const pumps = [...this.#sources.values(), ...this.#receivers];
      await Promise.all(pumps.map((pump) => this.#pump(pump)));
      this.#refuseFailed();
      if (this.#isClosed) return undefined;
      this.#isEnding = true;
      if (pumps.some(({ isSuspended }) => isSuspended)) {
        for (const sender of this.#senders) sender.tell({ kind: "stop" });
      }
      for (const sink of this.#sinks.values()) await sink.end();
      for (const edge of this.#outEdges) await edge.flush();
      // What a sink prepared for a checkpoint under way is in no later state: it is told first.
      await this.#taking;
      this.#refuseFailed();
      const state = this.#encode(undefined);
      const prepared = await this.#flushSinks();
      const progress = this.progress();
      await this.close();
      return { progress, state: { ...state, prepared } };
    } catch (thrown) {
      // What closing brings about is nobody's error.
      if (this.#isClosed && this.#failure === undefined) return undefined;
      throw this.#failure?.thrown ?? thrown;
    }
  }

  /** Reads no more; with `suspend` windows stay open. */
  drain(suspend: boolean): void {
    for (const source of this.#sources.values()) source.drain(suspend);
  }

  /** Begins a checkpoint at the sources; a fragment that receives waits for the barriers. */
  trigger(checkpoint: number): void {
    if (this.#sources.size > 0 && !this.#isClosed) this.#gate?.begin(checkpoint);
  }

  completed(checkpoint: number): void {
    this.#encoder.completed(checkpoint);
  }

  /** Ends at once: what is under way is dropped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopped.abort();
    for (const edge of [...this.#receivers, ...this.#outEdges]) edge.close();
    await Promise.allSettled([
      ...[...this.#sources.values()].map((source) => source.close()),
      ...[...this.#sinks.values()].map((sink) => sink.close()),
      ...[...this.#tables.values()].map((table) => table.close()),
    ]);
    this.#options.release();
  }

  progress(): FragmentProgress {
    return this.#figures.progress();
  }

  async #pump(pump: SourcePump | ReceiverPump): Promise<void> {
    try {
      await pump.run(this.#stopped.signal);
      if (pump instanceof ReceiverPump && !this.#isClosed) this.#gate?.ended();
    } catch (thrown) {
      this.#stopped.abort();
      throw thrown;
    }
  }

  async #openSink({ id, op, schema }: SinkNode): Promise<void> {
    const { connectors, spec, run } = this.#options;
    const from = spec.restored?.positions.get(id);
    this.#sinks.set(id, await connectors.openSink({ op, schema, from, run }));
  }

  async #openTable(node: PlanNode): Promise<void> {
    if (node.op.kind !== "lookupJoin") return;
    const { connectors, memory: query } = this.#options;
    const memory = query.accountOf({
      stateBytes: 0,
      description: `the table ${node.op.table}`,
    });
    const opened = await connectors.openTable?.({ op: node.op, memory });
    if (opened === undefined) return; // The operator says that there is no lake.
    this.#tables.set(node.id, opened);
    opened.ended.catch((thrown: unknown) => this.#fail(thrown));
  }

  async #openSource(node: SourceNode, fragment: Fragment): Promise<void> {
    const { spec, connectors, clock } = this.#options;
    const { settings } = spec;
    const from = spec.restored?.positions.get(node.id);
    const reader = await connectors.openSource({ op: node.op, settings, clock, from });
    const source = new SourcePump({
      name: node.op.name,
      reader,
      input: fragment.input(node.id),
      createParser:
        node.op.parser.TYPE === undefined
          ? undefined
          : (options) => this.#malformed.createParser(node, options),
      ingestionTime: node.op.ingestionTime,
      idleTimeoutMs: settings.idleTimeoutMs,
      clock,
      labour: this.#figures.labour,
      turn: this.#newTurn(),
      room: () => this.#room(),
    });
    this.#sources.set(node.id, source);
  }

  #openReceivers(fragment: Fragment): void {
    const { spec, edges } = this.#options;
    for (const { id, op, inputs, schema } of spec.nodes) {
      if (op.kind !== "exchange" || inputs.length > 0) continue;
      const types = schema.map(({ type }) => type.name);
      for (const [side, edge] of edges.in(id).entries()) {
        this.#receivers.push(
          new ReceiverPump({
            edge,
            types,
            input: fragment.input(id, side),
            labour: this.#figures.labour,
            turn: this.#newTurn(),
            aligned: (checkpoint) => this.#gate?.arrived(checkpoint) ?? Promise.resolve(),
            room: () => this.#room(),
          }),
        );
      }
    }
    this.#gate = new BarrierGate(this.#receivers.length, (checkpoint) => this.#take(checkpoint));
  }

  #newTurn(): Turn {
    const { turns, run, clock } = this.#options;
    return new Turn(turns, run.query, clock);
  }

  #edges(): FragmentEdges {
    return {
      createOutput: (node, input) => this.#outlet(node, input),
      inputCount: ({ op, id }) =>
        op.kind === "exchange" ? (this.#options.spec.in.get(id)?.length ?? 0) : 1,
    };
  }

  /** Everything until here is in the checkpoint; what is sent from now on is behind its barrier. */
  #take(checkpoint: number): void {
    if (this.#isEnding) return;
    let state: Omit<EncodedFragment, "prepared">;
    try {
      state = this.#encode(checkpoint);
      for (const sender of this.#senders) sender.tell({ kind: "barrier", checkpoint });
    } catch (thrown) {
      this.#fail(thrown); // Whoever began the checkpoint has others to tell.
      return;
    }
    this.#taking = this.#flushSinks().then(
      (prepared) => {
        if (!this.#isClosed) this.#options.acknowledged(checkpoint, { ...state, prepared });
      },
      (thrown: unknown) => this.#fail(thrown),
    );
  }

  #refuseFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** Ends the pumps; `run` throws then. */
  #fail(thrown: unknown): void {
    if (this.#isClosed) return;
    this.#failure = { thrown };
    this.#stopped.abort();
    for (const receiver of this.#receivers) receiver.close();
    for (const source of this.#sources.values()) void source.close();
  }

  /** The state of this moment. */
  #encode(checkpoint: number | undefined): Omit<EncodedFragment, "prepared"> {
    const { fragment, keepsState } = this.#options.spec;
    const positions = new Map<number, string>();
    if (!keepsState) return { fragment, nodes: [], positions };
    for (const [node, edge] of [...this.#sources, ...this.#sinks]) {
      const position = edge.position();
      if (position !== undefined) positions.set(node, position);
    }
    return this.#encoder.encode(checkpoint, this.#fragment?.snapshot() ?? [], positions);
  }

  /** Resolves when what the sinks have now is durable, with what they prepared. */
  async #flushSinks(): Promise<Prepared> {
    const { keepsState } = this.#options.spec;
    const flushed = Array.from(this.#sinks, async ([node, sink]) => {
      if (sink.prepare !== undefined) return [node, await sink.prepare()] as const;
      if (keepsState) await sink.flush();
      return [node, undefined] as const;
    });
    const prepared = new Map<number, string>();
    for (const [node, text] of await Promise.all(flushed)) {
      if (text !== undefined) prepared.set(node, text);
    }
    return prepared;
  }

  #sender({ id, op }: PlanNode, input: Schema): Operator {
    const edges = this.#options.edges.out(id);
    this.#outEdges.push(...edges);
    const ends = this.#options.spec.out.get(id);
    const sends = edges.map((edge, at) =>
      this.#figures.watch(id, ends?.[at]?.fragment ?? "", edge),
    );
    const keys = op.kind === "exchange" ? op.keys : [];
    const sender = createSender({
      keys,
      keyTypes: keys.map((key) => input[key]?.type.name ?? "UINT8"),
      receiverCount: edges.length,
      send: (receiver, frame, rows) => this.#hold(sends[receiver]?.(frame, rows)),
    });
    this.#senders.push(sender);
    return sender;
  }

  #outlet(node: PlanNode, input: Schema): Operator {
    if (node.op.kind === "exchange") return this.#sender(node, input);
    return {
      push: (_, batch) => {
        this.#hold(this.#sinks.get(node.id)?.write(batch));
      },
    };
  }

  #hold(room: Promise<void> | undefined): void {
    if (room !== undefined) this.#rooms.push(room);
  }

  /** Called by every pump between two steps. */
  #room(): Promise<void> | undefined {
    this.#buffers.count(this.#sources.values(), this.#outEdges);
    if (this.#rooms.length === 0) return undefined;
    const rooms = this.#rooms;
    this.#rooms = [];
    return this.#figures.waiting(Promise.all(rooms).then(() => undefined));
  }
}

function isSource(node: PlanNode): node is SourceNode {
  return node.op.kind === "source";
}

function isSink(node: PlanNode): node is SinkNode {
  return node.op.kind === "sink";
}
