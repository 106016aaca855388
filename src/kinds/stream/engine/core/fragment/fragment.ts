/**
 * The operators that run together on one thread, connected. Whoever hosts a fragment gives it the
 * rows of its sources and receivers, and takes those of its sinks and senders; everything between
 * happens synchronously, so that between two calls no row is under way: that is when snapshots are
 * taken. Rules: SX1 to SX9.
 */
import { assert } from "../../../../../ground/kernel/errors.ts";
import type { PlanNode, QuerySettings, Schema } from "../../../language/core/index.ts";
import type { Batch } from "../batch.ts";
import {
  endOfTime,
  type LateRows,
  type LookupTable,
  type Operator,
  type OperatorContext,
  type SavedSection,
  type StateSection,
  startOfTime,
} from "../operator.ts";
import { LateCounter } from "./late-counter.ts";
import type { QueryMemory } from "./query-memory.ts";
import { Station, type StationCounts } from "./station.ts";

/** What the host does for the nodes at the edges of a fragment. */
export interface FragmentEdges {
  /** Makes what takes the rows of a sink or a sender; it copies what it keeps. */
  createOutput(node: PlanNode, input: Schema): Operator;
  /** How many sides send to a receiver; 1 for a source. */
  inputCount(node: PlanNode): number;
}

export interface FragmentParts {
  readonly nodes: readonly PlanNode[];
  readonly settings: QuerySettings;
  readonly edges: FragmentEdges;
  readonly memory: QueryMemory;
  /** The tables of lookup joins, by node; absent where there are none. */
  readonly lookupTable?: (node: number) => LookupTable | undefined;
  createOperator(node: PlanNode, inputs: readonly Schema[], context: OperatorContext): Operator;
}

/** Where the rows of one source, or of one side of a receiver, enter. */
export interface FragmentInput {
  push(batch: Batch): void;
  /** A read buffer of the source ended: watermarks may advance. */
  mark(): void;
  watermark(time: bigint): void;
  /** Nothing came for a while, so this input does not hold the others back. */
  idle(): void;
  end(): void;
}

/** The state of one operator at a checkpoint. */
export interface NodeState {
  readonly node: number;
  readonly sections: readonly StateSection[];
  readonly combined: bigint;
  readonly told: bigint;
}

export interface SavedNodeState {
  readonly node: number;
  readonly sections: readonly SavedSection[];
  readonly combined: bigint;
  readonly told: bigint;
}

export class Fragment {
  readonly #stations = new Map<number, Station>();
  readonly #ordered: readonly Station[];

  constructor(parts: FragmentParts) {
    const { nodes, settings, edges, memory, createOperator } = parts;
    const schemas = new Map(nodes.map(({ id, schema }) => [id, schema]));
    // In a plan with exchanges late rows leave by one of them.
    const lateSinks = new Map(
      nodes.flatMap(({ id, inputs }) =>
        inputs.flatMap(({ node, isLate }) => (isLate ? [[node, id] as const] : [])),
      ),
    );
    for (const node of nodes) {
      const shifts = node.inputs.map(({ shiftMs }) => shiftMs);
      const isEntry = node.op.kind === "source" || isReceiver(node);
      const entries = isEntry ? new Array<number>(edges.inputCount(node)).fill(0) : shifts;
      const station = new Station(node, entries);
      const inputs = node.inputs.map((input) => {
        if (input.isLate) return node.schema;
        const schema = schemas.get(input.node);
        assert(schema !== undefined, "a node's inputs are listed before it");
        return schema;
      });
      this.#stations.set(node.id, station);
      const emit = (batch: Batch): void => station.emit(batch);
      if (isEntry) station.operator = { push: (_, batch) => emit(batch) };
      else if (node.op.kind === "sink" || node.op.kind === "exchange") {
        station.operator = edges.createOutput(node, inputs[0] ?? node.schema);
      } else {
        const sink = lateSinks.get(node.id) ?? settings.lateSink;
        const late: LateRows = new LateCounter(station, settings, (batch) => {
          assert(sink !== undefined, "the binder gives a query with late rows aside their sink");
          this.#station(sink).push(0, batch);
        });
        const table = parts.lookupTable?.(node.id);
        const context = {
          ...{ emit, late, memory: memory.accountOf(station) },
          ...(table === undefined ? {} : { lookupTable: () => table }),
        };
        station.operator = createOperator(node, inputs, context);
      }
      for (const [input, { node: from, isLate = false }] of node.inputs.entries()) {
        this.#station(from).connect(station, input, isLate);
      }
    }
    this.#ordered = [...this.#stations.values()];
    for (const station of this.#ordered.toReversed()) station.settle();
  }

  /** The entry of a source or a receiver; `side` counts those who send to a receiver. */
  input(node: number, side = 0): FragmentInput {
    const station = this.#station(node);
    return {
      push: (batch) => station.push(side, batch),
      mark: () => station.mark(),
      watermark: (time) => station.tellWatermark(side, time),
      idle: () => station.tellIdle(side, true),
      end: () => station.tellWatermark(side, endOfTime),
    };
  }

  get hasEnded(): boolean {
    return this.#ordered.every(
      ({ node, watermark }) => watermark === endOfTime || isLateSink(node),
    );
  }

  counts(node: number): StationCounts {
    return this.#station(node).counts;
  }

  /** Which of a node's inputs holds its watermark back. */
  slowestInput(node: number): number {
    return this.#station(node).slowestInput;
  }

  snapshot(): readonly NodeState[] {
    return this.#ordered.map((station) => ({
      node: station.node.id,
      sections: station.operator.snapshot?.() ?? [],
      combined: station.watermark,
      told: station.counts.watermark,
    }));
  }

  /**
   * Called once, before the first input. Other fragments have forgotten what they were told about
   * time, and are told again; a fragment that had ended tells them so (SG7).
   */
  restore(states: readonly SavedNodeState[]): void {
    for (const { node, sections, combined, told } of states) {
      const station = this.#station(node);
      station.restoreTime(combined, told);
      if (sections.length > 0) station.operator.restore?.(sections);
    }
    for (const { node, operator, watermark } of this.#ordered) {
      const isSender = node.op.kind === "exchange" && node.inputs.length > 0;
      if (isSender && watermark > startOfTime) operator.advance?.(watermark);
    }
  }

  #station(node: number): Station {
    const station = this.#stations.get(node);
    assert(station !== undefined, "a fragment is asked for its own nodes only");
    return station;
  }
}

/** An exchange that a fragment takes rows from has its input in another one. */
function isReceiver({ op, inputs }: PlanNode): boolean {
  return op.kind === "exchange" && inputs.length === 0;
}

/** The sink for late rows is no node's consumer. */
function isLateSink({ op, inputs }: PlanNode): boolean {
  return op.kind === "sink" && inputs.length === 0;
}
