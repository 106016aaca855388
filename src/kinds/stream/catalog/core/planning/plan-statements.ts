/**
 * From statements to changes and questions, by a snapshot of the catalog: a pure function (SC20).
 * The statements of a bundle are applied to the snapshot in their order, so each sees what stands
 * before it. Whether a name is taken and what refers to what is dropped is checked again where the
 * changes are stored.
 */
import { type ErrorCode, OperatingError } from "../../../../../ground/kernel/errors.ts";
import {
  bindPlan,
  checkFileOf,
  DialectError,
  type DialectSettings,
  defaultDialect,
  defineLogicalSource,
  defineNamedSink,
  definePhysicalSource,
  defineView,
  explainStatement,
  type Guarantee,
  optimizeBound,
  type Plan,
  parsePreviewText,
  parseStatements,
  readDropSettings,
  type Settings,
  type Statement,
  sinkDescriptors,
  sourceDescriptors,
} from "../../../language/core/index.ts";
import type { CatalogChange, CreateQuery, FromCheckpoint } from "../changes.ts";
import { describeSource } from "../describe-source.ts";
import { findWorker } from "../find-worker.ts";
import { placeQuery } from "../placement/place-query.ts";
import type {
  CatalogSnapshot,
  HeldSlots,
  Planned,
  PlannerInput,
  PreviewInput,
  Topology,
} from "../planner.ts";
import { planWorker } from "./plan-worker.ts";
import {
  bindError,
  definitionError,
  ofStatement,
  optimizerError,
  parserError,
} from "./planner-errors.ts";
import { PlanningCatalog } from "./planning-catalog.ts";
import { questionOf } from "./show-filter.ts";
import { refuseSystemName, systemGuarantee } from "./system-catalog.ts";

/** What is neither a query nor about one that is there. */
type Definition = Extract<
  Statement,
  {
    kind:
      | "createLogicalSource"
      | "createView"
      | "createPhysicalSource"
      | "createSink"
      | "createWorker"
      | "drop";
  }
>;

type Of<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;

/** Throws `OperatingError` with a code of the request table; nothing else is thrown for a text. */
export function planStatements(
  inputs: readonly PlannerInput[],
  snapshot: CatalogSnapshot,
  dialect: DialectSettings = defaultDialect,
): readonly Planned[] {
  const planner = new StatementPlanner(snapshot, dialect);
  return inputs.flatMap((input, at) => {
    try {
      if (typeof input !== "string" && input.kind === "previewText")
        return [planner.preview(input)];
      const statements = typeof input === "string" ? parse(input, parseStatements) : [input];
      return statements.map((statement) => planner.plan(statement));
    } catch (thrown) {
      throw inputs.length > 1 ? ofStatement(thrown, at) : thrown;
    }
  });
}

function parse<T>(text: string, parser: (text: string) => T): T {
  try {
    return parser(text);
  } catch (thrown) {
    throw parserError(thrown, text);
  }
}

const nameCharactersMax = 255;

class StatementPlanner {
  readonly #catalog: PlanningCatalog;
  readonly #dialect: DialectSettings;
  #topology: Topology;
  /** How many changes there are so far. */
  #changes = 0;
  /** The names, or ids, of queries that a statement before drops, in capital letters. */
  readonly #dropped = new Set<string>();
  readonly #held: readonly HeldSlots[];

  constructor(snapshot: CatalogSnapshot, dialect: DialectSettings) {
    this.#catalog = new PlanningCatalog(snapshot);
    this.#dialect = dialect;
    this.#topology = snapshot.topology;
    this.#held = snapshot.held ?? [];
  }

  plan(statement: Statement): Planned {
    this.#catalog.forgetUses();
    switch (statement.kind) {
      case "createQuery":
      case "query":
        return this.#changed(this.#createQuery(statement));
      case "explain":
        return this.#explain(statement);
      case "show":
        return { kind: "question", question: bound(statement, () => questionOf(statement)) };
      case "showCheckpoints": {
        const { query, format } = statement;
        const question = { kind: "checkpoints", query: query?.text, format } as const;
        return { kind: "question", question };
      }
      case "checkpoint":
        return this.#changed({ kind: "checkpointQuery", query: statement.name.text });
      case "dropCheckpoint": {
        const { kind, query, checkpoint, ifExists } = statement;
        return this.#changed({ kind, query: query.text, checkpoint, ifExists });
      }
      case "preview":
        throw refusePreview(statement);
      case "pause":
      case "resume": {
        const desired = statement.kind === "pause" ? "PAUSED" : "RUNNING";
        const checkpoint = statement.kind === "resume" ? statement.checkpoint : undefined;
        const change = { kind: "setDesired", query: statement.name.text, desired } as const;
        return this.#changed({ ...change, ...(checkpoint !== undefined && { checkpoint }) });
      }
      default:
        return this.#changed(defined(statement, () => this.#define(statement)));
    }
  }

