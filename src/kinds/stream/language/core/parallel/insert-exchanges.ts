/**
 * Makes a plan that can run in several instances: in front of an operator whose state belongs to
 * keys stands an exchange that brings rows of equal keys together, in front of one without keys
 * and of a sink one that brings all rows together. Rules: SY90 and SY91.
 *
 * Filters and projections move below unions first, so that each branch runs where its source is,
 * and an exchange takes the branches of a union as inputs of its own.
 */
import { hasLateRows } from "../bind/late-sink.ts";
import type { Schema } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { Plan, PlanInput, PlanNode, PlanOp } from "../plan.ts";
import { planBranchesMax } from "../plan-size.ts";
import { splitAggregate } from "./split-aggregate.ts";

/**
 * How many exchanges rows come through before a node, at most. Nodes that run together have one
 * depth, and what is behind an exchange has a greater one: so no part waits for itself (SY95).
 */
type Depth = number;

/** The columns by whose values rows are spread; `undefined`: rows of equal values may be apart. */
type Spread = readonly number[] | undefined;

/** Sinks that any number of instances may write to. */
const parallelSinks: readonly string[] = ["VOID"];

export function insertExchanges(plan: Plan): Plan {
  const builder = new Builder(plan.nodes.some(isPlaced));
  const { lateSink } = plan.settings;
  for (const node of plan.nodes) if (node.id !== lateSink) builder.rebuild(node);
  const late = lateSink === undefined ? undefined : builder.addLate(plan.nodes[lateSink]);
  return { ...plan, nodes: builder.nodes, settings: { ...plan.settings, lateSink: late } };
}

/** Whether the node says which worker it runs on. */
function isPlaced({ op }: PlanNode): boolean {
  return (op.kind === "source" || op.kind === "sink") && op.config.PLACEMENT !== undefined;
}

class Builder {
  readonly nodes: PlanNode[] = [];
  /** Of a node of the old plan: the branches that give its rows in the new one. */
  readonly #branches = new Map<number, readonly number[]>();
  readonly #spreads: Spread[] = [];
  readonly #depths: Depth[] = [];
  readonly #exchanges = new Map<string, number>();
  readonly #isPlaced: boolean;
  #branchCount = 0;

  constructor(isPlaced: boolean) {
    this.#isPlaced = isPlaced;
  }

  /**
   * The sink for late rows, behind an exchange from wherever rows are found to be late (SY94).
   * Returns the exchange.
   */
  addLate(sink: PlanNode | undefined): number | undefined {
    if (sink === undefined) return undefined;
    // Of an aggregation in two halves the first one finds them.
    const halves = this.nodes.filter(({ op }) => op.kind === "partialAggregate");
    const tellers = halves.length > 0 ? halves : this.nodes.filter(({ op }) => hasLateRows(op));
    const inputs = tellers.map(({ id }) => ({ node: id, shiftMs: 0, isLate: true as const }));
    const exchange = this.#add({ kind: "exchange", keys: [] }, inputs, sink.schema, []);
    this.#add(sink.op, [{ node: exchange, shiftMs: 0 }], sink.schema, undefined);
    return exchange;
  }

  rebuild(node: PlanNode): void {
    const { op } = node;
    switch (op.kind) {
      case "union":
        this.#setBranches(
          node.id,
          node.inputs.flatMap((input) => this.#branches.get(input.node) ?? []),
        );
        return;
      case "filter":
      case "project":
      case "eventTime":
      case "lookupJoin":
        this.#eachBranch(node);
        return;
      default:
        this.#branches.set(node.id, [this.#stateful(node)]);
    }
  }

