/**
 * The catalog as a planner sees it: the rows of a snapshot, to which the statements of a bundle are
 * applied in their order. It notes what a statement asks for, which is what the statement refers to
 * (SC6).
 */
import {
  type Catalog,
  type LakeTable,
  type LogicalSource,
  type PhysicalSource,
  parseQueryText,
  type Schema,
  type Settings,
  type SinkDefinition,
  sinkDescriptors,
  sourceDescriptors,
  type ViewDefinition,
} from "../../../language/core/index.ts";
import type { CatalogSnapshot, Topology } from "../planner.ts";
import type { LogicalSourceRow, PhysicalSourceRow, SinkRow } from "../tables.ts";
import {
  systemLogicalSource,
  systemNames,
  systemPhysicalSources,
  systemView,
} from "./system-catalog.ts";

type SourceKind = LogicalSourceRow["kind"];

interface KnownSource {
  readonly id: string;
  readonly kind: SourceKind;
  readonly source: LogicalSource;
}

interface KnownSink {
  readonly id: string;
  readonly sink: SinkDefinition;
}

/** The ids of what a statement referred to. */
export interface Uses {
  /** Sources and views. */
  readonly sources: readonly string[];
  readonly physicalSources: readonly string[];
  readonly sinks: readonly string[];
  /** A source that nothing is read for. */
  readonly isDry: boolean;
}