  /** SC60 */
  preview({ text, rowsMax }: PreviewInput): Planned {
    this.#catalog.forgetUses();
    const { query, rowsMax: asked } = parse(text, parsePreviewText);
    const { position } = query;
    const sink = { kind: "preview", rowsMax: asked ?? rowsMax, position } as const;
    const written = text.trim().replace(/;\s*$/, "");
    const shown = /^preview\b/i.test(written) ? written : `PREVIEW ${written}`;
    const statement: Of<"query"> = {
      ...{ kind: "query", query: { ...query, sinks: [sink] }, from: undefined },
      ...{ position, text: shown },
    };
    const planned = this.#createQuery(statement);
    return this.#changed({ ...planned, isPreview: true, guarantee: "at most once" });
  }

  #changed(change: CatalogChange): Planned {
    this.#changes += 1;
    return { kind: "change", change };
  }

  /** The id of the row that the change being planned makes. */
  get #newId(): string {
    return `new:${this.#changes}`;
  }

  #define(statement: Definition): CatalogChange {
    switch (statement.kind) {
      case "createLogicalSource":
        return this.#createLogicalSource(statement);
      case "createView":
        return this.#createView(statement);
      case "createPhysicalSource":
        return this.#createPhysicalSource(statement);
      case "createSink":
        return this.#createSink(statement);
      case "createWorker":
        return this.#createWorker(statement);
      case "drop":
        return this.#drop(statement);
    }
  }

  #createLogicalSource(statement: Of<"createLogicalSource">): CatalogChange {
    const { name, ifNotExists, query, definition } = statement;
    checkName(name);
    const source = defineLogicalSource(statement, this.#catalog, this.#dialect);
    const sourceKind = query === undefined ? "LOGICAL" : "DERIVED";
    const { sources: uses } = this.#catalog.uses;
    if (!this.#hasSource(name, ifNotExists)) {
      this.#catalog.putSource(this.#newId, sourceKind, source);
    }
    return {
      ...{ kind: "createLogicalSource", name: name.text, ifNotExists, sourceKind },
      ...{ schema: source.schema, watermark: source.watermark, definition, uses },
    };
  }

  #createView(statement: Of<"createView">): CatalogChange {
    const { name, ifNotExists, query, definition } = statement;
    checkName(name);
    const { schema } = defineView(statement, this.#catalog, this.#dialect);
    const { sources: uses } = this.#catalog.uses;
    if (!this.#hasSource(name, ifNotExists)) {
      const source = { name: name.text, schema, watermark: undefined, query };
      this.#catalog.putSource(this.#newId, "VIEW", source);
    }
    return {
      ...{ kind: "createLogicalSource", name: name.text, ifNotExists, sourceKind: "VIEW" },
      ...{ schema, watermark: undefined, definition, uses },
    };
  }

  #hasSource({ text, position }: Of<"createView">["name"], ifNotExists: boolean): boolean {
    const found = this.#catalog.sourceNamed(text);
    if (found === undefined || ifNotExists) return found !== undefined;
    const what = found.kind === "VIEW" ? "view" : "logical source";
    throw new DialectError(2031, `the ${what} ${found.source.name} exists already`, {
      position,
      hint: `Sources and views share their names. DROP ${what.toUpperCase()} ${found.source.name} makes room.`,
    });
  }

  #createPhysicalSource(statement: Of<"createPhysicalSource">): CatalogChange {
    const { logical, ifNotExists } = statement;
    refuseSystemName(logical);
    const defined = definePhysicalSource(statement, this.#catalog, this.#dialect);
    const sourceId = this.#catalog.sourceNamed(logical.text)?.id ?? "";
    const { logical: logicalName, type, parser } = defined;
    const { placement, config } = placementOf(defined.config);
    checkFileOf(config);
    const { workers } = this.#topology;
    const worker = placement === undefined ? undefined : findWorker(workers, placement);
    const workerId = worker?.workerId ?? null;
    const description = describeSource({ sourceId, workerId, type, config, parser });
    if (!ifNotExists || !this.#catalog.hasPhysical(description)) {
      this.#catalog.putPhysical(sourceId, { id: this.#newId, ...defined }, description);
    }
    const change = { kind: "createPhysicalSource", ifNotExists, sourceId, logicalName } as const;
    return { ...change, type, parser, placement, config };
  }

  #createSink(statement: Of<"createSink">): CatalogChange {
    const { name, ifNotExists } = statement;
    checkName(name);
    const sink = defineNamedSink(statement, this.#dialect);
    checkFileOf(sink.config);
    const found = this.#catalog.sinkNamed(name.text);
    if (found !== undefined && !ifNotExists) {
      throw new DialectError(2034, `the sink ${found.sink.name} exists already`, {
        position: name.position,
        hint: `DROP SINK ${found.sink.name} makes room.`,
      });
    }
    if (found === undefined) this.#catalog.putSink(this.#newId, sink);
    const { schema, type, formatter } = sink;
    return {
      ...{ kind: "createSink", name: name.text, ifNotExists, schema, type, formatter },
      ...placementOf(sink.config),
    };
  }

  #createWorker(statement: Of<"createWorker">): CatalogChange {
    const change = planWorker(statement);
    const { label, host, grpcPort, slots } = change;
    const workerId = this.#newId;
    const worker = { workerId, label, host, grpcPort, slots, slotsUsed: 0, takesFragments: false };
    const reason = "it is created by the same bundle, and nobody has heard of it yet";
    const { workers } = this.#topology;
    this.#topology = { ...this.#topology, workers: [...workers, { ...worker, reason }] };
    return change;
  }

  #drop({ object, name, ifExists, mode, settings, position }: Of<"drop">): CatalogChange {
    const told = object === "query" ? readDropSettings(settings, position) : undefined;
    if (object === "logical source" || object === "view") {
      refuseSystemName(name);
      const isView = this.#catalog.sourceNamed(name.text)?.kind === "VIEW";
      if (isView === (object === "view")) this.#catalog.dropSource(name.text);
    }
    if (object === "physical source") this.#catalog.dropPhysical(name.text);
    if (object === "sink") this.#catalog.dropSink(name.text);
    if (object === "query") this.#dropped.add(name.text.toUpperCase());
    return { kind: "drop", object, name: name.text, ifExists, mode: mode ?? told ?? "HARD" };
  }

  #createQuery(statement: Of<"createQuery"> | Of<"query">): CreateQuery {
    const named = statement.kind === "createQuery" ? statement : undefined;
    if (named !== undefined) defined(named, () => checkName(named.name, true));
    const plan = this.#planOf(statement);
    const { sources, physicalSources, sinks } = this.#catalog.uses;
    const name = named?.name.text;
    const replaces = named !== undefined && (named.replaces || this.#isDropped(named.name.text));
    const held = replaces ? this.#heldBy(named.name.text) : new Map<string, number>();
    const result = placeQuery(plan, withSlotsOf(this.#topology, held));
    if (result.kind === "failed") {
      throw placementError(result, statement);
    }
    this.#takeSlots(result.placement, held);
    return {
      kind: "createQuery",
      name,
      ifNotExists: named?.ifNotExists ?? false,
      replaces,
      isPreview: false,
      statement: statement.text,
      guarantee: guaranteeOf(plan),
      ...{ plan: result.plan, placement: result.placement },
      ...{ logicalSources: sources, physicalSources, sinks },
      tables: tablesOf(plan, this.#catalog),
      ...(statement.from && { from: fromCheckpoint(statement.from, name) }),
    };
  }

  #planOf(statement: Of<"createQuery"> | Of<"query">): Plan {
    let plan: Plan;
    try {
      plan = bindPlan(statement.query, this.#catalog, this.#dialect);
      for (const { op } of plan.nodes) {
        if (op.kind === "source" || op.kind === "sink") checkFileOf(op.config);
      }
    } catch (thrown) {
      throw bindError(thrown, this.#catalog.uses.isDry, statement);
    }
    try {
      return optimizeBound(plan, this.#catalog);
    } catch (thrown) {
      throw optimizerError(thrown, statement);
    }
  }

  #isDropped(name: string): boolean {
    const nameKey = name.toUpperCase();
    if (this.#dropped.has(nameKey)) return true;
    return this.#held.some((held) => held.nameKey === nameKey && this.#dropped.has(held.queryId));
  }

  /** By worker: the slots of the query with this name, which its successor takes over. */
  #heldBy(name: string): ReadonlyMap<string, number> {
    const held = new Map<string, number>();
    for (const { nameKey, workerId, count } of this.#held) {
      if (nameKey === name.toUpperCase()) held.set(workerId, (held.get(workerId) ?? 0) + count);
    }
    return held;
  }

  /** Slots of queries before in the bundle are taken. */
  #takeSlots(placement: CreateQuery["placement"], held: ReadonlyMap<string, number>): void {
    const taken = Map.groupBy(placement, ({ workerId }) => workerId);
    this.#topology = {
      ...this.#topology,
      workers: this.#topology.workers.map((worker) => {
        const count = taken.get(worker.workerId)?.length ?? 0;
        const more = Math.max(0, count - (held.get(worker.workerId) ?? 0));
        return more === 0 ? worker : { ...worker, slotsUsed: worker.slotsUsed + more };
      }),
    };
  }

  #explain(statement: Of<"explain">): Planned {
    try {
      const answer = explainStatement(statement, this.#catalog, this.#dialect);
      return { kind: "question", question: { kind: "explain", answer, format: statement.format } };
    } catch (thrown) {
      throw bindError(thrown, false, statement);
    }
  }
}