  #setBranches(node: number, branches: readonly number[]): void {
    this.#branchCount += branches.length;
    if (this.#branchCount > planBranchesMax) {
      throw new DialectError(2008, "the unions of the query have too many branches", {
        hint: `The most is ${planBranchesMax}.`,
      });
    }
    this.#branches.set(node, branches);
  }

  #eachBranch(node: PlanNode): void {
    const [input] = node.inputs;
    const branches = (input === undefined ? undefined : this.#branches.get(input.node)) ?? [];
    const shiftMs = input?.shiftMs ?? 0;
    const copies = branches.map((branch) =>
      this.#add(
        node.op,
        [{ node: branch, shiftMs }],
        node.schema,
        passOn(node.op, this.#spreads[branch]),
      ),
    );
    this.#setBranches(node.id, copies);
  }

  #stateful(node: PlanNode): number {
    const { op, inputs, schema } = node;
    const wanted = keysOf(op, this.#isPlaced || !this.#runTogether(inputs));
    if (wanted === undefined) return this.#add(op, this.#merged(inputs), schema, undefined);
    const split = this.#split(node);
    if (split !== undefined) return split;
    const sides = inputs.map(({ node: from, shiftMs }, side) => {
      const branches = this.#branches.get(from) ?? [];
      const keys = wanted[side] ?? [];
      const [only] = branches;
      const isReady =
        branches.length === 1 && only !== undefined && suits(op, this.#spreads[only], keys);
      const ready = isReady ? only : undefined;
      const depth = this.#depthOf(branches) + (isReady ? 0 : 1);
      return { branches, keys, shiftMs, ready, depth };
    });
    const depth = Math.max(0, ...sides.map((side) => side.depth));
    const exchanged = sides.map(({ branches, keys, shiftMs, ready, depth: own }) => {
      const stays = ready !== undefined && own === depth;
      return { node: stays ? ready : this.#exchange(branches, keys, depth), shiftMs };
    });
    return this.#add(op, exchanged, schema, spreadBehind(op));
  }

  #depthOf(nodes: readonly number[]): Depth {
    return Math.max(0, ...nodes.map((node) => this.#depths[node] ?? 0));
  }

  /** Whether all branches of the inputs could run in one part. */
  #runTogether(inputs: readonly PlanInput[]): boolean {
    const branches = inputs.flatMap(({ node }) => this.#branches.get(node) ?? []);
    return new Set(branches.map((node) => this.#depths[node])).size <= 1;
  }

  /** An aggregation in two halves, with the exchange between them (SY93). */
  #split({ op, inputs, schema }: PlanNode): number | undefined {
    const [input] = inputs;
    if (op.kind !== "windowAggregate" || input === undefined) return undefined;
    const branches = this.#branches.get(input.node) ?? [];
    const [only] = branches;
    if (only === undefined) return undefined;
    if (branches.length === 1 && suits(op, this.#spreads[only], op.keys)) return undefined;
    const halves = splitAggregate(op, this.nodes[only]?.schema ?? [], schema);
    if (halves === undefined) return undefined;
    const { partial, partialSchema, final, finalSchema, results } = halves;
    const partials = branches.map((node) =>
      this.#add(partial, [{ node, shiftMs: input.shiftMs }], partialSchema, undefined),
    );
    const exchange = this.#exchange(partials, final.keys);
    const whole = this.#add(
      final,
      [{ node: exchange, shiftMs: 0 }],
      finalSchema,
      spreadBehind(final),
    );
    const isSame = results.every((one, at) => one.kind === "column" && one.index === at);
    if (isSame) return this.#retyped(whole, schema);
    const project: PlanOp = { kind: "project", exprs: results };
    const spread = passOn(project, this.#spreads[whole]);
    return this.#add(project, [{ node: whole, shiftMs: 0 }], schema, spread);
  }

  /** The node with the schema of the node that it stands for. */
  #retyped(id: number, schema: Schema): number {
    this.nodes[id] = { ...(this.nodes[id] as PlanNode), schema };
    return id;
  }

  /** A sink that needs no exchange still has one input. */
  #merged(inputs: readonly PlanInput[]): readonly PlanInput[] {
    return inputs.map(({ node, shiftMs }) => {
      const branches = this.#branches.get(node) ?? [];
      const [only] = branches;
      if (branches.length === 1 && only !== undefined) return { node: only, shiftMs };
      const schema = this.nodes[only ?? 0]?.schema ?? [];
      const each = branches.map((branch) => ({ node: branch, shiftMs: 0 }));
      return { node: this.#add({ kind: "union" }, each, schema, undefined), shiftMs };
    });
  }

  #exchange(
    branches: readonly number[],
    keys: readonly number[],
    depth: Depth = this.#depthOf(branches) + 1,
  ): number {
    const name = `${branches.join(",")}:${keys.join(",")}:${depth}`;
    const known = this.#exchanges.get(name);
    if (known !== undefined) return known;
    const inputs = branches.map((node) => ({ node, shiftMs: 0 }));
    const schema = this.nodes[branches[0] ?? 0]?.schema ?? [];
    const added = this.#add({ kind: "exchange", keys }, inputs, schema, keys);
    this.#depths[added] = depth;
    this.#exchanges.set(name, added);
    return added;
  }

  #add(op: PlanOp, inputs: readonly PlanInput[], schema: Schema, spread: Spread): number {
    const id = this.nodes.length;
    this.nodes.push({ id, inputs, op, schema });
    this.#spreads.push(spread);
    this.#depths.push(this.#depthOf(inputs.map(({ node }) => node)));
    return id;
  }
}

/**
 * The keys that each input is spread by; `undefined` for what needs no exchange. `isApart`: a sink
 * cannot run beside whatever sends to it.
 */
function keysOf(op: PlanOp, isApart: boolean): readonly (readonly number[])[] | undefined {
  switch (op.kind) {
    case "windowAggregate":
      return [op.keys];
    case "windowJoin":
    case "intervalJoin":
      return [op.keys.map(({ left }) => left), op.keys.map(({ right }) => right)];
    case "topN":
      return [op.partition];
    case "keyed":
      return [op.keys];
    case "sink":
      // Beside its senders it could not be where it, or one of them, is placed.
      return parallelSinks.includes(op.type.toUpperCase()) && !isApart ? undefined : [[]];
    default:
      return undefined;
  }
}

/** Whether rows that are spread so need no exchange for the keys. */
function suits(op: PlanOp, spread: Spread, keys: readonly number[]): boolean {
  if (spread === undefined) return false;
  // All rows in one instance: that is right for everybody.
  if (spread.length === 0) return true;
  // Both sides of a join have to be spread by the same values in the same order.
  if (op.kind === "windowJoin" || op.kind === "intervalJoin") {
    return spread.length === keys.length && spread.every((column, at) => column === keys[at]);
  }
  return keys.length > 0 && spread.every((column) => keys.includes(column));
}

function passOn(op: PlanOp, spread: Spread): Spread {
  if (spread === undefined || op.kind !== "project") return spread;
  const moved = spread.map((column) =>
    op.exprs.findIndex((expr) => expr.kind === "column" && expr.index === column),
  );
  return moved.includes(-1) ? undefined : moved;
}

/** `start` and `end` stand in front of the keys of an aggregation. */
function spreadBehind(op: PlanOp): Spread {
  switch (op.kind) {
    case "windowAggregate":
      return op.keys.map((_, at) => at + 2);
    case "windowJoin":
      return op.join === "inner" || op.join === "left"
        ? op.keys.map(({ left }) => left + 2)
        : undefined;
    case "intervalJoin":
      return op.keys.map(({ left }) => left);
    case "topN":
      return op.partition;
    case "keyed":
      return op.keys;
    default:
      return undefined;
  }
}