export class PlanningCatalog implements Catalog {
  readonly hasLake: boolean;
  readonly #sources = new Map<string, KnownSource>();
  /** By the id of the logical source. */
  readonly #physical = new Map<string, PhysicalSource[]>();
  /** The ids of physical sources, by what describes them. */
  readonly #described = new Map<string, string>();
  readonly #sinks = new Map<string, KnownSink>();
  readonly #tables = new Map<string, LakeTable & { readonly tableId: number }>();
  readonly #used = {
    sources: new Set<string>(),
    physicalSources: new Set<string>(),
    sinks: new Set<string>(),
  };
  readonly #topology: Topology;
  #isDry = false;

  constructor({ logicalSources, physicalSources, sinks, tables, topology }: CatalogSnapshot) {
    this.#topology = topology;
    this.hasLake = tables !== undefined;
    for (const table of tables ?? []) this.#tables.set(keyOf(table.name), table);
    const names = new Map(logicalSources.map((row) => [row.source_id, row.name]));
    for (const row of logicalSources) {
      if (row.superseded_by === null) this.putSource(row.source_id, row.kind, sourceOf(row));
    }
    for (const row of physicalSources) {
      if (row.superseded_by !== null) continue;
      const source = physicalOf(row, names.get(row.source_id) ?? "");
      this.putPhysical(row.source_id, source, row.description_key);
    }
    for (const row of sinks) {
      if (row.superseded_by === null) this.putSink(row.sink_id, sinkOf(row));
    }
  }

  logicalSource(name: string): LogicalSource | undefined {
    const found = this.#sources.get(keyOf(name));
    if (found === undefined) return systemLogicalSource(name);
    if (found.kind === "VIEW") return undefined;
    this.#used.sources.add(found.id);
    return found.source;
  }

  physicalSources(logical: string): readonly PhysicalSource[] {
    const found = this.#sources.get(keyOf(logical));
    const system = found === undefined ? systemPhysicalSources(logical, this.#topology) : undefined;
    if (system !== undefined) return system;
    const sources = (found && this.#physical.get(found.id)) ?? [];
    for (const { id } of sources) this.#used.physicalSources.add(String(id));
    if (sources.length === 0) this.#isDry = true;
    return sources;
  }

  sink(name: string): SinkDefinition | undefined {
    const found = this.#sinks.get(keyOf(name));
    if (found !== undefined) this.#used.sinks.add(found.id);
    return found?.sink;
  }

  view(name: string): ViewDefinition | undefined {
    const found = this.#sources.get(keyOf(name));
    if (found === undefined) return systemView(name);
    const query = found.kind === "VIEW" ? found.source.query : undefined;
    if (query === undefined) return undefined;
    this.#used.sources.add(found.id);
    return { name: found.source.name, query };
  }

  table(name: string): LakeTable | undefined {
    return this.#tables.get(keyOf(name));
  }

  tableId(name: string): number | undefined {
    return this.#tables.get(keyOf(name))?.tableId;
  }

  names(kind: "source" | "sink" | "table"): readonly string[] {
    if (kind === "sink") return Array.from(this.#sinks.values(), ({ sink }) => sink.name);
    if (kind === "table") return Array.from(this.#tables.values(), ({ name }) => name);
    return [...Array.from(this.#sources.values(), ({ source }) => source.name), ...systemNames];
  }

  /** The source or view of this name. */
  sourceNamed(name: string): KnownSource | undefined {
    return this.#sources.get(keyOf(name));
  }

  sinkNamed(name: string): KnownSink | undefined {
    return this.#sinks.get(keyOf(name));
  }

  putSource(id: string, kind: SourceKind, source: LogicalSource): void {
    this.#sources.set(keyOf(source.name), { id, kind, source });
  }

  hasPhysical(description: string): boolean {
    return this.#described.has(description);
  }

  putPhysical(sourceId: string, source: PhysicalSource, description: string): void {
    this.#described.set(description, String(source.id));
    const known = this.#physical.get(sourceId);
    if (known === undefined) this.#physical.set(sourceId, [source]);
    else known.push(source);
  }

  putSink(id: string, sink: SinkDefinition): void {
    this.#sinks.set(keyOf(sink.name), { id, sink });
  }

  dropSource(name: string): void {
    this.#sources.delete(keyOf(name));
  }

  dropSink(name: string): void {
    this.#sinks.delete(keyOf(name));
  }

  dropPhysical(id: string): void {
    for (const [description, described] of this.#described) {
      if (described === id) this.#described.delete(description);
    }
    for (const [sourceId, sources] of this.#physical) {
      const kept = sources.filter((one) => one.id !== id);
      if (kept.length < sources.length) this.#physical.set(sourceId, kept);
    }
  }

  /** Begins to note anew. */
  forgetUses(): void {
    for (const ids of Object.values(this.#used)) ids.clear();
    this.#isDry = false;
  }

  /** What was asked for since then. */
  get uses(): Uses {
    const { sources, physicalSources, sinks } = this.#used;
    return {
      ...{ sources: [...sources], physicalSources: [...physicalSources], sinks: [...sinks] },
      isDry: this.#isDry,
    };
  }
}

function keyOf(name: string): string {
  return name.toUpperCase();
}

/** Most rows of a large catalog are never asked for, so their texts are read at the first time. */
function sourceOf({ name, source_schema, watermark, definition }: LogicalSourceRow): LogicalSource {
  const schema = once(() => JSON.parse(source_schema) as Schema);
  const bound = once(() => JSON.parse(watermark ?? "null") as Bound | null);
  const query = once(() => (definition === null ? undefined : parseQueryText(definition)));
  return {
    name,
    get schema() {
      return schema();
    },
    get watermark() {
      return bound() ?? undefined;
    },
    get query() {
      return query();
    },
  };
}

type Bound = NonNullable<LogicalSource["watermark"]>;

function physicalOf(row: PhysicalSourceRow, logical: string): PhysicalSource {
  const config = once(() => placedAt(JSON.parse(row.source_config) as Settings, row.worker_id));
  const parser = once(() => JSON.parse(row.parser_config) as Settings);
  return {
    id: row.physical_source_id,
    logical,
    type: spelled(sourceDescriptors, row.source_type),
    get config() {
      return config();
    },
    get parser() {
      return parser();
    },
  };
}

function sinkOf(row: SinkRow): SinkDefinition {
  const schema = once(() => JSON.parse(row.sink_schema ?? "null") as Schema | null);
  const config = once(() => placedAt(JSON.parse(row.sink_config) as Settings, row.worker_id));
  const formatter = once(() => JSON.parse(row.formatter_config) as Settings);
  return {
    name: row.name,
    type: spelled(sinkDescriptors, row.sink_type),
    get schema() {
      return schema() ?? undefined;
    },
    get config() {
      return config();
    },
    get formatter() {
      return formatter();
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A type in the spelling of its descriptor. */
function spelled(known: readonly { readonly type: string }[], type: string): string {
  return known.find((one) => keyOf(one.type) === keyOf(type))?.type ?? type;
}

function placedAt(config: Settings, workerId: string | null): Settings {
  return workerId === null ? config : { ...config, PLACEMENT: workerId };
}