function withSlotsOf(topology: Topology, held: ReadonlyMap<string, number>): Topology {
  const workers = topology.workers.map((worker) => {
    const slotsUsed = worker.slotsUsed - (held.get(worker.workerId) ?? 0);
    return { ...worker, slotsUsed };
  });
  return held.size === 0 ? topology : { ...topology, workers };
}

/** Without FOR it is one of the query that has the name. */
function fromCheckpoint(
  { checkpoint, query, position }: NonNullable<Of<"query">["from"]>,
  name: string | undefined,
): FromCheckpoint {
  const named = query?.text ?? name;
  if (named !== undefined) return { query: named, checkpoint };
  const message = `FROM CHECKPOINT ${checkpoint} does not say of which query`;
  const hint = `FROM CHECKPOINT ${checkpoint} FOR q names it.`;
  throw new OperatingError("BinderError", "never", message, { number: 2029, position, hint });
}

/** A preview shows rows while it is read, so it needs a request that can stream them. */
function refusePreview({ position }: Statement): OperatingError {
  return new OperatingError("BinderError", "never", "PREVIEW stands alone, not in a bundle", {
    number: 2029,
    position,
    hint: "Type it by itself at the prompt, or POST it to /api/v1/streams/preview.",
  });
}

function defined<T>(statement: Statement, define: () => T): T {
  try {
    return define();
  } catch (thrown) {
    throw definitionError(thrown, statement);
  }
}

function bound<T>(statement: Statement, bind: () => T): T {
  try {
    return bind();
  } catch (thrown) {
    throw bindError(thrown, false, statement);
  }
}

/** Names are shown, logged and typed; a query is also named by its id, which is a number. */
function checkName(name: Of<"createSink">["name"], isQuery = false): void {
  const { text, position } = name;
  if (!isQuery) refuseSystemName(name);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  const isOdd = /[\u0000-\u001f\u007f]/.test(text) || text.trim() !== text;
  if (text === "" || text.length > nameCharactersMax || isOdd) {
    throw new DialectError(2009, `${JSON.stringify(text.slice(0, 40))} cannot be a name`, {
      position,
      hint: `A name has 1 to ${nameCharactersMax} characters, no control characters, and no space around it.`,
    });
  }
  if (!isQuery || !/^\d+$/.test(text)) return;
  throw new DialectError(2009, `the name ${text} could be the id of a query`, {
    position,
    hint: "Add a letter.",
  });
}

function placementError(
  {
    code,
    message,
    hint,
  }: { readonly code: ErrorCode; readonly message: string; readonly hint: string | undefined },
  { position }: Statement,
): OperatingError {
  return new OperatingError(code, "never", message, {
    number: code === "PlacementError" || code === "InsufficientCapacity" ? 2300 : 2302,
    position,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The worker that a source or sink names, and its other settings. */
function placementOf({ PLACEMENT, ...config }: Settings): {
  readonly placement: string | undefined;
  readonly config: Settings;
} {
  return { placement: PLACEMENT === undefined ? undefined : String(PLACEMENT), config };
}

const guarantees: readonly Guarantee[] = ["at most once", "at least once", "exactly once"];

/** The weakest one of the sources and sinks. */
function guaranteeOf({ nodes }: Plan): Guarantee {
  const own = nodes.flatMap(({ op }) => {
    if (op.kind !== "source" && op.kind !== "sink") return [];
    const system = op.kind === "source" ? systemGuarantee(op) : undefined;
    if (system !== undefined) return [guarantees.indexOf(system)];
    const descriptors = op.kind === "source" ? sourceDescriptors : sinkDescriptors;
    const found = descriptors.find(({ type }) => type === op.type);
    return found === undefined ? [] : [guarantees.indexOf(found.guarantee)];
  });
  return guarantees[Math.min(...own, guarantees.length - 1)] ?? "at most once";
}

/** The tables of the lake that it reads and writes. */
function tablesOf({ nodes }: Plan, catalog: PlanningCatalog): CreateQuery["tables"] {
  const found = new Map<string, CreateQuery["tables"][number]>();
  for (const { op } of nodes) {
    const isConnector = (op.kind === "source" || op.kind === "sink") && op.type === "Lake";
    const name = isConnector ? String(op.config.TABLE) : op.kind === "lookupJoin" ? op.table : "";
    const tableId = catalog.tableId(name);
    if (tableId === undefined) continue;
    const writes = op.kind === "sink";
    found.set(`${tableId} ${writes}`, { tableId, writes });
  }
  return [...found.values()];
}
